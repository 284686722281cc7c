//! The requirements on arrays, and their memory.

use std::fmt;

use pyo3::buffer::PyUntypedBuffer;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyMemoryView;

use crate::closable::Closed;
use crate::error;
use crate::numpy;
use crate::scalar::{ScalarError, type_name};

/// An argument does not fit.
#[derive(Debug, thiserror::Error)]
#[error("{place}: {fault}")]
pub(crate) struct ArgumentError {
    /// The argument.
    place: String,
    fault: Box<Fault>,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum Fault {
    /// It is not the declared number.
    #[error("{0}")]
    Number(#[from] ScalarError),
    /// It is not an array.
    #[error("a `{found}` is not an array: pass a NumPy array, `numpy.asarray(.., {dtype})`")]
    NoArray { found: String, dtype: String },
    /// The array has elements of another type.
    #[error(
        "an array of `{found}` does not fit {declared}, which takes {expected}: convert it, \
         `.astype({expected})`, and keep the copy, where results go"
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
    #[error(
        "the array is not aligned for its type: pass a copy, `.copy()`, and keep it, where results go"
    )]
    NotAligned,
    /// The array is to be written.
    #[error(
        "the array is read-only, and results go there: pass a writable copy, `.copy()`, and keep it"
    )]
    ReadOnly,
    /// The array has another shape.
    #[error(
        "an array of shape {found} does not fit {declared}, which takes one of shape {expected}"
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
    /// A device array is in use.
    #[error(transparent)]
    InUse(#[from] InUse),
    /// A device array is there no more.
    #[error(transparent)]
    Closed(#[from] Closed),
    /// A device array of another runtime.
    #[error(
        "the device array is of another runtime: launch a kernel of that runtime, or copy the array, `.copy_to_host()`"
    )]
    OtherRuntime,
    /// Python or NumPy raised an exception.
    #[error("{0}")]
    Python(#[from] PyErr),
}

/// A device array is used, and one of its users writes it.
#[derive(Debug, thiserror::Error)]
#[error(
    "the device array is in use, as another argument or in another thread, and one of both uses writes it: wait for \
     the other one, or make a copy"
)]
pub(crate) struct InUse;

impl From<ArgumentError> for PyErr {
    fn from(invalid: ArgumentError) -> Self {
        let text = invalid.to_string();
        if let Fault::Closed(_) = *invalid.fault {
            return error::ClosedError::new_err(text);
        }
        let exception = error::ArgumentError::new_err(text);
        if let Fault::Python(cause) = *invalid.fault {
            Python::attach(|py| exception.set_cause(py, Some(cause)));
        }
        exception
    }
}

impl Fault {
    /// The error of the argument that `place` names.
    pub(crate) fn of(self, place: String) -> ArgumentError {
        ArgumentError {
            place,
            fault: Box::new(self),
        }
    }
}

/// A shape as Python writes it.
#[derive(Debug)]
pub(crate) struct Shape(pub(crate) Vec<usize>);

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
pub(crate) struct Expected {
    takes_many: bool,
    element: Shape,
}

impl fmt::Display for Expected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.takes_many, &*self.element.0) {
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

/// The memory of an array of elements of this type and shape, one or as many as there are; for what `declared` names.
pub(crate) fn host_memory(
    argument: &Bound<'_, PyAny>,
    dtype: &Bound<'_, PyAny>,
    element: &[usize],
    takes_many: bool,
    declared: &str,
    is_written: bool,
) -> Result<PyUntypedBuffer, Fault> {
    let array = as_array(argument)?.ok_or_else(|| Fault::NoArray {
        found: type_name(argument),
        dtype: dtype.to_string(),
    })?;
    check_dtype(&array.getattr("dtype")?, dtype, declared)?;
    let shape: Vec<usize> = array.getattr("shape")?.extract()?;
    check_shape(&shape, element, takes_many, declared)?;
    let flags = array.getattr("flags")?;
    let has = |flag| flags.getattr(flag)?.is_truthy();
    if !has("c_contiguous")? {
        return Err(Fault::NotContiguous { is_written });
    }
    let buffer = numpy::buffer(&array)?;
    // The flag is that of the array's own dtype, which may be equal and less aligned.
    let align: usize = dtype.getattr("alignment")?.extract()?;
    if !has("aligned")? || !buffer.buf_ptr().addr().is_multiple_of(align) {
        return Err(Fault::NotAligned);
    }
    if is_written && !has("writeable")? {
        return Err(Fault::ReadOnly);
    }
    Ok(buffer)
}

pub(crate) fn check_dtype(
    found: &Bound<'_, PyAny>,
    expected: &Bound<'_, PyAny>,
    declared: &str,
) -> Result<(), Fault> {
    if found.eq(expected)? {
        return Ok(());
    }
    Err(Fault::DataType {
        found: found.to_string(),
        expected: expected.to_string(),
        declared: declared.to_owned(),
    })
}

/// Checks that an array is one element of this shape, or as many as there are.
pub(crate) fn check_shape(
    shape: &[usize],
    element: &[usize],
    takes_many: bool,
    declared: &str,
) -> Result<(), Fault> {
    let outer = shape.strip_suffix(element);
    if outer.is_some_and(|outer| takes_many || outer.iter().product::<usize>() == 1) {
        return Ok(());
    }
    Err(Fault::Shape {
        found: Shape(shape.to_owned()),
        expected: Expected {
            takes_many,
            element: Shape(element.to_owned()),
        },
        declared: declared.to_owned(),
    })
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
