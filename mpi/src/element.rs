//! MPI's handles of datatypes and operations.

use mpi::ffi;
use mpi_calls::{Datatype, Operation};

/// MPI's datatype.
pub(crate) struct MpiDatatype {
    /// Its handle.
    pub(crate) raw: ffi::MPI_Datatype,
    /// Bytes of an element.
    pub(crate) size: usize,
    is_integer: bool,
}

impl MpiDatatype {
    /// That of a kernel's number, if it is one.
    pub(crate) fn of(datatype: Datatype) -> Option<Self> {
        // SAFETY: MPI sets these, and nobody changes them.
        let (raw, size) = unsafe {
            match datatype {
                Datatype::U8 => (ffi::RSMPI_UINT8_T, 1),
                Datatype::I8 => (ffi::RSMPI_INT8_T, 1),
                Datatype::U16 => (ffi::RSMPI_UINT16_T, 2),
                Datatype::I16 => (ffi::RSMPI_INT16_T, 2),
                Datatype::U32 => (ffi::RSMPI_UINT32_T, 4),
                Datatype::I32 => (ffi::RSMPI_INT32_T, 4),
                Datatype::U64 => (ffi::RSMPI_UINT64_T, 8),
                Datatype::I64 => (ffi::RSMPI_INT64_T, 8),
                Datatype::F32 => (ffi::RSMPI_FLOAT, 4),
                Datatype::F64 => (ffi::RSMPI_DOUBLE, 8),
                _ => return None,
            }
        };
        let is_integer = !matches!(datatype, Datatype::F32 | Datatype::F64);
        Some(Self {
            raw,
            size,
            is_integer,
        })
    }

    /// That of the bytes of messages.
    pub(crate) fn bytes() -> ffi::MPI_Datatype {
        // SAFETY: as in `of`.
        unsafe { ffi::RSMPI_UINT8_T }
    }

    /// The operation of a kernel's number, if it exists for such elements.
    pub(crate) fn operation(&self, operation: Operation) -> Option<ffi::MPI_Op> {
        // SAFETY: MPI sets these, and nobody changes them.
        let raw = unsafe {
            match operation {
                Operation::SUM => ffi::RSMPI_SUM,
                Operation::PRODUCT => ffi::RSMPI_PROD,
                Operation::MIN => ffi::RSMPI_MIN,
                Operation::MAX => ffi::RSMPI_MAX,
                Operation::AND if self.is_integer => ffi::RSMPI_BAND,
                Operation::OR if self.is_integer => ffi::RSMPI_BOR,
                Operation::XOR if self.is_integer => ffi::RSMPI_BXOR,
                _ => return None,
            }
        };
        Some(raw)
    }
}
