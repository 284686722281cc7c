//! Results. Errors of the driver have the same numbers here.

/// An error: the number of a `cudaError_t`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Error(pub(crate) u32);

/// A function's result.
pub(crate) type CudaResult<T = ()> = Result<T, Error>;

macro_rules! errors {
    (
        named { $($name:ident = $number:literal, $c_name:ident: $text:literal,)* }
        others { $($other_number:literal $other:ident)* }
    ) => {
        impl Error {
            $(pub(crate) const $name: Self = Self($number);)*
        }

        /// Names, and descriptions of errors that the driver does not have.
        const TEXTS: &[(u32, &str, Option<&str>)] = &[
            (0, "cudaSuccess\0", None),
            $(($number, concat!(stringify!($c_name), "\0"), Some(concat!($text, "\0"))),)*
            $(($other_number, concat!(stringify!($other), "\0"), None),)*
        ];
    };
}

errors! {
    named {
        INVALID_CONFIGURATION = 9, cudaErrorInvalidConfiguration: "invalid configuration argument",
        INVALID_SYMBOL = 13, cudaErrorInvalidSymbol: "invalid device symbol",
        INVALID_DIRECTION = 21, cudaErrorInvalidMemcpyDirection: "invalid copy direction for memcpy",
        INSUFFICIENT_DRIVER = 35, cudaErrorInsufficientDriver:
            "CUDA driver version is insufficient for CUDA runtime version",
        MISSING_CONFIGURATION = 52, cudaErrorMissingConfiguration:
            "__global__ function call is not configured",
        INVALID_FUNCTION = 98, cudaErrorInvalidDeviceFunction: "invalid device function",
    }
    others {
        1 cudaErrorInvalidValue
        2 cudaErrorMemoryAllocation
        3 cudaErrorInitializationError
        4 cudaErrorCudartUnloading
        12 cudaErrorInvalidPitchValue
        17 cudaErrorInvalidDevicePointer
        100 cudaErrorNoDevice
        101 cudaErrorInvalidDevice
        200 cudaErrorInvalidKernelImage
        201 cudaErrorDeviceUninitialized
        209 cudaErrorNoKernelImageForDevice
        215 cudaErrorUnsupportedLimit
        217 cudaErrorPeerAccessUnsupported
        218 cudaErrorInvalidPtx
        222 cudaErrorUnsupportedPtxVersion
        300 cudaErrorInvalidSource
        301 cudaErrorFileNotFound
        304 cudaErrorOperatingSystem
        400 cudaErrorInvalidResourceHandle
        401 cudaErrorIllegalState
        500 cudaErrorSymbolNotFound
        600 cudaErrorNotReady
        700 cudaErrorIllegalAddress
        701 cudaErrorLaunchOutOfResources
        702 cudaErrorLaunchTimeout
        704 cudaErrorPeerAccessAlreadyEnabled
        705 cudaErrorPeerAccessNotEnabled
        708 cudaErrorSetOnActiveProcess
        709 cudaErrorContextIsDestroyed
        710 cudaErrorAssert
        712 cudaErrorHostMemoryAlreadyRegistered
        713 cudaErrorHostMemoryNotRegistered
        714 cudaErrorHardwareStackError
        715 cudaErrorIllegalInstruction
        716 cudaErrorMisalignedAddress
        717 cudaErrorInvalidAddressSpace
        718 cudaErrorInvalidPc
        719 cudaErrorLaunchFailure
        720 cudaErrorCooperativeLaunchTooLarge
        800 cudaErrorNotPermitted
        801 cudaErrorNotSupported
        802 cudaErrorSystemNotReady
        909 cudaErrorTimeout
        999 cudaErrorUnknown
    }
}

impl Error {
    pub(crate) const INVALID_VALUE: Self = Self(1);
    pub(crate) const NO_DEVICE: Self = Self(100);
    pub(crate) const NOT_READY: Self = Self(600);
    pub(crate) const NOT_SUPPORTED: Self = Self(801);

    /// The name, as a C string.
    pub(crate) fn name(self) -> &'static str {
        let known = TEXTS.iter().find(|(number, ..)| *number == self.0);
        known.map_or("unrecognized error code\0", |(_, name, _)| name)
    }

    /// The description, as a C string, of an error that the driver does not have.
    pub(crate) fn text(self) -> Option<&'static str> {
        TEXTS.iter().find(|(number, ..)| *number == self.0)?.2
    }
}
