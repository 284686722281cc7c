//! The configuration in constant memory: reading it takes no registers and no accesses to memory that
//! other threads write, and fences do not discard it.

use core::arch::{asm, global_asm};

use shared_abi::image::DeviceConfig;

// Rust has no statics in constant memory.
global_asm!(".visible .const .align 8 .b8 __revoff_runtime[48];");

const _: () = assert!(size_of::<DeviceConfig>() == 48 && align_of::<DeviceConfig>() == 8);

/// The configuration that the host writes before the first launch.
#[derive(Debug)]
pub struct RuntimeConfig;

/// The configuration of the runtime.
pub static RUNTIME: RuntimeConfig = RuntimeConfig;

/// A method that loads a field. It is not `pure`, so that LLVM does not keep the value in a register:
/// loading it again costs nothing.
macro_rules! fields {
    ($($field:ident: $value:ty, $suffix:literal, $class:ident;)*) => {
        impl RuntimeConfig {
            $(
                #[doc = concat!("See [`DeviceConfig::", stringify!($field), "`].")]
                #[inline(always)]
                #[must_use]
                pub fn $field(&self) -> $value {
                    let value;
                    // SAFETY: the variable above, which nobody writes while kernels run.
                    unsafe {
                        asm!(
                            concat!("ld.const.", $suffix, " {}, [__revoff_runtime+{}];"),
                            out($class) value,
                            const core::mem::offset_of!(DeviceConfig, $field),
                            options(nomem, nostack)
                        );
                    }
                    value
                }
            )*
        }
    };
}

fields! {
    wire_kind: u32, "u32", reg32;
    slots: u32, "u32", reg32;
    wire: u64, "u64", reg64;
    claims: u64, "u64", reg64;
    bounce: u64, "u64", reg64;
    wake_word: u64, "u64", reg64;
    bounce_blocks: u32, "u32", reg32;
    lanes: u32, "u32", reg32;
}

impl RuntimeConfig {
    /// All of it.
    #[must_use]
    pub fn get(&self) -> DeviceConfig {
        DeviceConfig {
            wire_kind: self.wire_kind(),
            slots: self.slots(),
            wire: self.wire(),
            claims: self.claims(),
            bounce: self.bounce(),
            wake_word: self.wake_word(),
            bounce_blocks: self.bounce_blocks(),
            lanes: self.lanes(),
        }
    }
}
