//! The arguments of a launch: numbers, and the memory of NumPy arrays.

use std::fmt;

use pyo3::buffer::PyUntypedBuffer;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyMemoryView;
use revoff_fn::Argument;
use revoff_fn::signature::Form;

use crate::declaration::{Declaration, Parameter};
use crate::error;
use crate::numpy;
use crate::scalar::{NumberBytes, ScalarError, type_name};

/// An argument of a launch, which is kept until the launch has ended.
pub(crate) enum LaunchArg<'a> {
    /// The bytes of a number; the first ones, as many as its type has.
    Number(&'a Parameter, NumberBytes),
    /// The memory of an array that fits the parameter.
    Memory(&'a Parameter, PyUntypedBuffer),
}

/// An argument does not fit its parameter.
#[derive(Debug, thiserror::Error)]
#[error("kernel `{kernel}`, argument `{parameter}`: {fault}")]
pub(crate) struct ArgumentError {
    kernel: String,
    parameter: String,
    fault: Box<Fault>,
}

#[derive(Debug, thiserror::Error)]
enum Fault {
    /// It is not the declared number.
    #[error("{0}")]
    Number(#[from] ScalarError),
    /// It is not an array.
    #[error("a `{found}` is not an array: pass a NumPy array, `numpy.asarray(.., {dtype})`")]
    NoArray { found: String, dtype: String },
    /// The array has elements of another type.
    #[error(
        "an array of `{found}` does not fit `{declared}`, which takes {expected}: convert it, \
         `.astype({expected})`"
    )]
    DataType {
        found: String,
        expected: String,
        declared: String,
    },
    /// The elements of the array are not one after the other in memory.
    #[error(
        "the array is not contiguous in memory: pass a copy, `numpy.ascontiguousarray(..)`{}",
        if *is_written { ", and copy the results back" } else { "" }
    )]
    NotContiguous { is_written: bool },
    /// The array's memory is not aligned for its type.
    #[error("the array is not aligned for its type: pass a copy, `.copy()`")]
    NotAligned,
    /// The kernel writes the array, but Python must not.
    #[error("the kernel writes the array, which is read-only: pass a writable one, `.copy()`")]
    ReadOnly,
    /// The array has another shape.
    #[error(
        "an array of shape {found} does not fit `{declared}`, which takes one of shape {expected}"
    )]
    Shape {
        found: Shape,
        expected: Expected,
        declared: String,
    },
    /// The kernel writes memory that is also another argument.
    #[error(
        "it shares memory with argument `{other}`, and the kernel writes one of them: pass a copy"
    )]
    Shared { other: String },
    /// Python or NumPy raised an exception.
    #[error("{0}")]
    Python(#[from] PyErr),
}

impl From<ArgumentError> for PyErr {
    fn from(invalid: ArgumentError) -> Self {
        let exception = error::ArgumentError::new_err(invalid.to_string());
        if let Fault::Python(cause) = *invalid.fault {
            Python::attach(|py| exception.set_cause(py, Some(cause)));
        }
        exception
    }
}

/// A shape as Python writes it.
#[derive(Debug)]
struct Shape(Vec<usize>);

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &*self.0 {
            [one] => write!(f, "({one},)"),
            several => {
                let texts: Vec<_> = several.iter().map(usize::to_string).collect();
                write!(f, "({})", texts.join(", "))
            }
        }
    }
}

/// The shapes that a parameter takes: any, before the shape of an element; or one element.
#[derive(Debug)]
struct Expected {
    is_slice: bool,
    element: Shape,
}

impl fmt::Display for Expected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.is_slice, &*self.element.0) {
            (false, []) => f.write_str("() or (1,)"),
            (false, _) => self.element.fmt(f),
            (true, inner) => {
                f.write_str("(..")?;
                inner.iter().try_for_each(|len| write!(f, ", {len}"))?;
                f.write_str(")")
            }
        }
    }
}

/// The arguments for a kernel with this declaration, as many as it has parameters.
pub(crate) fn stage<'a>(
    kernel: &'a Declaration,
    arguments: &[Bound<'_, PyAny>],
) -> Result<Vec<LaunchArg<'a>>, ArgumentError> {
    let mut staged: Vec<LaunchArg<'a>> = Vec::with_capacity(arguments.len());
    for (parameter, argument) in kernel.parameters.iter().zip(arguments) {
        let add = || {
            let new = LaunchArg::new(parameter, argument)?;
            new.refuse_shared(&staged)?;
            Ok(new)
        };
        let new = add().map_err(|fault| ArgumentError {
            kernel: kernel.name.clone(),
            parameter: parameter.name.clone(),
            fault: Box::new(fault),
        })?;
        staged.push(new);
    }
    Ok(staged)
}

