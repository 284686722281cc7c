//! AMD's library `libhsa-runtime64.so.1`, with emulated GPUs: the functions of `hsa-emu` under their names.

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
        unsupported { $($missing:ident;)* }
    ) => {
        $(export!(one $name $function);)*
        $(export!(one $missing hsa_emu::functions::missing::$missing);)*
    };
    (one $name:ident $function:path) => {
        /// ROCr's function of this name.
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        extern "C" fn $name() {
            std::arch::naked_asm!(jump!(), sym $function)
        }
    };
}

hsa_emu::runtime_functions!(export);
