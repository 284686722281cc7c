//! One call of a host function: its arguments as Python objects, and its result as bytes.
//!
//! A function gets copies of its arguments. Views of the bytes themselves would save a copy, but Python
//! code can keep any object that it gets, and the memory is used for other calls afterwards.

use std::alloc::Layout;
use std::fmt::Write;
use std::sync::Arc;

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyTuple;
use revoff_fn::{DynamicArg, DynamicArgs, Failure, HostFunction, RawArg};
use revoff_host::current_call;

use crate::data_type::DataType;
use crate::declaration::Declaration;
use crate::failures::Failures;
use crate::numpy;
use crate::shutdown::Call;

/// A Python callable, as the runtime calls it.
pub(crate) struct PythonFunction {
    pub(crate) declaration: Arc<Declaration>,
    pub(crate) callable: Py<PyAny>,
    pub(crate) failures: Arc<Failures>,
}

impl HostFunction for PythonFunction {
    fn name(&self) -> &str {
        &self.declaration.name
    }

    fn signature(&self) -> u64 {
        self.declaration.function_signature()
    }

    unsafe fn call(&self, args: &[RawArg], message: &mut dyn Write) -> Result<(), Failure> {
        let Declaration {
            parameters,
            returns,
            ..
        } = &*self.declaration;
        // SAFETY: the caller's promise. The arguments are used nowhere else, and do not outlive the call.
        let mut args = unsafe { DynamicArgs::new(args, parameters.len()) }?;
        let mut taken = Vec::with_capacity(parameters.len());
        for parameter in parameters {
            taken.push(args.take(parameter.form, parameter.ty.layout)?);
        }
        let reply = args.reply(returns.as_ref().map_or(Layout::new::<()>(), |ty| ty.layout))?;
        let running = Call::begin();
        let called = running.as_ref().and_then(|_| {
            Python::try_attach(|py| {
                let result = self.call_python(py, &mut taken);
                result.map_err(|exception| (exception.to_string(), exception))
            })
        });
        match called {
            Some(Ok(result)) => {
                reply.finish(&result);
                Ok(())
            }
            Some(Err((text, exception))) => {
                let _ = message.write_str(&text);
                let launch = current_call().map_or(0, |call| call.launch);
                self.failures.add(launch, self.name(), text, exception);
                Err(Failure::Function)
            }
            None => {
                let _ = message.write_str("the Python interpreter is shutting down");
                Err(Failure::Function)
            }
        }
    }
}

impl PythonFunction {
    /// Calls the function. Returns the bytes of its result, with which the written arguments are complete.
    fn call_python(&self, py: Python<'_>, taken: &mut [DynamicArg<'_>]) -> PyResult<Vec<u8>> {
        let mut objects = Vec::with_capacity(taken.len());
        for (parameter, argument) in self.declaration.parameters.iter().zip(&*taken) {
            let (form, ty) = (parameter.form, &parameter.ty);
            objects.push(match argument {
                DynamicArg::Read(bytes) if !form.is_slice() => ty.value(py, bytes)?,
                DynamicArg::Read(bytes) => ty.new_array(py, bytes, true, false)?,
                DynamicArg::Write(bytes) => ty.new_array(py, bytes, form.is_slice(), true)?,
            });
        }
        let result = self.callable.bind(py).call1(PyTuple::new(py, &objects)?)?;
        let result = self.result(&result)?;
        for (object, argument) in objects.iter().zip(taken) {
            if let DynamicArg::Write(bytes) = argument {
                numpy::read_array(object, bytes)?;
            }
        }
        Ok(result)
    }

    /// The bytes of a result. The result of a function that is declared without one is dropped.
    fn result(&self, result: &Bound<'_, PyAny>) -> PyResult<Vec<u8>> {
        let Some(ty) = &self.declaration.returns else {
            return Ok(Vec::new());
        };
        let Some(scalar) = ty.scalar else {
            return array_bytes(result, ty);
        };
        match scalar.encode(result) {
            Ok(bytes) => Ok(bytes[..ty.layout.size()].to_vec()),
            Err(reason) => Err(PyTypeError::new_err(format!("the result: {reason}"))),
        }
    }
}

/// The bytes of a result that is a structure or an array, or that NumPy converts to one.
fn array_bytes(result: &Bound<'_, PyAny>, ty: &DataType) -> PyResult<Vec<u8>> {
    static ARRAY: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let py = result.py();
    let array = numpy::function(py, &ARRAY, "array")?.call1((result, &ty.dtype))?;
    let shape: Vec<usize> = array.getattr("shape")?.extract()?;
    if shape != ty.shape {
        return Err(PyTypeError::new_err(format!(
            "the result has shape {shape:?}, but a `{}` has shape {:?}",
            ty.name, ty.shape
        )));
    }
    let mut bytes = vec![0; ty.layout.size()];
    // `numpy.array` keeps the strides of an array that it copies.
    let array = array.call_method1("copy", ("C",))?;
    numpy::read_array(&array, &mut bytes)?;
    Ok(bytes)
}
