//! The intrinsics for which LLVM has no code on GPUs: functions of the crate `libm`, which
//! `compiler-builtins` has, also for `f16`, as `f32`.

unsafe extern "C" {
    #[link_name = "cosf"]
    pub safe fn cosf32(x: f32) -> f32;
    #[link_name = "cos"]
    pub safe fn cosf64(x: f64) -> f64;
    #[link_name = "expf"]
    pub safe fn expf32(x: f32) -> f32;
    #[link_name = "exp"]
    pub safe fn expf64(x: f64) -> f64;
    #[link_name = "exp2f"]
    pub safe fn exp2f32(x: f32) -> f32;
    #[link_name = "exp2"]
    pub safe fn exp2f64(x: f64) -> f64;
    #[link_name = "logf"]
    pub safe fn logf32(x: f32) -> f32;
    #[link_name = "log"]
    pub safe fn logf64(x: f64) -> f64;
    #[link_name = "log10f"]
    pub safe fn log10f32(x: f32) -> f32;
    #[link_name = "log10"]
    pub safe fn log10f64(x: f64) -> f64;
    #[link_name = "log2f"]
    pub safe fn log2f32(x: f32) -> f32;
    #[link_name = "log2"]
    pub safe fn log2f64(x: f64) -> f64;
    #[link_name = "powf"]
    pub safe fn powf32(x: f32, exponent: f32) -> f32;
    #[link_name = "pow"]
    pub safe fn powf64(x: f64, exponent: f64) -> f64;
    #[link_name = "__powisf2"]
    pub safe fn powif32(x: f32, exponent: i32) -> f32;
    #[link_name = "__powidf2"]
    pub safe fn powif64(x: f64, exponent: i32) -> f64;
    #[link_name = "sinf"]
    pub safe fn sinf32(x: f32) -> f32;
    #[link_name = "sin"]
    pub safe fn sinf64(x: f64) -> f64;
}

macro_rules! half {
    ($($name:ident($($argument:ident: $type:ty),*), by $single:ident($($value:expr),*);)*) => {
        $(
            pub fn $name($($argument: $type),*) -> f16 {
                $single($($value),*) as f16
            }
        )*
    };
}

half! {
    cosf16(x: f16), by cosf32(x as f32);
    expf16(x: f16), by expf32(x as f32);
    exp2f16(x: f16), by exp2f32(x as f32);
    logf16(x: f16), by logf32(x as f32);
    log10f16(x: f16), by log10f32(x as f32);
    log2f16(x: f16), by log2f32(x as f32);
    powf16(x: f16, exponent: f16), by powf32(x as f32, exponent as f32);
    powif16(x: f16, exponent: i32), by powif32(x as f32, exponent);
    sinf16(x: f16), by sinf32(x as f32);
}
