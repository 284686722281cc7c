//! The class of an array that stays on a device, and the uses of its memory.

use std::sync::{Arc, Mutex, PoisonError};

use pyo3::buffer::PyUntypedBuffer;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use revoff_host::device::{DeviceAddr, Fill};
use revoff_host::{DeviceBuffer, RuntimeError};

use crate::array::{Fault, InUse, host_memory};
use crate::closable::{Closable, Close, CloseGroup, Closed};
use crate::detached::Detached;
use crate::error::{ArgumentError, from_runtime};
use crate::numpy;

/// An array on a device. It stays there between launches, until it is freed, or Python has no reference to it.
#[pyclass(frozen, module = "revoff")]
pub(crate) struct DeviceArray {
    memory: Arc<Closable<Arc<DeviceMemory>>>,
    /// Of its runtime.
    group: Arc<CloseGroup>,
    pub(crate) dtype: Py<PyAny>,
    pub(crate) shape: Vec<usize>,
    nbytes: usize,
}

#[pymethods]
impl DeviceArray {
    /// The lengths of its dimensions.
    #[getter]
    fn shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, &self.shape)
    }

    /// The type of its elements.
    #[getter]
    fn dtype(&self, py: Python<'_>) -> Py<PyAny> {
        self.dtype.clone_ref(py)
    }

    /// Its size in bytes.
    #[getter]
    fn nbytes(&self) -> usize {
        self.nbytes
    }

    /// Copies the array to `out`, an array of its dtype and shape, or to a new one. Returns that.
    #[pyo3(signature = (out=None))]
    fn copy_to_host<'py>(
        &self,
        py: Python<'py>,
        out: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let out = match out {
            Some(out) => out,
            None => numpy::empty(self.dtype.bind(py), &self.shape)?,
        };
        let copy = || {
            let used = MemoryUse::begin(self.memory()?, false)?;
            Ok((used, self.on_host(&out, true)?))
        };
        let (used, buffer) =
            copy().map_err(|fault: Fault| fault.of("`copy_to_host`".to_owned()))?;
        // SAFETY: `on_host` has checked that the buffer has the size of this array, and is writable. As for
        // a launch, other threads of Python that use it meanwhile see any mixture of bytes.
        let copied = py.detach(|| unsafe { used.memory().read(&buffer) });
        copied.map_err(|error| from_runtime(&error))?;
        Ok(out)
    }

    /// Copies an array of the same dtype and shape to this one.
    fn copy_from_host(&self, array: &Bound<'_, PyAny>) -> PyResult<()> {
        let copy = || {
            let used = MemoryUse::begin(self.memory()?, true)?;
            Ok((used, self.on_host(array, false)?))
        };
        let (used, buffer) =
            copy().map_err(|fault: Fault| fault.of("`copy_from_host`".to_owned()))?;
        // SAFETY: as for `copy_to_host`.
        let copied = array
            .py()
            .detach(|| unsafe { used.memory().write(&buffer) });
        copied.map_err(|error| from_runtime(&error))
    }

    /// Frees the memory, once running launches that use it have ended.
    fn free(&self) -> PyResult<()> {
        Ok(self.memory.close(Closed::Array)?)
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let shape = self.shape(py)?.repr()?;
        Ok(format!("<revoff.DeviceArray {shape} {}>", self.dtype))
    }
}

impl DeviceArray {
    /// An array with the dtype and shape of `like`. It has zeros or, if `is_copy`, the elements of `like`.
    pub(crate) fn new(
        like: &Bound<'_, PyAny>,
        is_copy: bool,
        runtime: &Closable<revoff_host::Runtime>,
        group: &Arc<CloseGroup>,
    ) -> PyResult<Self> {
        let py = like.py();
        let dtype = like.getattr("dtype")?;
        if dtype.getattr("hasobject")?.is_truthy()? {
            return Err(ArgumentError::new_err(format!(
                "an array of `{dtype}` cannot be on a device: it has Python objects; convert it, `.astype(..)`"
            )));
        }
        let nbytes: usize = like.getattr("nbytes")?.extract()?;
        let fill = if is_copy { Fill::Any } else { Fill::Zeros };
        let memory = runtime.with(py, |runtime| {
            // An empty array has an address, too.
            let buffer = runtime.alloc_filled(nbytes.max(1) as u64, fill)?;
            Ok(Arc::new(DeviceMemory {
                buffer,
                runtime: runtime.clone(),
                users: Mutex::default(),
            }))
        })?;
        let memory = memory.map_err(|error: RuntimeError| from_runtime(&error))?;
        let array = Self {
            memory: group.add(memory),
            group: Arc::clone(group),
            dtype: dtype.unbind(),
            shape: like.getattr("shape")?.extract()?,
            nbytes,
        };
        if is_copy {
            array.copy_from_host(like)?;
        }
        Ok(array)
    }