impl<'a> LaunchArg<'a> {
    fn new(parameter: &'a Parameter, argument: &Bound<'_, PyAny>) -> Result<Self, Fault> {
        if parameter.form != Form::Value {
            return Ok(Self::Memory(parameter, memory(parameter, argument)?));
        }
        let scalar = parameter
            .ty
            .scalar
            .expect("kernels take only numbers by value");
        Ok(Self::Number(parameter, scalar.encode(argument)?))
    }

    /// The addresses of its memory, if it has any.
    fn range(&self) -> std::ops::Range<usize> {
        match self {
            Self::Number(..) => 0..0,
            Self::Memory(_, buffer) => {
                let start = buffer.buf_ptr().addr();
                start..start + buffer.len_bytes()
            }
        }
    }

    fn parameter(&self) -> &'a Parameter {
        match self {
            Self::Number(parameter, _) | Self::Memory(parameter, _) => parameter,
        }
    }

    /// Rejects memory of earlier arguments, unless both are only read.
    fn refuse_shared(&self, earlier: &[Self]) -> Result<(), Fault> {
        let is_written = |argument: &Self| argument.parameter().form.copies_back();
        let range = self.range();
        for other in earlier {
            let shared = other.range();
            let overlaps = range.start.max(shared.start) < range.end.min(shared.end);
            if overlaps && (is_written(self) || is_written(other)) {
                return Err(Fault::Shared {
                    other: other.parameter().name.clone(),
                });
            }
        }
        Ok(())
    }

    /// The argument for the runtime, which borrows this one.
    pub(crate) fn as_argument(&self) -> Argument<'_> {
        match self {
            Self::Number(parameter, bytes) => {
                let bytes = &bytes[..parameter.ty.layout.size()];
                Argument::value_of(bytes).expect("a number has at most eight bytes")
            }
            Self::Memory(parameter, buffer) => {
                let layout = parameter.ty.layout;
                let count = buffer.len_bytes() / layout.size().max(1);
                let first = buffer.buf_ptr().cast();
                // SAFETY: `memory` has checked that the array is contiguous, aligned, of the declared
                // type, and writable if it is written. `buffer`, which the result borrows, keeps its
                // memory where it is, unless the program takes that away from NumPy itself
                // (`resize(refcheck=False)`). NumPy's memory is initialised for all that any code can tell.
                // Other arguments of this launch do not share memory that is written
                // (`refuse_shared`). Other threads of Python may access it during the launch, which
                // copies it at its begin and its end: their reads and writes race with these copies,
                // as they do with functions of NumPy that release the GIL, and the bytes are then
                // unspecified. Both sides access bytes of plain data, of which any are a value.
                unsafe { Argument::memory_of(parameter.form, first, layout, count) }
            }
        }
    }
}

/// The memory of an array that fits `parameter`.
fn memory(parameter: &Parameter, argument: &Bound<'_, PyAny>) -> Result<PyUntypedBuffer, Fault> {
    let (py, ty) = (argument.py(), &parameter.ty);
    let dtype = ty.dtype.bind(py);
    let array = as_array(argument)?.ok_or_else(|| Fault::NoArray {
        found: type_name(argument),
        dtype: dtype.to_string(),
    })?;
    let found = array.getattr("dtype")?;
    if !found.eq(dtype)? {
        return Err(Fault::DataType {
            found: found.to_string(),
            expected: dtype.to_string(),
            declared: parameter.to_string(),
        });
    }
    let shape: Vec<usize> = array.getattr("shape")?.extract()?;
    let outer = shape.strip_suffix(&*ty.shape);
    let is_slice = parameter.form.is_slice();
    if !outer.is_some_and(|outer| is_slice || outer.iter().product::<usize>() == 1) {
        return Err(Fault::Shape {
            found: Shape(shape),
            expected: Expected {
                is_slice,
                element: Shape(ty.shape.clone()),
            },
            declared: parameter.to_string(),
        });
    }
    let flags = array.getattr("flags")?;
    let has = |flag| flags.getattr(flag)?.is_truthy();
    let is_written = parameter.form.copies_back();
    if !has("c_contiguous")? {
        return Err(Fault::NotContiguous { is_written });
    }
    if !has("aligned")? {
        return Err(Fault::NotAligned);
    }
    if is_written && !has("writeable")? {
        return Err(Fault::ReadOnly);
    }
    Ok(numpy::buffer(&array)?)
}

/// The array that an argument is, or that views its memory; `None` if it has none.
fn as_array<'py>(argument: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
    static NDARRAY: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    static ASARRAY: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let py = argument.py();
    if argument.is_instance(&numpy::function(py, &NDARRAY, "ndarray")?)? {
        return Ok(Some(argument.clone()));
    }
    let Ok(view) = PyMemoryView::from(argument) else {
        return Ok(None);
    };
    let array = numpy::function(py, &ASARRAY, "asarray")?.call1((view,))?;
    Ok(Some(array))
}
