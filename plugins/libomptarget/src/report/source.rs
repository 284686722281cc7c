//! Locations and names in the source, as compilers pass them to their runtimes.

use std::ffi::CStr;
use std::fmt;

use crate::abi::{Ident, Name};

/// A location in the source.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct SourceLocation {
    file: String,
    line: u32,
    column: u32,
}

impl fmt::Display for SourceLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.file, self.line, self.column)
    }
}

impl SourceLocation {
    /// The location of a construct; `None` if the compiler passed none.
    ///
    /// # Safety
    /// `at` is null or valid, and its text is a C string or null.
    pub(crate) unsafe fn of(at: *const Ident) -> Option<Self> {
        // SAFETY: the caller's promise.
        let at = unsafe { at.as_ref() }?;
        // SAFETY: the caller's promise: a C string or null.
        let text = unsafe { text(at.source) }?;
        // A whole program has no line.
        Named::parse(&text, 2)
            .map(|named| named.location)
            .filter(|location| location.line != 0)
    }

    /// Like [`of`](Self::of), for messages: LLVM's words if there is no location.
    ///
    /// # Safety
    /// As for [`of`](Self::of).
    pub(crate) unsafe fn shown(at: *const Ident) -> String {
        // SAFETY: the caller's promise is that of `of`.
        unsafe { at.as_ref().and_then(|at| text(at.source)) }
            .and_then(|text| Named::parse(&text, 2))
            .map_or_else(
                || "unknown:0:0".to_owned(),
                |named| named.location.to_string(),
            )
    }
}

/// A mapped variable, and the location of its declaration.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Named {
    pub(crate) name: String,
    pub(crate) location: SourceLocation,
}

impl Named {
    /// # Safety
    /// `name` is null or a C string.
    pub(crate) unsafe fn of(name: Name) -> Option<Self> {
        // SAFETY: the caller's promise.
        let text = unsafe { text(name) }?;
        if text.starts_with(';') {
            return Self::parse(&text, 1);
        }
        // A variable of an image has its symbol as name.
        let location = SourceLocation {
            file: "unknown".to_owned(),
            line: 0,
            column: 0,
        };
        Some(Self {
            name: text,
            location,
        })
    }

    /// `;name;file;line;column;;`, or with name and file swapped.
    fn parse(text: &str, name_at: usize) -> Option<Self> {
        let parts: Vec<&str> = text.split(';').collect();
        let [_, first, second, line, column, ..] = parts[..] else {
            return None;
        };
        let (name, file) = if name_at == 1 {
            (first, second)
        } else {
            (second, first)
        };
        Some(Self {
            name: name.to_owned(),
            location: SourceLocation {
                // LLVM's library shows no folders.
                file: file.rsplit('/').next().unwrap_or(file).to_owned(),
                line: line.parse().unwrap_or(0),
                column: column.parse().unwrap_or(0),
            },
        })
    }
}

/// A name in the program's memory.
#[derive(Clone, Copy)]
pub(crate) struct SourceName(pub(crate) Name);

// SAFETY: a C string in the program, or null: only read, and valid as long as the program or
// library that registered it.
unsafe impl Send for SourceName {}
// SAFETY: the program's string is only read, and valid as long as the program or library that
// registered it.
unsafe impl Sync for SourceName {}

impl SourceName {
    pub(crate) fn shown(self) -> String {
        // SAFETY: compilers pass null or a C string.
        unsafe { name_or_unknown(self.0) }
    }
}

/// The name for messages.
///
/// # Safety
/// As for [`Named::of`].
pub(crate) unsafe fn name_or_unknown(name: Name) -> String {
    // SAFETY: the caller's promise is that of `Named::of`.
    unsafe { Named::of(name) }.map_or_else(|| "unknown".to_owned(), |named| named.name)
}

/// # Safety
/// `text` is null or a C string.
pub(crate) unsafe fn text(text: *const std::ffi::c_char) -> Option<String> {
    if text.is_null() {
        return None;
    }
    // SAFETY: the caller's promise.
    let text = unsafe { CStr::from_ptr(text) };
    Some(text.to_string_lossy().into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(source: &CStr) -> Ident {
        Ident {
            reserved_1: 0,
            flags: 2,
            reserved_2: 0,
            reserved_3: 0,
            source: source.as_ptr(),
        }
    }

    #[test]
    fn places() {
        let known = at(c";../src/a.c;main;12;5;;");
        let unknown = at(c";unknown;unknown;0;0;;");
        let broken = at(c"nonsense");
        // SAFETY: all of them are valid, or null.
        unsafe {
            assert_eq!(SourceLocation::shown(&raw const known), "a.c:12:5");
            assert_eq!(SourceLocation::of(&raw const known).unwrap().line, 12);
            assert_eq!(SourceLocation::shown(&raw const unknown), "unknown:0:0");
            assert_eq!(SourceLocation::of(&raw const unknown), None);
            assert_eq!(SourceLocation::shown(&raw const broken), "unknown:0:0");
            assert_eq!(SourceLocation::shown(std::ptr::null()), "unknown:0:0");
        }
    }

    #[test]
    fn names() {
        // SAFETY: all of them are C strings, or null.
        unsafe {
            let named = Named::of(c";x[0:4];/src/b.c;3;7;;".as_ptr()).unwrap();
            assert_eq!(named.name, "x[0:4]");
            assert_eq!(named.location.to_string(), "b.c:3:7");
            assert_eq!(name_or_unknown(c"glob".as_ptr()), "glob");
            assert_eq!(name_or_unknown(std::ptr::null()), "unknown");
        }
    }
}
