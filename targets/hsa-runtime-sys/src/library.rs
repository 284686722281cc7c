//! Where the functions are.

use std::error::Error as _;
use std::ffi::{CStr, c_void};
use std::fmt;

use libloading::AsFilename;

/// A library that was loaded, or is a part of this program.
pub enum Library {
    /// The system's loader has it.
    Loaded(libloading::Library),
    /// The function looks its functions up.
    LinkedIn(fn(&str) -> Option<*const c_void>),
}

/// A function is missing.
#[derive(Debug)]
pub enum FindError {
    /// The loader's error.
    Loader(libloading::Error),
    /// The name of a function that is not linked in.
    NotLinkedIn(String),
}

impl fmt::Display for FindError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            // The loader's own message.
            Self::Loader(error) => match error.source() {
                Some(reason) => write!(f, "{reason}"),
                None => write!(f, "{error}"),
            },
            Self::NotLinkedIn(name) => write!(f, "undefined symbol: {name}"),
        }
    }
}

impl Library {
    /// Loads a library.
    ///
    /// # Safety
    /// As for [`libloading::Library::new`].
    pub unsafe fn new(path: impl AsFilename) -> Result<Self, FindError> {
        // SAFETY: the caller's promise.
        let library = unsafe { libloading::Library::new(path) };
        library.map(Self::Loaded).map_err(FindError::Loader)
    }

    /// The function with a name that ends with a NUL; the library stays.
    ///
    /// # Safety
    /// `T` is a pointer to a function, and the function's type.
    pub unsafe fn get<T: Copy>(&self, name: &[u8]) -> Result<Box<T>, FindError> {
        let find = match self {
            Self::Loaded(library) => {
                // SAFETY: the caller's promise.
                let found = unsafe { library.get::<T>(name) };
                return found
                    .map(|found| Box::new(*found))
                    .map_err(FindError::Loader);
            }
            Self::LinkedIn(find) => find,
        };
        let name = CStr::from_bytes_with_nul(name).unwrap_or_default();
        let name = name.to_string_lossy();
        let found = find(&name).ok_or_else(|| FindError::NotLinkedIn(name.into_owned()))?;
        assert_eq!(size_of::<T>(), size_of_val(&found), "a pointer");
        // SAFETY: a pointer to a function has this size, and this one is of type `T`, by the caller's promise.
        Ok(Box::new(unsafe { std::mem::transmute_copy(&found) }))
    }
}
