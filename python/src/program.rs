//! The class of a loaded image.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::closable::{Closable, CloseGroup};
use crate::declaration::Declaration;
use crate::error::from_runtime;
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
    /// of structures to dtypes.
    #[pyo3(signature = (declaration, *, types=None))]
    fn kernel(
        &self,
        py: Python<'_>,
        declaration: &str,
        types: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Kernel> {
        let declared = Declaration::of_kernel(declaration, types, py)?;
        let (name, info) = (&declared.name, declared.kernel_info());
        let bound = self
            .program
            .with(py, |program| program.bind_declared(name, info))?;
        let bound = self.group.add(bound.map_err(|error| from_runtime(&error))?);
        let failures = Arc::clone(&self.failures);
        Ok(Kernel::new(declared, declaration, bound, failures))
    }

    /// The names of the image's kernels.
    #[getter]
    fn kernels(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        let kernels = self.program.with(py, |program| program.image().kernels())?;
        let kernels = kernels.map_err(|error| from_runtime(&error.into()))?;
        Ok(kernels.into_iter().map(|kernel| kernel.name).collect())
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
