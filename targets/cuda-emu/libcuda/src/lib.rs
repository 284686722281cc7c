//! NVIDIA's library `libcuda.so.1`, with emulated GPUs: the functions of `cuda-emu` under their names.

#[cfg(target_arch = "x86_64")]
macro_rules! jump {
    () => {
        "jmp {}"
    };
}

#[cfg(target_arch = "aarch64")]
macro_rules! jump {
    () => {
        "b {}"
    };
}

/// Exports each function. A jump passes on all arguments, whatever they are.
macro_rules! export {
    (
        functions { $($name:ident: $function:path;)* }
        streams { $($legacy:ident, $per_thread:ident: $stream:path;)* }
        unsupported { $($missing:ident;)* }
    ) => {
        $(export!(one $name $function);)*
        $(
            mod $legacy {
                use $stream as function;

                export!(one $legacy function::<{ cuda_emu::LEGACY }>);
                export!(one $per_thread function::<{ cuda_emu::PER_THREAD }>);
            }
        )*
        $(export!(one $missing cuda_emu::functions::missing::$missing);)*
    };
    (one $name:ident $($function:tt)*) => {
        /// NVIDIA's function of this name.
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        extern "C" fn $name() {
            std::arch::naked_asm!(jump!(), sym $($function)*)
        }
    };
}

cuda_emu::driver_functions!(export);
