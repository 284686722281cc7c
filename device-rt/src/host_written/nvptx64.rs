//! The configuration, read through the cache for data that no thread writes: fences do not discard it.
//!
//! Not in constant memory: only assembly at file scope can declare a variable there, and LLVM's
//! link-time optimization adds directives to such assembly that PTX does not have.

use core::arch::asm;

use shared_abi::image::DeviceConfig;

use super::{HostWritten, NO_WIRE};

/// The configuration that the host writes before the first launch.
#[derive(Debug)]
pub struct RuntimeConfig;

/// The configuration of the runtime.
pub static RUNTIME: RuntimeConfig = RuntimeConfig;

#[unsafe(export_name = "__revoff_runtime")]
#[used(linker)]
static VARIABLE: HostWritten<DeviceConfig> = HostWritten::new(NO_WIRE);

/// A method that loads a field. It is not `pure`, so that LLVM does not keep the value in a register:
/// loading it again is cheap.
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
                            concat!("ld.global.nc.", $suffix, " {}, [__revoff_runtime+{}];"),
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
