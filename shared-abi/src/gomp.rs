//! Constants of GCC's offloading interface, as libgomp 13 to 16 use them.

/// The device number by which device code asks for its host: the only value for
/// which `GOMP_target_ext` on a device does anything.
pub const GOMP_DEVICE_HOST_FALLBACK: i32 = -2;

/// Bit of `GOMP_target_ext`'s `flags` argument, ours: `args` points to a `u32`
/// that receives the [`Status`](crate::status::Status) of the call.
///
/// GCC's own device runtimes ignore both `flags` and `args`, so a caller that
/// sets the bit also runs on them; it then finds the word as it left it. GCC
/// itself uses bits 0 to 9 of `flags`.
pub const REVOFF_FLAG_STATUS: u32 = 1 << 31;

/// Bit of `GOMP_target_ext`'s `flags` argument, ours: the function accesses no memory of the device
/// but the ranges of its arguments. Such a call need not order the caller's other accesses to
/// memory, which saves a fence if the request carries its arguments itself.
pub const REVOFF_FLAG_ARGS_ONLY: u32 = 1 << 30;

/// Symbol of the pointer through which GCC's nvptx device runtime finds its
/// wire: a `u64` that the host writes when it loads an image.
pub const REV_OFFLOAD_VAR: &str = "__gomp_rev_offload_var";

/// Symbol of the control variables of an image, see [`crate::icv`].
pub const ADDITIONAL_ICVS: &str = "__gomp_additional_icvs";

/// Symbol of a pointer that the host writes when it loads an image with functions which are
/// called through pointers: to pairs of their host and device addresses, and a 0.
pub const INDIRECT_ADDR_MAP: &str = "__gomp_indirect_addr_map";

/// Symbol of the seconds that a tick of the device's clock takes, a `double` that the host
/// writes when it loads an image.
pub const NVPTX_CLOCKTICK: &str = "__nvptx_clocktick";

/// libgomp's interface version that GCC 14, 15 and 16 share.
pub const GOMP_VERSION: u32 = 3;

/// Version of the nvptx image descriptor.
pub const GOMP_VERSION_NVIDIA_PTX: u32 = 1;

/// Version of the amdgcn image descriptor.
pub const GOMP_VERSION_GCN: u32 = 3;
