//! The results of the driver's functions.

use cudarc::driver::sys::CUresult;

/// An error: the number of a `CUresult`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Code(pub(crate) u32);

/// A function's result.
pub(crate) type Answer<T = ()> = Result<T, Code>;

macro_rules! codes {
    (
        named { $($name:ident = $result:ident: $text:literal,)* }
        others { $($other:ident)* }
    ) => {
        impl Code {
            $(pub(crate) const $name: Code = Code(CUresult::$result as u32);)*
        }

        /// Names and descriptions. Codes that nothing here returns have their names for both.
        pub(crate) const TEXTS: &[(Code, &str, &str)] = &[
            $((Code::$name, concat!(stringify!($result), "\0"), concat!($text, "\0")),)*
            $((
                Code(CUresult::$other as u32),
                concat!(stringify!($other), "\0"),
                concat!(stringify!($other), "\0"),
            ),)*
        ];
    };
}

codes! {
    named {
        SUCCESS = CUDA_SUCCESS: "no error",
        INVALID_VALUE = CUDA_ERROR_INVALID_VALUE: "invalid argument",
        OUT_OF_MEMORY = CUDA_ERROR_OUT_OF_MEMORY: "out of memory",
        NOT_INITIALIZED = CUDA_ERROR_NOT_INITIALIZED: "initialization error",
        DEINITIALIZED = CUDA_ERROR_DEINITIALIZED: "the driver is shutting down",
        NO_DEVICE = CUDA_ERROR_NO_DEVICE: "no CUDA-capable device is detected",
        INVALID_DEVICE = CUDA_ERROR_INVALID_DEVICE: "invalid device ordinal",
        INVALID_IMAGE = CUDA_ERROR_INVALID_IMAGE: "device kernel image is invalid",
        INVALID_CONTEXT = CUDA_ERROR_INVALID_CONTEXT: "invalid device context",
        CONTEXT_ALREADY_CURRENT = CUDA_ERROR_CONTEXT_ALREADY_CURRENT: "context already current",
        NO_BINARY_FOR_GPU = CUDA_ERROR_NO_BINARY_FOR_GPU:
            "no kernel image is available for execution on the device",
        UNSUPPORTED_LIMIT = CUDA_ERROR_UNSUPPORTED_LIMIT: "limit is not supported on this architecture",
        PEER_ACCESS_UNSUPPORTED = CUDA_ERROR_PEER_ACCESS_UNSUPPORTED:
            "peer access is not supported between these two devices",
        INVALID_PTX = CUDA_ERROR_INVALID_PTX: "a PTX JIT compilation failed",
        INVALID_SOURCE = CUDA_ERROR_INVALID_SOURCE: "device kernel image is invalid",
        FILE_NOT_FOUND = CUDA_ERROR_FILE_NOT_FOUND: "file not found",
        OPERATING_SYSTEM = CUDA_ERROR_OPERATING_SYSTEM: "OS call failed",
        INVALID_HANDLE = CUDA_ERROR_INVALID_HANDLE: "invalid resource handle",
        ILLEGAL_STATE = CUDA_ERROR_ILLEGAL_STATE:
            "the operation cannot be performed in the present state",
        NOT_FOUND = CUDA_ERROR_NOT_FOUND: "named symbol not found",
        NOT_READY = CUDA_ERROR_NOT_READY: "device not ready",
        ILLEGAL_ADDRESS = CUDA_ERROR_ILLEGAL_ADDRESS: "an illegal memory access was encountered",
        LAUNCH_OUT_OF_RESOURCES = CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES:
            "too many resources requested for launch",
        LAUNCH_TIMEOUT = CUDA_ERROR_LAUNCH_TIMEOUT: "the launch timed out and was terminated",
        PEER_ACCESS_NOT_ENABLED = CUDA_ERROR_PEER_ACCESS_NOT_ENABLED:
            "peer access has not been enabled",
        PRIMARY_CONTEXT_ACTIVE = CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE:
            "cannot set while device is active in this process",
        CONTEXT_IS_DESTROYED = CUDA_ERROR_CONTEXT_IS_DESTROYED: "context is destroyed",
        ASSERT = CUDA_ERROR_ASSERT: "device-side assert triggered",
        HOST_MEMORY_ALREADY_REGISTERED = CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED:
            "part or all of the requested memory range is already mapped",
        HOST_MEMORY_NOT_REGISTERED = CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED:
            "pointer does not correspond to a registered memory region",
        HARDWARE_STACK_ERROR = CUDA_ERROR_HARDWARE_STACK_ERROR: "hardware stack error",
        ILLEGAL_INSTRUCTION = CUDA_ERROR_ILLEGAL_INSTRUCTION: "an illegal instruction was encountered",
        MISALIGNED_ADDRESS = CUDA_ERROR_MISALIGNED_ADDRESS: "misaligned address",
        INVALID_ADDRESS_SPACE = CUDA_ERROR_INVALID_ADDRESS_SPACE:
            "operation not supported on global/shared address space",
        INVALID_PC = CUDA_ERROR_INVALID_PC: "invalid program counter",
        LAUNCH_FAILED = CUDA_ERROR_LAUNCH_FAILED: "unspecified launch failure",
        COOPERATIVE_LAUNCH_TOO_LARGE = CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE:
            "too many blocks in cooperative launch",
        NOT_PERMITTED = CUDA_ERROR_NOT_PERMITTED: "operation not permitted",
        NOT_SUPPORTED = CUDA_ERROR_NOT_SUPPORTED: "operation not supported",
        SYSTEM_NOT_READY = CUDA_ERROR_SYSTEM_NOT_READY: "system not yet initialized",
        UNKNOWN = CUDA_ERROR_UNKNOWN: "unknown error",
    }
    others {
        CUDA_ERROR_PROFILER_DISABLED
        CUDA_ERROR_PROFILER_NOT_INITIALIZED
        CUDA_ERROR_PROFILER_ALREADY_STARTED
        CUDA_ERROR_PROFILER_ALREADY_STOPPED
        CUDA_ERROR_STUB_LIBRARY
        CUDA_ERROR_DEVICE_NOT_LICENSED
        CUDA_ERROR_MAP_FAILED
        CUDA_ERROR_UNMAP_FAILED
        CUDA_ERROR_ARRAY_IS_MAPPED
        CUDA_ERROR_ALREADY_MAPPED
        CUDA_ERROR_ALREADY_ACQUIRED
        CUDA_ERROR_NOT_MAPPED
        CUDA_ERROR_NOT_MAPPED_AS_ARRAY
        CUDA_ERROR_NOT_MAPPED_AS_POINTER
        CUDA_ERROR_ECC_UNCORRECTABLE
        CUDA_ERROR_CONTEXT_ALREADY_IN_USE
        CUDA_ERROR_INVALID_GRAPHICS_CONTEXT
        CUDA_ERROR_NVLINK_UNCORRECTABLE
        CUDA_ERROR_JIT_COMPILER_NOT_FOUND
        CUDA_ERROR_UNSUPPORTED_PTX_VERSION
        CUDA_ERROR_JIT_COMPILATION_DISABLED
        CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY
        CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND
        CUDA_ERROR_SHARED_OBJECT_INIT_FAILED
        CUDA_ERROR_LAUNCH_INCOMPATIBLE_TEXTURING
        CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED
        CUDA_ERROR_TOO_MANY_PEERS
        CUDA_ERROR_SYSTEM_DRIVER_MISMATCH
        CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE
        CUDA_ERROR_MPS_CONNECTION_FAILED
        CUDA_ERROR_MPS_RPC_FAILURE
        CUDA_ERROR_MPS_SERVER_NOT_READY
        CUDA_ERROR_MPS_MAX_CLIENTS_REACHED
        CUDA_ERROR_MPS_MAX_CONNECTIONS_REACHED
        CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED
        CUDA_ERROR_STREAM_CAPTURE_INVALIDATED
        CUDA_ERROR_STREAM_CAPTURE_MERGE
        CUDA_ERROR_STREAM_CAPTURE_UNMATCHED
        CUDA_ERROR_STREAM_CAPTURE_UNJOINED
        CUDA_ERROR_STREAM_CAPTURE_ISOLATION
        CUDA_ERROR_STREAM_CAPTURE_IMPLICIT
        CUDA_ERROR_CAPTURED_EVENT
        CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD
        CUDA_ERROR_TIMEOUT
        CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE
        CUDA_ERROR_EXTERNAL_DEVICE
    }
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
