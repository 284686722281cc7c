//! The results of the driver's functions.

use std::ffi::{CStr, c_char};

use cudarc::driver::sys::CUresult;

use crate::driver::answer;
use crate::pointers::Out;

/// An error: the number of a `CUresult`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Code(pub(crate) u32);

/// A function's result.
pub(crate) type Answer<T = ()> = Result<T, Code>;

macro_rules! codes {
    ($($name:ident = $result:ident: $text:literal,)*) => {
        impl Code {
            $(pub(crate) const $name: Code = Code(CUresult::$result as u32);)*
        }

        /// Names and descriptions.
        const TEXTS: &[(Code, &str, &str)] = &[
            $((Code::$name, concat!(stringify!($result), "\0"), concat!($text, "\0")),)*
        ];
    };
}

codes! {
    SUCCESS = CUDA_SUCCESS: "no error",
    INVALID_VALUE = CUDA_ERROR_INVALID_VALUE: "invalid argument",
    OUT_OF_MEMORY = CUDA_ERROR_OUT_OF_MEMORY: "out of memory",
    NOT_INITIALIZED = CUDA_ERROR_NOT_INITIALIZED: "initialization error",
    INVALID_DEVICE = CUDA_ERROR_INVALID_DEVICE: "invalid device ordinal",
    INVALID_IMAGE = CUDA_ERROR_INVALID_IMAGE: "device kernel image is invalid",
    INVALID_CONTEXT = CUDA_ERROR_INVALID_CONTEXT: "invalid device context",
    NO_BINARY_FOR_GPU = CUDA_ERROR_NO_BINARY_FOR_GPU:
        "no kernel image is available for execution on the device",
    INVALID_PTX = CUDA_ERROR_INVALID_PTX: "a PTX JIT compilation failed",
    INVALID_HANDLE = CUDA_ERROR_INVALID_HANDLE: "invalid resource handle",
    NOT_FOUND = CUDA_ERROR_NOT_FOUND: "named symbol not found",
    NOT_READY = CUDA_ERROR_NOT_READY: "device not ready",
    ILLEGAL_ADDRESS = CUDA_ERROR_ILLEGAL_ADDRESS: "an illegal memory access was encountered",
    LAUNCH_OUT_OF_RESOURCES = CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES:
        "too many resources requested for launch",
    LAUNCH_TIMEOUT = CUDA_ERROR_LAUNCH_TIMEOUT: "the launch timed out and was terminated",
    CONTEXT_IS_DESTROYED = CUDA_ERROR_CONTEXT_IS_DESTROYED: "context is destroyed",
    ASSERT = CUDA_ERROR_ASSERT: "device-side assert triggered",
    HARDWARE_STACK_ERROR = CUDA_ERROR_HARDWARE_STACK_ERROR: "hardware stack error",
    ILLEGAL_INSTRUCTION = CUDA_ERROR_ILLEGAL_INSTRUCTION:
        "an illegal instruction was encountered",
    MISALIGNED_ADDRESS = CUDA_ERROR_MISALIGNED_ADDRESS: "misaligned address",
    INVALID_ADDRESS_SPACE = CUDA_ERROR_INVALID_ADDRESS_SPACE:
        "operation not supported on global/shared address space",
    INVALID_PC = CUDA_ERROR_INVALID_PC: "invalid program counter",
    LAUNCH_FAILED = CUDA_ERROR_LAUNCH_FAILED: "unspecified launch failure",
    NOT_SUPPORTED = CUDA_ERROR_NOT_SUPPORTED: "operation not supported",
    UNKNOWN = CUDA_ERROR_UNKNOWN: "unknown error",
}

impl Code {
    /// Whether a context is unusable after this.
    pub(crate) fn is_sticky(self) -> bool {
        [
            Self::ILLEGAL_ADDRESS,
            Self::LAUNCH_TIMEOUT,
            Self::ASSERT,
            Self::HARDWARE_STACK_ERROR,
            Self::ILLEGAL_INSTRUCTION,
            Self::MISALIGNED_ADDRESS,
            Self::INVALID_ADDRESS_SPACE,
            Self::INVALID_PC,
            Self::LAUNCH_FAILED,
        ]
        .contains(&self)
    }
}

fn text(
    code: u32,
    choose: fn(&(Code, &'static str, &'static str)) -> &'static str,
    to: Out<*const c_char>,
) -> Answer {
    let known = TEXTS.iter().find(|(known, ..)| known.0 == code);
    let text = known.and_then(|known| CStr::from_bytes_with_nul(choose(known).as_bytes()).ok());
    to.set(text.map_or(std::ptr::null(), CStr::as_ptr))?;
    text.map(|_| ()).ok_or(Code::INVALID_VALUE)
}

#[unsafe(no_mangle)]
extern "C" fn cuGetErrorName(code: u32, name: Out<*const c_char>) -> u32 {
    answer("cuGetErrorName", || text(code, |known| known.1, name))
}

#[unsafe(no_mangle)]
extern "C" fn cuGetErrorString(code: u32, string: Out<*const c_char>) -> u32 {
    answer("cuGetErrorString", || text(code, |known| known.2, string))
}
