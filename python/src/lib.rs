//! The extension module of the Python package `revoff`: kernels launched with NumPy arrays, and host
//! functions that are Python callables.
//!
//! | file | job |
//! |---|---|
//! | `runtime`, `program`, `kernel` | classes of these names |
//! | `function` | the class of a host function |
//! | `device_array` | the class of an array on a device |
//! | `devices` | the list of devices |
//! | `declaration`, `data_type`, `scalar` | declarations in Rust's syntax, and their types |
//! | `launch_arg` | arguments of launches |
//! | `array`, `numpy` | NumPy arrays: what they must be, their memory, and new ones |
//! | `call` | one call of a host function |
//! | `failures` | the exceptions of failed calls, by launch |
//! | `closable`, `detached` | values that are dropped early, or without the GIL |
//! | `error` | the package's exceptions |
//! | `shutdown` | the end of the interpreter |
//!
//! The GIL is released whenever this module waits: for kernels, and when it drops what a runtime is made
//! of. Serving threads hold it while they run a Python function, and wait for it with no lock of this
//! module held.

mod array;
mod call;
mod closable;
mod data_type;
mod declaration;
mod detached;
mod device_array;
mod devices;
mod error;
mod failures;
mod function;
mod kernel;
mod launch_arg;
mod numpy;
mod program;
mod runtime;
mod scalar;
mod shutdown;

/// Reverse offload: kernels that call Python functions.
#[pyo3::pymodule]
mod _revoff {
    use pyo3::prelude::*;

    #[pymodule_export]
    use crate::device_array::DeviceArray;
    #[pymodule_export]
    use crate::devices::devices;
    #[pymodule_export]
    use crate::error::{
        ArgumentError, CallError, ClosedError, DeadlineError, DeclarationError, DeviceError, Error,
        ImageError, LaunchError, SettingError,
    };
    #[pymodule_export]
    use crate::function::Function;
    #[pymodule_export]
    use crate::kernel::{Kernel, Report};
    #[pymodule_export]
    use crate::program::Program;
    #[pymodule_export]
    use crate::runtime::Runtime;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        crate::shutdown::register(module)?;
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
