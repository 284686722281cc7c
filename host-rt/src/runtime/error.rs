//! [`RuntimeError`], which the functions of a runtime return. It wraps the errors of the layers
//! below.

use revoff_telemetry::TelemetryError;

use crate::base::debug_as_display;
use crate::base::env::EnvError;
use crate::base::ranges::{AddrRange, RangeError};
use crate::device::DeviceError;
use crate::image::ImageError;
use crate::serve::LaunchError;

/// The failure of a function of a [`Runtime`](crate::Runtime), a program or a launch.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum RuntimeError {
    /// See [`ImageError`].
    #[error(transparent)]
    Image(#[from] ImageError),
    /// See [`DeviceError`].
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// See [`LaunchError`].
    #[error(transparent)]
    Launch(#[from] LaunchError),
    /// See [`EnvError`].
    #[error(transparent)]
    Env(#[from] EnvError),
    /// See [`TelemetryError`].
    #[error(transparent)]
    Telemetry(#[from] TelemetryError),
    /// The kernel is no C function with words for parameters.
    #[error(
        "kernel `{kernel}` cannot be called inline, since it takes a pointer to its parameters: \
         launch it (`Kernel::launch`)"
    )]
    NotInline {
        /// The kernel.
        kernel: String,
    },
    /// The wire of a launch belongs to another runtime.
    #[error(
        "kernel `{kernel}` cannot be launched on a wire of another runtime: take one from its own \
         (`Runtime::launch_wire`)"
    )]
    WireOfOtherRuntime {
        /// The kernel.
        kernel: String,
    },
    /// Host data overlaps data that is on the device, but does not lie within it.
    #[error(
        "{what}: host data {range} is not completely mapped, but overlaps {present}, which is on \
         the device: drop that mapping first, or map all of the data at once"
    )]
    Straddles {
        /// The function or argument that uses the data.
        what: String,
        /// The addresses of the data.
        range: AddrRange,
        /// The addresses of the data that is on the device.
        present: AddrRange,
    },
    /// See [`RangeError`].
    #[error(transparent)]
    Range(#[from] RangeError),
    /// A host function is registered twice.
    #[error("host function `{name}` is registered twice: register each name once")]
    TwiceRegistered {
        /// The function.
        name: String,
    },
}

debug_as_display!(RuntimeError);

/// The result of a runtime's functions.
pub(crate) type Result<T, E = RuntimeError> = std::result::Result<T, E>;

#[cfg(test)]
mod tests {
    use targets::DeviceArch;

    use super::*;
    use crate::serve::CallError;

    #[test]
    fn debug_output_is_the_message_with_its_remedy() {
        let arch = Box::new(DeviceArch::this_machine());
        let image = ImageError::OtherMachine {
            name: "k.ptx".to_owned(),
            found: "PTX for sm_70".to_owned(),
            device: "host".to_owned(),
            wanted: "a shared object".to_owned(),
            arch,
        };
        let error = RuntimeError::from(image);
        assert!(
            format!("{error:?}").contains("cargo xtask images --kernel-crate DIR --target host")
        );
        let launch = LaunchError::Deadline {
            kernel: "slow".to_owned(),
            after: std::time::Duration::from_secs(1),
            pending: vec![],
            has_ended: false,
        };
        for (debug, display) in [
            (format!("{error:?}"), error.to_string()),
            (format!("{launch:?}"), launch.to_string()),
        ] {
            assert_eq!(debug, display);
        }
    }

    #[test]
    fn one_of_a_thing_is_singular() {
        let grid = DeviceError::BadGrid {
            teams: 1,
            threads: 2,
            reason: "no".to_owned(),
        };
        assert_eq!(grid.to_string(), "cannot launch 1 team of 2 threads: no");
        let call = |failed| LaunchError::Call {
            kernel: "k".to_owned(),
            first: CallError::ShuttingDown { word: 1 },
            failed,
        };
        assert!(call(1).to_string().ends_with("shutting down"));
        assert!(call(2).to_string().ends_with("(and 1 more failed call)"));
        assert!(call(3).to_string().ends_with("(and 2 more failed calls)"));
    }
}
