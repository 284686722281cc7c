//! The arguments of a construct.

pub(crate) mod info;
pub(crate) mod literals;
pub(crate) mod mapper;
pub(crate) mod section;

use std::ffi::c_void;

use self::mapper::{Component, Components};
use crate::abi::{MapType, Name};

/// Bytes of a pointer.
pub(crate) const POINTER: usize = size_of::<*const c_void>();

/// Alignment up to which data is aligned on the device as on the host.
const MAX_ALIGN: usize = 16;

/// The alignment of data at this address on the host, as far as it is kept on the device.
pub(crate) fn alignment(address: usize) -> usize {
    1 << address.trailing_zeros().min(MAX_ALIGN.trailing_zeros())
}

/// The arguments of a construct, as compilers pass them.
#[derive(Clone, Copy)]
pub(crate) struct Args<'a> {
    bases: *mut *mut c_void,
    begins: &'a [*mut c_void],
    sizes: &'a [i64],
    types: &'a [i64],
    names: &'a [Name],
    mappers: &'a [*mut c_void],
    /// A mapper made them from one argument.
    pub(crate) from_mapper: bool,
}

/// An argument.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OneArg {
    pub(crate) base: usize,
    pub(crate) begin: usize,
    /// The compiler's value: a size, or a number of dimensions.
    pub(crate) size: i64,
    pub(crate) map: MapType,
    pub(crate) name: Name,
    pub(crate) mapper: *mut c_void,
}

impl OneArg {
    /// Its size; 0 if it is negative.
    pub(crate) fn bytes(&self) -> usize {
        usize::try_from(self.size).unwrap_or(0)
    }
}

/// The elements of a C array.
///
/// # Safety
/// It has `len` elements, which do not change, or it is null.
pub(crate) unsafe fn slice<'a, T>(start: *const T, len: usize) -> &'a [T] {
    if start.is_null() {
        return &[];
    }
    // SAFETY: the caller's promise.
    unsafe { std::slice::from_raw_parts(start, len) }
}

impl<'a> Args<'a> {
    /// # Safety
    /// All arrays have `count` elements, or are null, and stay as they are but for `bases`.
    #[allow(
        clippy::too_many_arguments,
        reason = "as many arrays as compilers hand over"
    )]
    pub(crate) unsafe fn new(
        count: i32,
        bases: *mut *mut c_void,
        begins: *const *mut c_void,
        sizes: *const i64,
        types: *const i64,
        names: *const Name,
        mappers: *const *mut c_void,
    ) -> Self {
        let count = usize::try_from(count).unwrap_or(0);
        // SAFETY: the caller's promise, for all of them.
        unsafe {
            Self {
                bases,
                begins: slice(begins, count),
                sizes: slice(sizes, count),
                types: slice(types, count),
                names: slice(names, count),
                mappers: slice(mappers, count),
                from_mapper: false,
            }
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.types.len()
    }

    pub(crate) fn get(&self, at: usize) -> OneArg {
        OneArg {
            // SAFETY: `new`'s caller promised one base per type.
            base: unsafe { self.bases.add(at).read() }.addr(),
            begin: self.begins[at].addr(),
            size: self.sizes[at],
            map: MapType(self.types[at] as u64),
            name: self.names.get(at).copied().unwrap_or(std::ptr::null()),
            mapper: self
                .mappers
                .get(at)
                .copied()
                .unwrap_or(std::ptr::null_mut()),
        }
    }

    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = (usize, OneArg)> {
        (0..self.len()).map(|at| (at, self.get(at)))
    }

    pub(crate) fn set_base(&self, at: usize, base: u64) {
        // SAFETY: `new`'s caller promised one base per type; compilers request this by
        // `RETURN_PARAM`, in writable arrays.
        unsafe { self.bases.add(at).write(base as usize as *mut c_void) };
    }

    /// Whether the argument at `at` is a structure whose members follow it.
    pub(crate) fn has_members(&self, at: usize) -> bool {
        let next = self.types.get(at + 1).map(|&next| MapType(next as u64));
        !MapType(self.types[at] as u64).is_member() && next.and_then(MapType::parent) == Some(at)
    }

    /// The number of members of the argument at `parent`.
    pub(crate) fn members(&self, parent: usize) -> usize {
        let types = self.types.iter().map(|&map| MapType(map as u64));
        types.filter(|map| map.parent() == Some(parent)).count()
    }

    /// Whether the next argument is a member of another one.
    pub(crate) fn next_is_member(&self, at: usize) -> bool {
        let next = self.types.get(at + 1);
        next.is_some_and(|&next| MapType(next as u64).is_member())
    }

    /// The same arguments with other types.
    pub(crate) fn with_types(self, types: &'a [i64]) -> Self {
        debug_assert_eq!(types.len(), self.types.len());
        Self { types, ..self }
    }

    /// A copy that outlives the construct's arrays.
    pub(crate) fn keep(self) -> OwnedArgs {
        let mut owned = OwnedArgs(Components::default());
        for (_, arg) in self.iter() {
            owned.0.push(&Component {
                base: arg.base as *mut c_void,
                begin: arg.begin as *mut c_void,
                size: arg.size,
                map: arg.map.0 as i64,
                name: arg.name,
            });
            owned.0.mappers.push(arg.mapper);
        }
        owned
    }

    /// Calls `with` with the arguments that the argument's mapper makes of it.
    ///
    /// # Safety
    /// The mapper is a function that a compiler made for such arguments.
    pub(crate) unsafe fn expand<R>(arg: &OneArg, with: impl FnOnce(&Args<'_>) -> R) -> R {
        // SAFETY: the caller's promise.
        let mut components = unsafe { mapper::components(arg) };
        with(&Args {
            bases: components.bases.as_mut_ptr(),
            begins: &components.begins,
            sizes: &components.sizes,
            types: &components.types,
            names: &components.names,
            mappers: &[],
            from_mapper: true,
        })
    }
}

/// Arguments of a construct that continues after its caller returned.
pub(crate) struct OwnedArgs(Components);

// SAFETY: addresses of the program's memory and names, which every thread of it may use; one
// thread at a time uses the arrays.
unsafe impl Send for OwnedArgs {}

impl OwnedArgs {
    pub(crate) fn as_args(&mut self) -> Args<'_> {
        Args {
            bases: self.0.bases.as_mut_ptr(),
            begins: &self.0.begins,
            sizes: &self.0.sizes,
            types: &self.0.types,
            names: &self.0.names,
            mappers: &self.0.mappers,
            from_mapper: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alignments() {
        assert_eq!(alignment(0x104), 4);
        assert_eq!(alignment(0x1000), 16);
        assert_eq!(alignment(0), 16);
        assert_eq!(alignment(1), 1);
    }
}
