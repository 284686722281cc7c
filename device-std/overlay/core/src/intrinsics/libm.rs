//! The intrinsics for which LLVM has no code on GPUs: functions of the crate `libm`, which
//! `compiler-builtins` has.

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
