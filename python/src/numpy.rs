//! New NumPy arrays, and the bytes of existing ones.
//!
//! NumPy is used by its Python interface and the buffer protocol. Its C interface would tie the module to
//! versions of NumPy.

use std::alloc::Layout;

use pyo3::buffer::PyUntypedBuffer;
use pyo3::exceptions::PyBufferError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyTuple;

/// A function of NumPy.
pub(crate) fn function<'py>(
    py: Python<'py>,
    known: &'static PyOnceLock<Py<PyAny>>,
    name: &str,
) -> PyResult<Bound<'py, PyAny>> {
    known.import(py, "numpy", name).cloned()
}

/// `numpy.dtype(of)`
pub(crate) fn dtype<'py>(
    py: Python<'py>,
    of: impl IntoPyObject<'py>,
) -> PyResult<Bound<'py, PyAny>> {
    static DTYPE: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    function(py, &DTYPE, "dtype")?.call1((of,))
}

/// The size and alignment of a `numpy.dtype`.
pub(crate) fn layout(dtype: &Bound<'_, PyAny>) -> PyResult<Layout> {
    let size = dtype.getattr("itemsize")?.extract()?;
    let align = dtype.getattr("alignment")?.extract()?;
    Layout::from_size_align(size, align)
        .map_err(|_| PyBufferError::new_err(format!("a type of {size} bytes, aligned to {align}")))
}

/// A new array with any contents.
pub(crate) fn empty<'py>(
    dtype: &Bound<'py, PyAny>,
    shape: &[usize],
) -> PyResult<Bound<'py, PyAny>> {
    static EMPTY: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let py = dtype.py();
    function(py, &EMPTY, "empty")?.call1((PyTuple::new(py, shape)?, dtype))
}

/// A read-only array of zeros that needs the memory of one element only; `None` is NumPy's own dtype.
pub(crate) fn zeros<'py>(
    shape: &Bound<'py, PyAny>,
    dtype: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    static ZEROS: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    static BROADCAST_TO: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let py = shape.py();
    let one = function(py, &ZEROS, "zeros")?.call1((PyTuple::empty(py), dtype))?;
    function(py, &BROADCAST_TO, "broadcast_to")?.call1((one, shape))
}

/// The array that `data` is, or one of its elements, contiguous in memory.
pub(crate) fn as_contiguous<'py>(data: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    static REQUIRE: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let py = data.py();
    function(py, &REQUIRE, "require")?.call1((data, py.None(), ["C", "A"]))
}

/// A new array with these bytes. It owns its memory, so that it stays valid when a function keeps it.
pub(crate) fn new_array<'py>(
    dtype: &Bound<'py, PyAny>,
    shape: &[usize],
    bytes: &[u8],
    is_writable: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let py = dtype.py();
    let array = empty(dtype, shape)?;
    let buffer = contiguous(&array, bytes.len())?;
    // SAFETY: `contiguous` has checked that the array has so many bytes, one after the other. It was
    // made above, so nothing else uses them. `bytes` is other memory.
    unsafe {
        let to = buffer.buf_ptr().cast::<u8>();
        to.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len());
    }
    buffer.release(py);
    if !is_writable {
        array.call_method1(intern!(py, "setflags"), (false,))?;
    }
    Ok(array)
}

/// Copies the bytes of an array, as many as `to` has.
///
/// # Errors
/// It does not have so many bytes, one after the other.
pub(crate) fn read_array(array: &Bound<'_, PyAny>, to: &mut [u8]) -> PyResult<()> {
    let buffer = contiguous(array, to.len())?;
    // SAFETY: `contiguous` has checked that the array has so many bytes, one after the other, and `buffer`
    // keeps them. They are memory of Python, of which `to` is no part. The GIL is held, so no Python code
    // changes them meanwhile; code that does without the GIL breaks NumPy's own functions, too.
    unsafe {
        let from = buffer.buf_ptr().cast::<u8>();
        to.as_mut_ptr().copy_from_nonoverlapping(from, to.len());
    }
    Ok(())
}

/// The memory of an array, which stays where it is as long as the result lives.
pub(crate) fn buffer(array: &Bound<'_, PyAny>) -> PyResult<PyUntypedBuffer> {
    let py = array.py();
    if array.getattr(intern!(py, "ndim"))?.extract::<usize>()? == 0 {
        // pyo3 takes no buffer without dimensions. This is a view of the same memory.
        return PyUntypedBuffer::get(&array.call_method1(intern!(py, "reshape"), (1,))?);
    }
    PyUntypedBuffer::get(array)
}

/// The memory of an array of so many bytes, one after the other.
fn contiguous(array: &Bound<'_, PyAny>, bytes: usize) -> PyResult<PyUntypedBuffer> {
    let buffer = buffer(array)?;
    if buffer.len_bytes() == bytes && buffer.is_c_contiguous() {
        return Ok(buffer);
    }
    Err(PyBufferError::new_err(format!(
        "an array of {bytes} contiguous bytes expected, found {} bytes: do not change the size or the \
         strides of an argument",
        buffer.len_bytes()
    )))
}