    /// Whether it is of the runtime with this group.
    pub(crate) fn is_of(&self, group: &Arc<CloseGroup>) -> bool {
        Arc::ptr_eq(&self.group, group)
    }

    /// Its memory.
    pub(crate) fn memory(&self) -> Result<Arc<DeviceMemory>, Closed> {
        self.memory.get()
    }

    /// The memory of an array on the host with the same dtype and shape.
    fn on_host(
        &self,
        array: &Bound<'_, PyAny>,
        is_written: bool,
    ) -> Result<PyUntypedBuffer, Fault> {
        let dtype = self.dtype.bind(array.py());
        let declared = "the device array";
        host_memory(array, dtype, &self.shape, false, declared, is_written)
    }
}

/// The memory of a device array.
pub(crate) struct DeviceMemory {
    buffer: DeviceBuffer,
    runtime: revoff_host::Runtime,
    users: Mutex<Users>,
}

/// The launches and copies that use the memory at the moment.
#[derive(Default)]
struct Users {
    readers: usize,
    is_written: bool,
}

impl DeviceMemory {
    /// Copies the bytes of `from` to this memory.
    ///
    /// # Safety
    /// `from` is contiguous and not larger than this memory.
    unsafe fn write(&self, from: &PyUntypedBuffer) -> Result<(), RuntimeError> {
        let mut queue = self.runtime.queue()?;
        let (bytes, len) = (from.buf_ptr().cast::<u8>(), from.len_bytes());
        // SAFETY: the caller's promise; `from` keeps the bytes until the copy has been waited for.
        unsafe { queue.copy_to_device(self.buffer.address(), bytes, len)? };
        Ok(queue.synchronize()?)
    }

    /// Copies this memory to the bytes of `to`.
    ///
    /// # Safety
    /// `to` is contiguous, writable and not larger than this memory.
    unsafe fn read(&self, to: &PyUntypedBuffer) -> Result<(), RuntimeError> {
        let mut queue = self.runtime.queue()?;
        let (bytes, len) = (to.buf_ptr().cast::<u8>(), to.len_bytes());
        // SAFETY: the caller's promise; `to` keeps the bytes until the copy has been waited for.
        unsafe { queue.copy_from_device(bytes, self.buffer.address(), len)? };
        Ok(queue.synchronize()?)
    }
}

/// A use of a device array's memory, by a launch or a copy. As with references in Rust, one use writes, or any number
/// of them read.
pub(crate) struct MemoryUse {
    memory: Detached<Arc<DeviceMemory>>,
    writes: bool,
}

impl MemoryUse {
    pub(crate) fn begin(memory: Arc<DeviceMemory>, writes: bool) -> Result<Self, InUse> {
        let memory = Detached::new(memory);
        {
            let users = &memory.get().users;
            let mut users = users.lock().unwrap_or_else(PoisonError::into_inner);
            if users.is_written || (writes && users.readers > 0) {
                return Err(InUse);
            }
            users.is_written = writes;
            users.readers += usize::from(!writes);
        }
        Ok(Self { memory, writes })
    }

    fn memory(&self) -> &DeviceMemory {
        self.memory.get()
    }

    /// The device address of the first byte.
    pub(crate) fn address(&self) -> DeviceAddr {
        self.memory().buffer.address()
    }
}

impl Drop for MemoryUse {
    fn drop(&mut self) {
        let users = &self.memory().users;
        let mut users = users.lock().unwrap_or_else(PoisonError::into_inner);
        match self.writes {
            true => users.is_written = false,
            false => users.readers -= 1,
        }
    }
}
