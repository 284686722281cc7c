//! The types of parameters and results: numbers, arrays of them, and structures that the caller describes.

use std::alloc::Layout;

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use revoff_declaration::canonical;
use syn::{Expr, ExprLit, Lit, Type};

use crate::numpy;
use crate::scalar::Scalar;

/// A type of plain data.
pub(crate) struct DataType {
    /// As it is hashed.
    pub(crate) name: String,
    pub(crate) layout: Layout,
    /// The type, if it is a number.
    pub(crate) scalar: Option<Scalar>,
    /// The type of the elements of an array, and of any other type itself: a `numpy.dtype`.
    pub(crate) dtype: Py<PyAny>,
    /// The lengths of an array, from the outermost; of any other type, none.
    pub(crate) shape: Vec<usize>,
}

/// A type cannot be used here.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DataTypeError {
    /// The name of a type is not known.
    #[error(
        "type `{name}` is unknown: use {}, arrays of these, or describe it, `types={{\"{name}\": \
         numpy.dtype(.., align=True)}}`",
        Scalar::names()
    )]
    Unknown {
        /// The name.
        name: String,
    },
    /// The length of an array is not a number.
    #[error("the length of the array `{name}` is not a number: write it as a number, such as 32")]
    Length {
        /// The array.
        name: String,
    },
    /// A described type has Python objects in it, or no bytes.
    #[error("`{dtype}` cannot describe type `{name}`: it has {fault}")]
    NotPlain {
        /// The type.
        name: String,
        /// Its description.
        dtype: String,
        /// The reason.
        fault: &'static str,
    },
    /// NumPy rejected the description of a type.
    #[error("type `{name}`: {reason}")]
    NumPy {
        /// The type.
        name: String,
        /// NumPy's error, which the message includes.
        reason: PyErr,
    },
}

impl DataType {
    /// The meaning of a type in a declaration. `described` has a `numpy.dtype` for each structure.
    pub(crate) fn of(
        ty: &Type,
        described: Option<&Bound<'_, PyDict>>,
        py: Python<'_>,
    ) -> Result<Self, DataTypeError> {
        let name = canonical(ty);
        if let Type::Array(array) = revoff_declaration::bare(ty) {
            let element = Self::of(&array.elem, described, py)?;
            return element.array(&array.len, name);
        }
        if let Some(scalar) = Scalar::named(&name) {
            let dtype = numpy::dtype(py, scalar.dtype());
            let dtype = dtype.map_err(|reason| DataTypeError::NumPy {
                name: name.clone(),
                reason,
            })?;
            return Ok(Self {
                name,
                layout: scalar.layout(),
                scalar: Some(scalar),
                dtype: dtype.unbind(),
                shape: Vec::new(),
            });
        }
        Self::described(name, described, py)
    }

    /// An array of this type.
    fn array(self, len: &Expr, name: String) -> Result<Self, DataTypeError> {
        let len = match len {
            Expr::Lit(ExprLit {
                lit: Lit::Int(len), ..
            }) => len.base10_parse::<usize>().ok(),
            _ => None,
        };
        let layout = len.and_then(|len| {
            let size = self.layout.size().checked_mul(len)?;
            Layout::from_size_align(size, self.layout.align()).ok()
        });
        let (Some(len), Some(layout)) = (len, layout) else {
            return Err(DataTypeError::Length { name });
        };
        let mut shape = vec![len];
        shape.extend(self.shape);
        Ok(Self {
            name,
            layout,
            scalar: None,
            dtype: self.dtype,
            shape,
        })
    }

    /// A type that the caller describes.
    fn described(
        name: String,
        described: Option<&Bound<'_, PyDict>>,
        py: Python<'_>,
    ) -> Result<Self, DataTypeError> {
        let find = || {
            let Some(found) = described
                .map(|all| all.get_item(&name))
                .transpose()?
                .flatten()
            else {
                return Ok(None);
            };
            let dtype = numpy::dtype(py, found)?;
            let has_objects = dtype.getattr("hasobject")?.is_truthy()?;
            Ok(Some((numpy::layout(&dtype)?, has_objects, dtype)))
        };
        let found = find().map_err(|reason| DataTypeError::NumPy {
            name: name.clone(),
            reason,
        })?;
        let Some((layout, has_objects, dtype)) = found else {
            return Err(DataTypeError::Unknown { name });
        };
        let is_array = dtype.getattr("subdtype").is_ok_and(|of| !of.is_none());
        let fault = match (has_objects, is_array, layout.size()) {
            (true, ..) => Some("Python objects"),
            (_, true, _) => Some("elements: declare an array, `[T; N]`"),
            (_, _, 0) => Some("no bytes"),
            _ => None,
        };
        if let Some(fault) = fault {
            let dtype = dtype.to_string();
            return Err(DataTypeError::NotPlain { name, dtype, fault });
        }
        Ok(Self {
            name,
            layout,
            scalar: None,
            dtype: dtype.unbind(),
            shape: Vec::new(),
        })
    }

    /// The Python object for one value with these bytes, which a function only reads.
    pub(crate) fn value<'py>(&self, py: Python<'py>, bytes: &[u8]) -> PyResult<Bound<'py, PyAny>> {
        if let Some(scalar) = self.scalar {
            return scalar.decode(py, bytes);
        }
        let array = numpy::new_array(self.dtype.bind(py), &self.shape, bytes, false)?;
        if self.shape.is_empty() {
            // A structure itself, not an array without dimensions.
            return array.get_item(PyTuple::empty(py));
        }
        Ok(array)
    }

    /// A new array with these bytes: of one value, or of as many as there are.
    pub(crate) fn new_array<'py>(
        &self,
        py: Python<'py>,
        bytes: &[u8],
        is_slice: bool,
        is_writable: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        let dtype = self.dtype.bind(py);
        if !is_slice {
            return numpy::new_array(dtype, &self.shape, bytes, is_writable);
        }
        let mut shape = vec![bytes.len() / self.layout.size()];
        shape.extend(&self.shape);
        numpy::new_array(dtype, &shape, bytes, is_writable)
    }
}
