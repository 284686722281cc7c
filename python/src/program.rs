//! The class of a loaded image.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::PyDict;
use revoff_host::RuntimeError;

use crate::closable::{Closable, CloseGroup};
use crate::declaration::Declaration;
use crate::error::{ImageError, from_runtime};
use crate::failures::Failures;
use crate::kernel::Kernel;

/// An image on a device.
#[pyclass(frozen, module = "revoff")]
pub(crate) struct Program {
    program: Arc<Closable<revoff_host::Program>>,
    group: Arc<CloseGroup>,
    failures: Arc<Failures>,
}

#[pymethods]
impl Program {
    /// The kernel with this declaration, which the image must have been built from. `types` maps the names
    /// of structures to dtypes. An `unchecked` declaration is not compared with the image's: it is for kernels
    /// that have none, such as those in C, and it may have pointers.
    #[pyo3(signature = (declaration, *, types=None, unchecked=false))]
    fn kernel(
        &self,
        py: Python<'_>,
        declaration: &str,
        types: Option<&Bound<'_, PyDict>>,
        unchecked: bool,
    ) -> PyResult<Kernel> {
        let declared = Declaration::of_kernel(declaration, unchecked, types, py)?;
        let name = &declared.name;
        let bound = if unchecked {
            self.program
                .with(py, |program| program.bind_unchecked(name))
        } else {
            let info = declared.kernel_info();
            self.program
                .with(py, |program| program.bind_declared(name, info))
        };
        let kernel = self.group.add(bound?.map_err(|error| not_bound(&error))?);
        let (group, failures) = (Arc::clone(&self.group), Arc::clone(&self.failures));
        Ok(Kernel::new(declared, declaration, kernel, group, failures))
    }

    /// The names of the image's kernels.
    #[getter]
    fn kernels(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        let kernels = self.program.with(py, |program| program.image().kernels())?;
        let kernels = kernels.map_err(|error| from_runtime(&error.into()))?;
        Ok(kernels.into_iter().map(|kernel| kernel.name).collect())
    }
}

/// The exception for a kernel that was not found, or has another declaration.
fn not_bound(error: &RuntimeError) -> PyErr {
    match error {
        RuntimeError::Image(revoff_host::image::ImageError::OtherKernel {
            name,
            kernel,
            image: None,
            ..
        }) => ImageError::new_err(format!(
            "{name} has no declaration of kernel `{kernel}`, with which this one could be compared: declare it there \
             or, for a kernel in C, pass `unchecked=True`"
        )),
        error => from_runtime(error),
    }
}

impl Program {
    pub(crate) fn new(
        program: revoff_host::Program,
        group: &Arc<CloseGroup>,
        failures: &Arc<Failures>,
    ) -> Self {
        Self {
            program: group.add(program),
            group: Arc::clone(group),
            failures: Arc::clone(failures),
        }
    }
}
