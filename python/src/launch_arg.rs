//! The arguments of a launch: numbers, the memory of NumPy arrays, and device arrays.

use std::sync::Arc;

use pyo3::buffer::PyUntypedBuffer;
use pyo3::prelude::*;
use revoff_fn::Argument;
use revoff_fn::signature::Form;

use crate::array::{ArgumentError, Fault, check_dtype, check_shape, host_memory};
use crate::closable::CloseGroup;
use crate::declaration::{Declaration, Parameter};
use crate::device_array::{DeviceArray, MemoryUse};
use crate::scalar::NumberBytes;

/// An argument of a launch, which is kept until the launch has ended.
pub(crate) enum LaunchArg<'a> {
    /// The bytes of a number; the first ones, as many as its type has.
    Number(&'a Parameter, NumberBytes),
    /// The memory of an array that fits the parameter.
    Memory(&'a Parameter, PyUntypedBuffer),
    /// A device array that fits the parameter, and the number of values that it has for it.
    OnDevice(&'a Parameter, MemoryUse, usize),
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
