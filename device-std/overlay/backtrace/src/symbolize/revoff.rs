//! Names and lines of addresses, which the host knows.

use core::ffi::c_void;
use core::marker::PhantomData;
use core::str;

use super::{BytesOrWideString, ResolveWhat, SymbolName};
use crate::sys;
use crate::sys::host::std_symbols;
use crate::vec::Vec;

pub unsafe fn resolve(what: ResolveWhat<'_>, visit: &mut dyn FnMut(&super::Symbol)) {
    let offset = what.address_or_ip().addr() as u64;
    let Ok(list) = sys::text(|list| std_symbols(offset, list)) else {
        return;
    };
    let mut elements = sys::elements(&list);
    while let Some(name) = elements.next() {
        let file = elements.next().unwrap_or_default();
        let mut number = || str::from_utf8(elements.next()?).ok()?.parse().ok();
        let (line, column) = (number(), number());
        let inner = Symbol {
            name: name.to_vec(),
            file: file.to_vec(),
            line,
            column,
            _unused: PhantomData,
        };
        visit(&super::Symbol { inner });
    }
}

/// A function, and a place in it.
pub struct Symbol<'a> {
    name: Vec<u8>,
    file: Vec<u8>,
    line: Option<u32>,
    column: Option<u32>,
    /// The crate requires the parameter, and that it may be `'static`.
    _unused: PhantomData<&'a ()>,
}

impl Symbol<'_> {
    pub fn name(&self) -> Option<SymbolName<'_>> {
        (!self.name.is_empty()).then(|| SymbolName::new(&self.name))
    }

    pub fn addr(&self) -> Option<*mut c_void> {
        None
    }

    pub fn filename_raw(&self) -> Option<BytesOrWideString<'_>> {
        (!self.file.is_empty()).then_some(BytesOrWideString::Bytes(&self.file))
    }

    #[cfg(feature = "std")]
    pub fn filename(&self) -> Option<&std::path::Path> {
        None
    }

    pub fn lineno(&self) -> Option<u32> {
        self.line
    }

    pub fn colno(&self) -> Option<u32> {
        self.column
    }
}

pub unsafe fn clear_symbol_cache() {}
