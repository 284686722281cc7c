//! The class of a runtime.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyTuple;
use revoff_host::{Functions, Image};

use crate::closable::{Closable, CloseGroup};
use crate::device_array::DeviceArray;
use crate::error::{SettingError, from_runtime};
use crate::failures::Failures;
use crate::function::Function;
use crate::numpy;
use crate::program::Program;

/// The part of the log that is shown if `REVOFF_LOG` is not set.
const SHOWN: &str = "warn";

/// A device, with the threads that serve the calls of its kernels. Leaving its `with` block closes it.
#[pyclass(frozen, module = "revoff")]
pub(crate) struct Runtime {
    device: String,
    runtime: Arc<Closable<revoff_host::Runtime>>,
    /// This runtime, its programs and their kernels.
    group: Arc<CloseGroup>,
    failures: Arc<Failures>,
}

#[pymethods]
impl Runtime {
    /// Opens a device, such as `"emu:sm_70"`. `threads` is the largest number of threads that serve calls,
    /// and `deadline` the longest time of a launch in seconds.
    #[new]
    #[pyo3(signature = (device="host", *, threads=None, deadline=None))]
    fn new(
        py: Python<'_>,
        device: &str,
        threads: Option<i64>,
        deadline: Option<f64>,
    ) -> PyResult<Self> {
        revoff_log::show(Some(SHOWN)).map_err(|error| SettingError::new_err(error.to_string()))?;
        let device = revoff_host::device::resolve(device);
        let device = device.map_err(|error| from_runtime(&error.into()))?;
        let mut builder = revoff_host::Runtime::builder(&device);
        if let Some(threads) = threads {
            let number = usize::try_from(threads).map_err(|_| {
                SettingError::new_err(format!("threads={threads}: pass a number from 1"))
            })?;
            builder = builder.threads(number);
        }
        if let Some(seconds) = deadline {
            let limit = Duration::try_from_secs_f64(seconds).map_err(|reason| {
                SettingError::new_err(format!(
                    "deadline={seconds}: {reason}; pass the number of seconds"
                ))
            })?;
            builder = builder.deadline(limit);
        }
        let runtime = py.detach(|| builder.build());
        let runtime = runtime.map_err(|error| from_runtime(&error))?;
        let group = Arc::new(CloseGroup::new());
        Ok(Self {
            device: device.into_owned(),
            runtime: group.add(runtime),
            group,
            failures: Arc::default(),
        })
    }

    /// The name of the device.
    #[getter]
    fn device(&self) -> &str {
        &self.device
    }

    /// A short description of the device, such as its model.
    #[getter]
    fn description(&self, py: Python<'_>) -> PyResult<String> {
        self.runtime.with(py, revoff_host::Runtime::description)
    }

    /// The number of calls from kernels that have been served so far.
    #[getter]
    fn requests(&self, py: Python<'_>) -> PyResult<u64> {
        self.runtime.with(py, revoff_host::Runtime::requests)
    }

    /// Loads an image, a file or the bytes of one. Its kernels can call `functions`.
    #[pyo3(signature = (image, functions=Vec::new()))]
    fn load(
        &self,
        py: Python<'_>,
        image: ImageSource,
        functions: Vec<PyRef<'_, Function>>,
    ) -> PyResult<Program> {
        let mut registered = Functions::new();
        for function in &functions {
            let function = function.bind(py, Arc::clone(&self.failures));
            registered
                .add(function)
                .map_err(|error| from_runtime(&error))?;
        }
        let program = self.runtime.with(py, |runtime| {
            let image = image.open()?;
            runtime.load(&image, &registered)
        })?;
        let program = program.map_err(|error| from_runtime(&error))?;
        Ok(Program::new(program, &self.group, &self.failures))
    }

    /// A device array with the elements of `data`, which may be all that `numpy.asarray` takes.
    fn array(&self, data: &Bound<'_, PyAny>) -> PyResult<DeviceArray> {
        let data = numpy::as_contiguous(data)?;
        DeviceArray::new(&data, true, &self.runtime, &self.group)
    }

    /// A device array of zeros.
    #[pyo3(signature = (shape, dtype=None))]
    fn zeros(
        &self,
        shape: &Bound<'_, PyAny>,
        dtype: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<DeviceArray> {
        let zeros = numpy::zeros(shape, dtype)?;
        DeviceArray::new(&zeros, false, &self.runtime, &self.group)
    }

    /// Closes the device: what was made from this runtime cannot be used any more. Launches in other threads
    /// go on, and keep the device until they end.
    fn close(&self) {
        self.group.close();
    }

    fn __enter__(this: Py<Self>) -> Py<Self> {
        this
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(&self, _exception: &Bound<'_, PyTuple>) {
        self.close();
    }

    fn __repr__(&self) -> String {
        format!("<revoff.Runtime {:?}>", self.device)
    }
}

/// The source of an image.
#[derive(FromPyObject)]
enum ImageSource {
    Bytes(PyBackedBytes),
    Path(PathBuf),
}

impl ImageSource {
    fn open(self) -> Result<Image, revoff_host::RuntimeError> {
        Ok(match self {
            Self::Path(path) => Image::open(path)?,
            Self::Bytes(bytes) => Image::from_bytes("the image", &*bytes)?,
        })
    }
}
