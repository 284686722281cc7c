//! The class of a host function.

use std::sync::Arc;

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use crate::call::PythonFunction;
use crate::declaration::Declaration;
use crate::failures::Failures;
use crate::scalar::type_name;

/// A Python callable that kernels call by its declared name. Calling this object calls the callable.
#[pyclass(frozen, module = "revoff")]
pub(crate) struct Function {
    declaration: Arc<Declaration>,
    /// The declaration as written.
    text: String,
    callable: Py<PyAny>,
}

#[pymethods]
impl Function {
    #[new]
    #[pyo3(signature = (declaration, callable, *, types=None))]
    fn new(
        py: Python<'_>,
        declaration: &str,
        callable: Bound<'_, PyAny>,
        types: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        if !callable.is_callable() {
            return Err(PyTypeError::new_err(format!(
                "`{declaration}`: an object of type `{}` cannot be called: pass a function",
                type_name(&callable)
            )));
        }
        Ok(Self {
            declaration: Arc::new(Declaration::of_function(declaration, types, py)?),
            text: declaration.trim().to_owned(),
            callable: callable.unbind(),
        })
    }

    /// The declared name.
    #[getter]
    fn name(&self) -> &str {
        &self.declaration.name
    }

    /// The declaration as written.
    #[getter]
    fn declaration(&self) -> &str {
        &self.text
    }

    #[getter(__wrapped__)]
    fn wrapped(&self, py: Python<'_>) -> Py<PyAny> {
        self.callable.clone_ref(py)
    }

    #[pyo3(signature = (*args, **kwargs))]
    fn __call__<'py>(
        &self,
        py: Python<'py>,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.callable.bind(py).call(args, kwargs)
    }

    fn __repr__(&self) -> String {
        format!("<revoff.Function {}>", self.text)
    }
}

impl Function {
    /// The function for a runtime, which keeps its exceptions in `failures`.
    pub(crate) fn bind(&self, py: Python<'_>, failures: Arc<Failures>) -> PythonFunction {
        PythonFunction {
            declaration: Arc::clone(&self.declaration),
            callable: self.callable.clone_ref(py),
            failures,
        }
    }
}
