//! The arguments of a launch: numbers, the memory of NumPy arrays, and device arrays.

use std::fmt;
use std::sync::Arc;

use pyo3::buffer::PyUntypedBuffer;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyMemoryView;
use revoff_fn::Argument;
use revoff_fn::signature::Form;

use crate::closable::{CloseGroup, Closed};
use crate::declaration::{Declaration, Parameter};
use crate::device_array::{DeviceArray, InUse, MemoryUse};
use crate::error;
use crate::numpy;
use crate::scalar::{NumberBytes, ScalarError, type_name};

/// An argument of a launch, which is kept until the launch has ended.
pub(crate) enum LaunchArg<'a> {
    /// The bytes of a number; the first ones, as many as its type has.
    Number(&'a Parameter, NumberBytes),
    /// The memory of an array that fits the parameter.
    Memory(&'a Parameter, PyUntypedBuffer),
    /// A device array that fits the parameter, and the number of values that it has for it.
    OnDevice(&'a Parameter, MemoryUse, usize),
}

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
    /// The array is to be written.
    #[error("the array is read-only, and results go there: pass a writable one, `.copy()`")]
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

/// The arguments for a kernel of the runtime of `group` with this declaration, as many as it has parameters.
pub(crate) fn stage<'a>(
    kernel: &'a Declaration,
    arguments: &[Bound<'_, PyAny>],
    group: &Arc<CloseGroup>,
) -> Result<Vec<LaunchArg<'a>>, ArgumentError> {
    let mut staged: Vec<LaunchArg<'a>> = Vec::with_capacity(arguments.len());
    for (parameter, argument) in kernel.parameters.iter().zip(arguments) {
        let add = || {
            let new = LaunchArg::new(parameter, argument, group)?;
            new.refuse_shared(&staged)?;
            Ok(new)
        };
        let new = add().map_err(|fault: Fault| {
            let (kernel, parameter) = (&kernel.name, &parameter.name);
            fault.of(format!("kernel `{kernel}`, argument `{parameter}`"))
        })?;
        staged.push(new);
    }
    Ok(staged)
}

impl<'a> LaunchArg<'a> {
    fn new(
        parameter: &'a Parameter,
        argument: &Bound<'_, PyAny>,
        group: &Arc<CloseGroup>,
    ) -> Result<Self, Fault> {
        if parameter.form != Form::Value {
            if let Ok(array) = argument.cast::<DeviceArray>() {
                let (used, count) = on_device(parameter, array, group)?;
                return Ok(Self::OnDevice(parameter, used, count));
            }
            return Ok(Self::Memory(parameter, memory(parameter, argument)?));
        }
        let scalar = parameter
            .ty
            .scalar
            .expect("kernels take only numbers by value");
        Ok(Self::Number(parameter, scalar.encode(argument)?))
    }

    /// The addresses of its memory on the host, if it has any.
    fn range(&self) -> std::ops::Range<usize> {
        match self {
            Self::Number(..) | Self::OnDevice(..) => 0..0,
            Self::Memory(_, buffer) => {
                let start = buffer.buf_ptr().addr();
                start..start + buffer.len_bytes()
            }
        }
    }

    fn parameter(&self) -> &'a Parameter {
        match self {
            Self::Number(parameter, _)
            | Self::Memory(parameter, _)
            | Self::OnDevice(parameter, ..) => parameter,
        }
    }

    /// Rejects memory of earlier arguments, unless both are only read. For device arrays, `MemoryUse` does.
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

    /// The arguments for the runtime, which borrow this one: the second is the length of a slice on the device.
    pub(crate) fn arguments(&self) -> impl Iterator<Item = Argument<'_>> {
        let (first, len) = match self {
            Self::Number(parameter, bytes) => {
                let bytes = &bytes[..parameter.ty.layout.size()];
                let number = Argument::value_of(bytes);
                (number.expect("a number has at most eight bytes"), None)
            }
            Self::OnDevice(parameter, memory, count) => {
                let word =
                    |word: u64| Argument::value_of(&word.to_ne_bytes()).expect("eight bytes");
                let len = parameter.form.is_slice().then(|| word(*count as u64));
                (word(memory.address().0), len)
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
                let memory = unsafe { Argument::memory_of(parameter.form, first, layout, count) };
                (memory, None)
            }
        };
        std::iter::once(first).chain(len)
    }
}

/// A device array of the runtime of `group` that fits `parameter`, and the number of values that it has for it.
fn on_device(
    parameter: &Parameter,
    array: &Bound<'_, DeviceArray>,
    group: &Arc<CloseGroup>,
) -> Result<(MemoryUse, usize), Fault> {
    let (py, ty) = (array.py(), &parameter.ty);
    let array = array.get();
    if !array.is_of(group) {
        return Err(Fault::OtherRuntime);
    }
    let declared = format!("`{parameter}`");
    check_dtype(array.dtype.bind(py), ty.dtype.bind(py), &declared)?;
    check_shape(&array.shape, &ty.shape, parameter.takes_many(), &declared)?;
    let used = MemoryUse::begin(array.memory()?, parameter.form.copies_back())?;
    let elements = array.shape.iter().product::<usize>();
    let of_each = ty.shape.iter().product::<usize>();
    Ok((used, elements / of_each.max(1)))
}

/// The memory of an array that fits `parameter`.
fn memory(parameter: &Parameter, argument: &Bound<'_, PyAny>) -> Result<PyUntypedBuffer, Fault> {
    let ty = &parameter.ty;
    let takes_many = parameter.takes_many();
    let declared = format!("`{parameter}`");
    let is_written = parameter.form.copies_back();
    let dtype = ty.dtype.bind(argument.py());
    host_memory(
        argument, dtype, &ty.shape, takes_many, &declared, is_written,
    )
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

fn check_dtype(
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
fn check_shape(
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
