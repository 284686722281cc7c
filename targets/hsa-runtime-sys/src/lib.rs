//! ROCr, AMD's HSA runtime: the functions and types of its headers that are used here. The library
//! is loaded at run time.
//!
//! The program in the folder `bindings` beside this one writes `bindings.rs` from the headers of
//! Debian's `libhsa-runtime-dev`, which are those of ROCm 5.2: its libraries have all these
//! functions, and older ones may lack features that are used. The compiler checks that Rust's
//! layouts match the numbers in the bindings; a test checks that the headers' do.

#[expect(
    non_camel_case_types,
    non_upper_case_globals,
    non_snake_case,
    missing_docs,
    clippy::missing_safety_doc,
    clippy::undocumented_unsafe_blocks,
    clippy::too_many_arguments,
    clippy::allow_attributes_without_reason,
    reason = "generated; names and preconditions are those of the HSA runtime's specification"
)]
mod bindings;
mod library;

use std::ffi::{OsStr, c_void};
use std::fmt;
use std::ops::Deref;

pub use bindings::*;

use self::library::Library;

/// The library's file, which the system's loader finds.
pub const LIBRARY: &str = "libhsa-runtime64.so.1";

/// The library's functions.
pub struct Rocr(Hsa);

impl Rocr {
    /// Loads the library.
    ///
    /// # Errors
    /// There is none, or it lacks a function.
    pub fn load() -> Result<Self, LoadError> {
        Self::load_file(LIBRARY.as_ref())
    }

    fn load_file(file: &OsStr) -> Result<Self, LoadError> {
        // SAFETY: ROCr's initialisers have no preconditions.
        let library = unsafe { Library::new(file) };
        let library = library.map_err(|error| LoadError::Missing {
            reason: error.to_string(),
        })?;
        // SAFETY: the functions of ROCr by these names are those of its headers.
        unsafe { Self::from_library(library) }
    }

    /// The functions of a ROCr that is a part of this program, which `find` looks up.
    ///
    /// # Errors
    /// A function is missing.
    ///
    /// # Safety
    /// Each result of `find` is the function of its name as ROCr's headers declare it.
    pub unsafe fn linked_in(find: fn(&str) -> Option<*const c_void>) -> Result<Self, LoadError> {
        // SAFETY: the caller's promise.
        unsafe { Self::from_library(Library::LinkedIn(find)) }
    }

    /// # Safety
    /// The library's functions are those of ROCr's headers.
    unsafe fn from_library(library: Library) -> Result<Self, LoadError> {
        // SAFETY: the caller's promise; the types were generated from the headers.
        let hsa = unsafe { Hsa::from_library(library) };
        hsa.map(Self).map_err(|error| LoadError::TooOld {
            reason: error.to_string(),
        })
    }
}

impl Deref for Rocr {
    type Target = Hsa;

    fn deref(&self) -> &Hsa {
        &self.0
    }
}

/// The reason why ROCr cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LoadError {
    /// The library does not load.
    Missing {
        /// The loader's message.
        reason: String,
    },
    /// The library lacks a function.
    TooOld {
        /// The loader's message, which names it.
        reason: String,
    },
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing { reason } => write!(
                f,
                "no ROCr: {LIBRARY} does not load (it comes with ROCm; Debian's package is \
                 libhsa-runtime64-1): {}",
                // The loader's message begins with the library's name.
                reason
                    .strip_prefix(LIBRARY)
                    .and_then(|rest| rest.strip_prefix(": "))
                    .unwrap_or(reason)
            ),
            Self::TooOld { reason } => write!(
                f,
                "{LIBRARY} is too old, or no ROCr; this needs the one of ROCm 5.2 or newer: {reason}"
            ),
        }
    }
}

impl std::error::Error for LoadError {}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::process::Command;

    use super::*;

    /// A library with only these functions.
    fn library(name: &str, c: &str) -> std::path::PathBuf {
        let folder = std::env::temp_dir().join(format!("{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        let (source, library) = (folder.join("library.c"), folder.join("library.so"));
        std::fs::write(&source, c).expect("a file");
        let mut compiler = Command::new("cc");
        let compiler = compiler.args(["-shared", "-fPIC", "-w", "-o"]);
        let status = compiler.arg(&library).arg(&source).status();
        assert!(status.expect("a C compiler").success());
        library
    }

    fn refusal(file: &Path) -> LoadError {
        let loaded = Rocr::load_file(file.as_os_str());
        loaded.map(|_| ()).expect_err("it loads")
    }

    #[test]
    fn a_missing_library_is_named_once() {
        let missing = super::LoadError::Missing {
            reason: format!("{}: cannot open shared object file", super::LIBRARY),
        };
        let text = missing.to_string();
        assert_eq!(text.matches(super::LIBRARY).count(), 1, "{text}");
    }

    #[test]
    fn a_library_that_lacks_a_function_is_too_old_by_its_name() {
        let old = library("too-old", "int hsa_shut_down(void) { return 0; }");
        let error = refusal(&old);
        assert!(matches!(error, LoadError::TooOld { .. }), "{error}");
        let text = error.to_string();
        assert!(text.contains("undefined symbol: hsa_"), "{text}");
        assert!(text.contains("ROCm 5.2 or newer"), "{text}");
    }

    #[test]
    fn functions_that_are_linked_in_are_looked_up() {
        extern "C" fn answer() -> u32 {
            7
        }
        // SAFETY: the only function that is called takes no arguments and returns a number.
        let all = unsafe { Rocr::linked_in(|_| Some(answer as *const c_void)) };
        let all = all.unwrap_or_else(|error| panic!("{error}"));
        // SAFETY: it has no preconditions.
        assert_eq!(unsafe { all.hsa_init() }, 7);
        // SAFETY: none is called.
        let none = unsafe { Rocr::linked_in(|_| None) };
        let error = none.map(|_| ()).expect_err("no function is there");
        assert!(error.to_string().contains("hsa_"), "{error}");
    }

    #[test]
    fn a_file_that_is_none_is_named() {
        let error = refusal("/nonexistent/libhsa-runtime64.so.1".as_ref());
        assert!(matches!(error, LoadError::Missing { .. }), "{error}");
        assert!(error.to_string().contains("/nonexistent/"), "{error}");
    }
}
