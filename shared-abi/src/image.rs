//! The symbols by which the host and a device image find each other.
//!
//! | symbol | type | who writes it |
//! |---|---|---|
//! | [`IMAGE_INFO`] | [`ImageInfo`], read-only | the image |
//! | [`RUNTIME`] | [`DeviceConfig`] | the host, after load |
//! | [`HOST_ARCH`] | pointer to [`HostArch`](crate::host_arch::HostArch), `host` images only | the host, after load |
//! | [`FUNCTION_PREFIX`]`NAME` | [`FunctionInfo`], read-only | the image: one per host function it may call |
//! | [`KERNEL_PREFIX`]`NAME` | [`KernelInfo`], read-only | the image: one per kernel |
//! | [`HOST_WAIT`] | pointer to [`HostWait`](crate::host_arch::HostWait), `host` images only | the host, after load |
//! | [`PANIC`] | device address of a [`PanicRecord`], images for AMD GPUs only | the host, after load |
//! | `__gomp_rev_offload_var`, `__gomp_additional_icvs` | see [`crate::gomp`] | the host, after load |
//!
//! Images that GCC built have only the last row. All of these are data symbols,
//! so that every loader (ELF, PTX, code object) can find, read and write them.

/// Symbol of the image's [`ImageInfo`].
pub const IMAGE_INFO: &str = "__revoff_image";
/// Symbol of the image's [`DeviceConfig`].
pub const RUNTIME: &str = "__revoff_runtime";
/// Symbol of a `host` image's pointer to its [`HostArch`](crate::host_arch::HostArch).
pub const HOST_ARCH: &str = "__revoff_host_arch";
/// Symbol of a `host` image's pointer to its [`HostWait`](crate::host_arch::HostWait). Older hosts do not
/// write it: it stays null.
pub const HOST_WAIT: &str = "__revoff_host_wait";
/// Symbol of the address of the [`PanicRecord`] that a panic fills in; 0 for none. Images without
/// this symbol report panics in other ways or not.
pub const PANIC: &str = "__revoff_panic";
/// The start of the symbol of a host function's [`FunctionInfo`]; the function's name follows. The
/// *address* of that symbol is the function word of a request.
pub const FUNCTION_PREFIX: &str = "__revoff_fn_";
/// The start of the symbol of a kernel's [`KernelInfo`]; the kernel's name follows.
pub const KERNEL_PREFIX: &str = "__revoff_kernel_";

/// The assertion of a panic in an image for NVIDIA GPUs, which CUDA's driver prints with file and
/// line: `src/lib.rs:7: .. Assertion `panic` failed`.
pub const PANIC_ASSERTION: &str = "panic";

/// Value of [`PanicRecord::state`] once the record is complete.
pub const PANIC_RECORDED: u32 = 1;
/// Maximum bytes of a file's name in a [`PanicRecord`].
pub const PANIC_FILE: usize = 256;

/// First word of an [`ImageInfo`]: "revoff" and two zero bytes, little-endian.
pub const IMAGE_MAGIC: u64 = u64::from_le_bytes(*b"revoff\0\0");

/// An image's description of itself.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ImageInfo {
    /// [`IMAGE_MAGIC`].
    pub magic: u64,
    /// The [`ABI_VERSION`](crate::ABI_VERSION) that the image was built with.
    pub abi_version: u32,
    /// Set of the wires that the image can speak: bit `n` stands for the
    /// [`WireKind`](crate::wire::WireKind) of value `n`.
    pub wires: u32,
}

/// The configuration that the host writes before an image's first kernel.
///
/// All addresses are device addresses. Zero-initialised in the image: no wire.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceConfig {
    /// The wire to use, a [`WireKind`](crate::wire::WireKind); 0 for none.
    pub wire_kind: u32,
    /// Slots of a `native` wire, a power of two.
    pub slots: u32,
    /// The wire itself, in mapped memory.
    pub wire: u64,
    /// [`claims`](crate::wire::claims) in device memory, see there.
    pub claims: u64,
    /// The bounce area, in mapped memory: see [`bounce`](crate::wire::bounce).
    pub bounce: u64,
    /// The [`WakeWord`](crate::wire::WakeWord), in mapped memory.
    pub wake_word: u64,
    /// Blocks of the bounce area, a multiple of 32.
    pub bounce_blocks: u32,
    /// Lanes that a slot of a `native` wire has room for: at least the lanes of a warp of the image,
    /// at most [`MAX_LANES`](crate::wire::native::MAX_LANES).
    pub lanes: u32,
}

/// A host function that an image may call.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FunctionInfo {
    /// Hash of the declared signature, compared with the host's before the
    /// first launch; 0 where there is no declaration to compare (C callers).
    pub signature: u64,
}

/// A kernel of an image.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KernelInfo {
    /// Number of parameters; a slice is two, address and length.
    pub params: u32,
    /// Sum of the parameters' sizes, in bytes, no padding.
    pub bytes: u32,
    /// Hash of the kernel's declaration, which the host compares with its own; of a kernel
    /// without one, hash of the parameter types, and 0 in C.
    pub signature: u64,
}

/// The source location of the first panic in an image's kernels, in mapped memory.
///
/// The host allocates and zeroes it when it loads the image; the first device thread to panic
/// fills it in before it ends the launch.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PanicRecord {
    /// [`PANIC_RECORDED`], stored last (edge `P1`); 0 if nothing has panicked.
    pub state: u32,
    /// Line, from 1 on.
    pub line: u32,
    /// Column, from 1 on.
    pub column: u32,
    /// Bytes of `file` in use.
    pub file_len: u32,
    /// The file's name in UTF-8, as passed to the compiler; the last bytes of a longer one.
    pub file: [u8; PANIC_FILE],
}

const _: () = {
    use core::mem::offset_of;
    assert!(size_of::<ImageInfo>() == 16 && align_of::<ImageInfo>() == 8);
    assert!(offset_of!(ImageInfo, magic) == 0);
    assert!(offset_of!(ImageInfo, abi_version) == 8);
    assert!(offset_of!(ImageInfo, wires) == 12);

    assert!(size_of::<DeviceConfig>() == 48 && align_of::<DeviceConfig>() == 8);
    assert!(offset_of!(DeviceConfig, wire_kind) == 0);
    assert!(offset_of!(DeviceConfig, slots) == 4);
    assert!(offset_of!(DeviceConfig, wire) == 8);
    assert!(offset_of!(DeviceConfig, claims) == 16);
    assert!(offset_of!(DeviceConfig, bounce) == 24);
    assert!(offset_of!(DeviceConfig, wake_word) == 32);
    assert!(offset_of!(DeviceConfig, bounce_blocks) == 40);
    assert!(offset_of!(DeviceConfig, lanes) == 44);

    assert!(size_of::<PanicRecord>() == 272 && align_of::<PanicRecord>() == 4);
    assert!(offset_of!(PanicRecord, state) == 0);
    assert!(offset_of!(PanicRecord, line) == 4);
    assert!(offset_of!(PanicRecord, column) == 8);
    assert!(offset_of!(PanicRecord, file_len) == 12);
    assert!(offset_of!(PanicRecord, file) == 16);

    assert!(size_of::<FunctionInfo>() == 8 && align_of::<FunctionInfo>() == 8);
    assert!(offset_of!(FunctionInfo, signature) == 0);

    assert!(size_of::<KernelInfo>() == 16 && align_of::<KernelInfo>() == 8);
    assert!(offset_of!(KernelInfo, params) == 0);
    assert!(offset_of!(KernelInfo, bytes) == 4);
    assert!(offset_of!(KernelInfo, signature) == 8);
};
