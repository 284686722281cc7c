//! The results of functions.

use hsa_runtime_sys::*;

/// An error: a status other than success, or the wish of a callback to leave a list early.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Status(pub(crate) hsa_status_t);

/// A function's result.
pub(crate) type Answer<T = ()> = Result<T, Status>;

macro_rules! statuses {
    ($($name:ident = $code:ident: $text:literal,)*) => {
        impl Status {
            $(
                #[allow(dead_code, reason = "not all are errors here")]
                pub(crate) const $name: Status = Status($code);
            )*
        }

        /// Descriptions, each with the status's name.
        pub(crate) const TEXTS: &[(hsa_status_t, &str)] = &[
            $(($code, concat!(stringify!($code), ": ", $text, "\0")),)*
        ];
    };
}

statuses! {
    SUCCESS = HSA_STATUS_SUCCESS: "The function has been executed successfully.",
    INFO_BREAK = HSA_STATUS_INFO_BREAK:
        "A traversal over a list of elements has been interrupted by the application before completing.",
    ERROR = HSA_STATUS_ERROR: "A generic error has occurred.",
    INVALID_ARGUMENT = HSA_STATUS_ERROR_INVALID_ARGUMENT:
        "One of the actual arguments does not meet a precondition stated in the documentation of the corresponding formal argument.",
    INVALID_QUEUE_CREATION = HSA_STATUS_ERROR_INVALID_QUEUE_CREATION:
        "The requested queue creation is not valid.",
    INVALID_ALLOCATION = HSA_STATUS_ERROR_INVALID_ALLOCATION: "The requested allocation is not valid.",
    INVALID_AGENT = HSA_STATUS_ERROR_INVALID_AGENT: "The agent is invalid.",
    INVALID_REGION = HSA_STATUS_ERROR_INVALID_REGION: "The memory region is invalid.",
    INVALID_SIGNAL = HSA_STATUS_ERROR_INVALID_SIGNAL: "The signal is invalid.",
    INVALID_QUEUE = HSA_STATUS_ERROR_INVALID_QUEUE: "The queue is invalid.",
    OUT_OF_RESOURCES = HSA_STATUS_ERROR_OUT_OF_RESOURCES:
        "The runtime failed to allocate the necessary resources. This error may also occur when the core runtime library needs to spawn threads or create internal OS-specific events.",
    INVALID_PACKET_FORMAT = HSA_STATUS_ERROR_INVALID_PACKET_FORMAT: "The AQL packet is malformed.",
    RESOURCE_FREE = HSA_STATUS_ERROR_RESOURCE_FREE:
        "An error has been detected while releasing a resource.",
    NOT_INITIALIZED = HSA_STATUS_ERROR_NOT_INITIALIZED:
        "An API other than hsa_init has been invoked while the reference count of the HSA runtime is zero.",
    REFCOUNT_OVERFLOW = HSA_STATUS_ERROR_REFCOUNT_OVERFLOW:
        "The maximum reference count for the object has been reached.",
    INCOMPATIBLE_ARGUMENTS = HSA_STATUS_ERROR_INCOMPATIBLE_ARGUMENTS:
        "The arguments passed to a functions are not compatible.",
    INVALID_INDEX = HSA_STATUS_ERROR_INVALID_INDEX: "The index is invalid.",
    INVALID_ISA = HSA_STATUS_ERROR_INVALID_ISA: "The instruction set architecture is invalid.",
    INVALID_ISA_NAME = HSA_STATUS_ERROR_INVALID_ISA_NAME:
        "The instruction set architecture name is invalid.",
    INVALID_CODE_OBJECT = HSA_STATUS_ERROR_INVALID_CODE_OBJECT: "The code object is invalid.",
    INVALID_EXECUTABLE = HSA_STATUS_ERROR_INVALID_EXECUTABLE: "The executable is invalid.",
    FROZEN_EXECUTABLE = HSA_STATUS_ERROR_FROZEN_EXECUTABLE: "The executable is frozen.",
    INVALID_SYMBOL_NAME = HSA_STATUS_ERROR_INVALID_SYMBOL_NAME:
        "There is no symbol with the given name.",
    VARIABLE_ALREADY_DEFINED = HSA_STATUS_ERROR_VARIABLE_ALREADY_DEFINED:
        "The variable is already defined.",
    VARIABLE_UNDEFINED = HSA_STATUS_ERROR_VARIABLE_UNDEFINED: "The variable is undefined.",
    EXCEPTION = HSA_STATUS_ERROR_EXCEPTION:
        "An HSAIL operation resulted in a hardware exception.",
    INVALID_CODE_SYMBOL = HSA_STATUS_ERROR_INVALID_CODE_SYMBOL: "The code object symbol is invalid.",
    INVALID_EXECUTABLE_SYMBOL = HSA_STATUS_ERROR_INVALID_EXECUTABLE_SYMBOL:
        "The executable symbol is invalid.",
    INVALID_FILE = HSA_STATUS_ERROR_INVALID_FILE: "The file descriptor is invalid.",
    INVALID_CODE_OBJECT_READER = HSA_STATUS_ERROR_INVALID_CODE_OBJECT_READER:
        "The code object reader is invalid.",
    INVALID_CACHE = HSA_STATUS_ERROR_INVALID_CACHE: "The cache is invalid.",
    INVALID_WAVEFRONT = HSA_STATUS_ERROR_INVALID_WAVEFRONT: "The wavefront is invalid.",
    INVALID_SIGNAL_GROUP = HSA_STATUS_ERROR_INVALID_SIGNAL_GROUP: "The signal group is invalid.",
    INVALID_RUNTIME_STATE = HSA_STATUS_ERROR_INVALID_RUNTIME_STATE:
        "The HSA runtime is not in the configuration state.",
    FATAL = HSA_STATUS_ERROR_FATAL:
        "The queue received an error that may require process termination.",
    INVALID_MEMORY_POOL = HSA_STATUS_ERROR_INVALID_MEMORY_POOL: "The memory pool is invalid.",
    MEMORY_APERTURE_VIOLATION = HSA_STATUS_ERROR_MEMORY_APERTURE_VIOLATION:
        "The agent attempted to access memory beyond the largest legal address.",
    ILLEGAL_INSTRUCTION = HSA_STATUS_ERROR_ILLEGAL_INSTRUCTION:
        "The agent attempted to execute an illegal shader instruction.",
    MEMORY_FAULT = HSA_STATUS_ERROR_MEMORY_FAULT:
        "The agent attempted to access an inaccessible address.",
    CU_MASK_REDUCED = HSA_STATUS_CU_MASK_REDUCED:
        "The CU mask was successfully set but the mask attempted to enable a CU which was disabled for the process.",
}

/// The result of a callback.
pub(crate) fn from_callback(status: hsa_status_t) -> Answer {
    match status {
        HSA_STATUS_SUCCESS => Ok(()),
        status => Err(Status(status)),
    }
}
