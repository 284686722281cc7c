//! `declare mapper`: functions of the program that say what is to be mapped of a variable.

use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::OnceLock;

use super::OneArg;
use crate::abi::Name;

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

impl Components {
    pub(crate) fn push(&mut self, component: &Component) {
        self.bases.push(component.base);
        self.begins.push(component.begin);
        self.sizes.push(component.size);
        self.types.push(component.map);
        self.names.push(component.name);
    }
}

/// One argument that a mapper has made.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Component {
    pub(crate) base: *mut c_void,
    pub(crate) begin: *mut c_void,
    pub(crate) size: i64,
    pub(crate) map: i64,
    pub(crate) name: Name,
}

/// What a mapper has made so far. It is laid out as `std::vector`, since programs bring handles of
/// that type, and allocated by the program's `operator new`.
#[repr(C)]
pub(crate) struct Handle {
    begin: *mut Component,
    end: *mut Component,
    limit: *mut Component,
}

/// A mapper: it pushes components to the handle that it is given first.
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
        // SAFETY: before the limit there is room.
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
        // SAFETY: the function allocates so many bytes, or does not return.
        let begin = unsafe { (allocator.new)(bytes) }.cast::<Component>();
        if begin.is_null() {
            std::alloc::handle_alloc_error(std::alloc::Layout::new::<Component>());
        }
        // SAFETY: the new memory is apart and longer; the old was allocated by the same functions,
        // here or by the vector.
        unsafe {
            begin.copy_from_nonoverlapping(self.begin, len);
            allocator.free(self.begin.cast());
        }
        self.begin = begin;
        // SAFETY: there is room for `capacity` of them, which is more than `len`.
        (self.end, self.limit) = unsafe { (begin.add(len), begin.add(capacity)) };
    }
}

/// `operator new` and `delete` of the program; of one without C++, C's functions.
struct Allocator {
    new: unsafe extern "C" fn(usize) -> *mut c_void,
    delete: unsafe extern "C" fn(*mut c_void),
}

impl Allocator {
    /// # Safety
    /// Null, or memory that `new` has returned and nobody uses.
    unsafe fn free(&self, memory: *mut c_void) {
        // SAFETY: the caller's promise; both functions ignore null.
        unsafe { (self.delete)(memory) };
    }
}

fn allocator() -> &'static Allocator {
    static ALLOCATOR: OnceLock<Allocator> = OnceLock::new();
    ALLOCATOR.get_or_init(|| {
        // SAFETY: asks for symbols by their names, which C++'s ABI mangles so.
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

/// Asks the argument's mapper.
///
/// # Safety
/// It has one, which a compiler has made.
pub(crate) unsafe fn components(arg: &OneArg) -> Components {
    // SAFETY: the caller's promise; compilers make them of this type.
    let mapper = unsafe { std::mem::transmute::<*mut c_void, Mapper>(arg.mapper) };
    let mut handle = Handle::EMPTY;
    let (base, begin) = (arg.base as *mut c_void, arg.begin as *mut c_void);
    // SAFETY: as above.
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
    // SAFETY: null, or allocated by `grow`; nobody else has it.
    unsafe { allocator().free(handle.begin.cast()) };
    components
}
