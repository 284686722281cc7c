//! `declare mapper`: functions of the program that list the parts of a variable to map.

use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::OnceLock;

use super::OneArg;
use crate::abi::Name;

/// Arguments in the arrays of a construct, as a mapper makes them.
#[derive(Default)]
pub(crate) struct Components {
    pub(crate) bases: Vec<*mut c_void>,
    pub(crate) begins: Vec<*mut c_void>,
    pub(crate) sizes: Vec<i64>,
    pub(crate) types: Vec<i64>,
    pub(crate) names: Vec<Name>,
    /// Empty if a mapper made the arguments.
    pub(crate) mappers: Vec<*mut c_void>,
}

impl Components {
    pub(crate) fn push(&mut self, component: &Component) {
        self.bases.push(component.base);
        self.begins.push(component.begin);
        self.sizes.push(component.size);
        self.types.push(component.map);
        self.names.push(component.name);
    }
}

/// One argument that a mapper made.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Component {
    pub(crate) base: *mut c_void,
    pub(crate) begin: *mut c_void,
    pub(crate) size: i64,
    pub(crate) map: i64,
    pub(crate) name: Name,
}

/// The arguments that a mapper has made so far. Its layout is that of `std::vector`, since programs
/// have handles of that type, and the program's `operator new` allocates it.
#[repr(C)]
pub(crate) struct Handle {
    begin: *mut Component,
    end: *mut Component,
    limit: *mut Component,
}

/// A mapper: it pushes components to the handle, its first parameter.
type Mapper = unsafe extern "C" fn(*mut Handle, *mut c_void, *mut c_void, i64, i64, Name);

impl Handle {
    const EMPTY: Self = Self {
        begin: null_mut(),
        end: null_mut(),
        limit: null_mut(),
    };

    pub(crate) fn components(&self) -> &[Component] {
        if self.begin.is_null() {
            return &[];
        }
        // SAFETY: both point into one allocation, whose components up to the end were written.
        unsafe {
            let len = self.end.offset_from_unsigned(self.begin);
            std::slice::from_raw_parts(self.begin, len)
        }
    }

    pub(crate) fn push(&mut self, component: Component) {
        if self.end == self.limit {
            self.grow();
        }
        // SAFETY: there is room before the limit.
        unsafe {
            self.end.write(component);
            self.end = self.end.add(1);
        }
    }

    fn grow(&mut self) {
        let len = self.components().len();
        let capacity = (2 * len).max(8);
        let bytes = capacity * size_of::<Component>();
        let allocator = allocator();
        // SAFETY: the function allocates the requested bytes, or does not return.
        let begin = unsafe { (allocator.new)(bytes) }.cast::<Component>();
        if begin.is_null() {
            std::alloc::handle_alloc_error(std::alloc::Layout::new::<Component>());
        }
        // SAFETY: the new memory is separate and longer; the same functions allocated the old one,
        // here or in the vector.
        unsafe {
            begin.copy_from_nonoverlapping(self.begin, len);
            allocator.free(self.begin.cast());
        }
        self.begin = begin;
        // SAFETY: there is room for `capacity` of them, which is more than `len`.
        (self.end, self.limit) = unsafe { (begin.add(len), begin.add(capacity)) };
    }
}

/// `operator new` and `delete` of the program, or C's functions in one without C++.
struct Allocator {
    new: unsafe extern "C" fn(usize) -> *mut c_void,
    delete: unsafe extern "C" fn(*mut c_void),
}

impl Allocator {
    /// # Safety
    /// Null, or unused memory that `new` returned.
    unsafe fn free(&self, memory: *mut c_void) {
        // SAFETY: the caller's promise; both functions ignore null.
        unsafe { (self.delete)(memory) };
    }
}

fn allocator() -> &'static Allocator {
    static ALLOCATOR: OnceLock<Allocator> = OnceLock::new();
    ALLOCATOR.get_or_init(|| {
        // SAFETY: looks symbols up by their names, as C++'s ABI mangles them.
        let found = unsafe {
            [c"_Znwm", c"_ZdlPv"].map(|name| libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()))
        };
        let [new, delete] = found;
        if new.is_null() || delete.is_null() {
            return Allocator {
                new: libc::malloc,
                delete: libc::free,
            };
        }
        // SAFETY: C++'s ABI gives the functions of these names these types.
        unsafe {
            Allocator {
                new: std::mem::transmute::<*mut c_void, unsafe extern "C" fn(usize) -> *mut c_void>(
                    new,
                ),
                delete: std::mem::transmute::<*mut c_void, unsafe extern "C" fn(*mut c_void)>(
                    delete,
                ),
            }
        }
    })
}

/// Calls the argument's mapper.
///
/// # Safety
/// It has one, which a compiler made.
pub(crate) unsafe fn components(arg: &OneArg) -> Components {
    // SAFETY: the caller's promise; compilers make them of this type.
    let mapper = unsafe { std::mem::transmute::<*mut c_void, Mapper>(arg.mapper) };
    let mut handle = Handle::EMPTY;
    let (base, begin) = (arg.base as *mut c_void, arg.begin as *mut c_void);
    // SAFETY: the caller's promise: the mapper takes a handle and these values of the argument.
    unsafe {
        mapper(
            &raw mut handle,
            base,
            begin,
            arg.size,
            arg.map.0 as i64,
            arg.name,
        )
    };
    let mut components = Components::default();
    for component in handle.components() {
        components.push(component);
    }
    // SAFETY: null, or allocated by `grow`, and not shared.
    unsafe { allocator().free(handle.begin.cast()) };
    components
}
