//! The variables that the host reads and writes when it loads an image.
//!
//! A compiler that links this crate's bitcode into an image may assume that nothing outside
//! the image writes its variables: each would keep its initial value, and no call would be made.
//! `used(linker)` rules that out.

#[cfg(target_arch = "amdgpu")]
mod amdgcn;
#[cfg(target_arch = "nvptx64")]
mod nvptx64;

use core::cell::UnsafeCell;

use shared_abi::icv::{DEFAULT_DEVICE_UNSET, OffloadIcvs};
use shared_abi::image::DeviceConfig;
use shared_abi::wire::WireKind;

/// A variable that the host writes after load and before the first launch, and
/// that device code only reads.
#[repr(transparent)]
pub struct HostWritten<T>(UnsafeCell<T>);

// SAFETY: device threads only read it, and starting a kernel orders the host's
// writes before those reads.
unsafe impl<T: Copy + Send> Sync for HostWritten<T> {}

impl<T> HostWritten<T> {
    /// Holds `value` until the host writes another.
    #[must_use]
    pub const fn new(value: T) -> Self {
        Self(UnsafeCell::new(value))
    }
}

impl<T: Copy + Send> HostWritten<T> {
    /// The host's value, or the initial one.
    #[inline(always)]
    pub fn get(&self) -> T {
        // SAFETY: the host writes this only before a kernel starts, so no write overlaps this read.
        unsafe { read(self.0.get()) }
    }
}

#[cfg(target_arch = "amdgpu")]
use amdgcn::read;

/// Reads a variable.
///
/// # Safety
/// `from` is readable, and nobody writes it while kernels run.
#[cfg(not(target_arch = "amdgpu"))]
#[inline(always)]
unsafe fn read<T: Copy>(from: *const T) -> T {
    // SAFETY: the caller's promise.
    unsafe { *from }
}

/// The configuration before the host has written one.
const NO_WIRE: DeviceConfig = DeviceConfig {
    wire_kind: WireKind::NONE.0,
    slots: 0,
    wire: 0,
    claims: 0,
    bounce: 0,
    wake_word: 0,
    bounce_blocks: 0,
    lanes: 0,
};

#[cfg(target_arch = "nvptx64")]
pub use nvptx64::{RUNTIME, RuntimeConfig};

/// The configuration that the host writes before the first launch.
#[cfg(not(target_arch = "nvptx64"))]
pub type RuntimeConfig = HostWritten<DeviceConfig>;

#[cfg(not(target_arch = "nvptx64"))]
macro_rules! fields {
    ($($field:ident: $value:ty,)*) => {
        impl RuntimeConfig {
            $(
                #[doc = concat!("See [`DeviceConfig::", stringify!($field), "`].")]
                #[inline(always)]
                #[must_use]
                pub fn $field(&self) -> $value {
                    self.get().$field
                }
            )*
        }
    };
}

#[cfg(not(target_arch = "nvptx64"))]
fields! {
    wire_kind: u32,
    slots: u32,
    wire: u64,
    claims: u64,
    bounce: u64,
    wake_word: u64,
    bounce_blocks: u32,
    lanes: u32,
}

/// The configuration of the runtime.
#[cfg(not(target_arch = "nvptx64"))]
#[unsafe(export_name = "__revoff_runtime")]
#[cfg_attr(target_arch = "amdgpu", used(linker))]
pub static RUNTIME: RuntimeConfig = HostWritten::new(NO_WIRE);

/// The address of the record that a panic fills; see [`PanicRecord`](shared_abi::image::PanicRecord).
#[cfg(target_arch = "amdgpu")]
#[unsafe(export_name = "__revoff_panic")]
#[used(linker)]
pub static PANIC: HostWritten<u64> = HostWritten::new(0);

/// The address of GCC's wire. Images without its producers have the variable too, because GCC's
/// plugin writes it when it loads an image.
#[unsafe(export_name = "__gomp_rev_offload_var")]
#[cfg_attr(any(target_arch = "nvptx64", target_arch = "amdgpu"), used(linker))]
pub static REV_OFFLOAD_VAR: HostWritten<u64> = HostWritten::new(0);

/// The control variables, at `__gomp_additional_icvs`. The image, or what it is linked with,
/// defines them.
pub type Icvs = HostWritten<OffloadIcvs>;

impl Icvs {
    /// Before the host writes any.
    #[must_use]
    pub const fn unset() -> Self {
        Self::new(OffloadIcvs {
            device_num: 0,
            default_device: DEFAULT_DEVICE_UNSET,
            nteams: 0,
            teams_thread_limit: 0,
        })
    }
}
