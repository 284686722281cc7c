//! `declare mapper`: functions of the program that say what is to be mapped of a variable.

use std::ffi::c_void;

use crate::abi::Name;
use crate::args::OneArg;

/// Arguments, such as a mapper makes of one, in the arrays that constructs have.
#[derive(Default)]
pub(crate) struct Components {
    pub(crate) bases: Vec<*mut c_void>,
    pub(crate) begins: Vec<*mut c_void>,
    pub(crate) sizes: Vec<i64>,
    pub(crate) types: Vec<i64>,
    pub(crate) names: Vec<Name>,
    /// None of what a mapper has made has one.
    pub(crate) mappers: Vec<*mut c_void>,
}

/// A mapper: it tells the first argument's [`Components`] of the others.
type Mapper = unsafe extern "C" fn(*mut Components, *mut c_void, *mut c_void, i64, i64, Name);

impl Components {
    pub(crate) fn push(
        &mut self,
        base: *mut c_void,
        begin: *mut c_void,
        size: i64,
        map: i64,
        name: Name,
    ) {
        self.bases.push(base);
        self.begins.push(begin);
        self.sizes.push(size);
        self.types.push(map);
        self.names.push(name);
    }
}

/// Asks the argument's mapper.
///
/// # Safety
/// It has one, which a compiler has made.
pub(crate) unsafe fn components(arg: &OneArg) -> Components {
    // SAFETY: the caller's promise; compilers make them of this type.
    let mapper = unsafe { std::mem::transmute::<*mut c_void, Mapper>(arg.mapper) };
    let mut components = Components::default();
    let (base, begin) = (arg.base as *mut c_void, arg.begin as *mut c_void);
    // SAFETY: as above.
    unsafe {
        mapper(
            &raw mut components,
            base,
            begin,
            arg.size,
            arg.map.0 as i64,
            arg.name,
        )
    };
    components
}
