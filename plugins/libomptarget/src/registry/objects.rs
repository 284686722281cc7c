//! The functions that the objects of a process export.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::mem;

use revoff_host::RawFunction;

/// The objects of a process whose functions an image may call, each by an address in it: the one
/// that registered the image, and the executable.
#[derive(Clone, Copy)]
pub(crate) struct Objects {
    own: usize,
    executable: usize,
}

impl Objects {
    pub(super) fn of(descriptor: usize) -> Self {
        Self {
            own: descriptor,
            // SAFETY: reads the auxiliary vector.
            executable: unsafe { libc::getauxval(libc::AT_PHDR) } as usize,
        }
    }

    /// The function of this name, preferably of the registering object. Functions of other
    /// libraries, such as libc's, do not count.
    pub(super) fn function(self, name: &str) -> Option<RawFunction> {
        let name = CString::new(name).ok()?;
        let found = [self.own, self.executable].into_iter().find_map(|inside| {
            let base = SymbolLocation::of(inside)?.base;
            let found = symbol(inside, inside == self.executable, &name)?;
            (SymbolLocation::of(found.addr())?.base == base).then_some(found)
        })?;
        // SAFETY: a symbol of the program by the name of a function that its device code calls is
        // that function, which has this type.
        Some(unsafe { mem::transmute::<*const c_void, RawFunction>(found) })
    }

    /// Whether they export a function that begins at `address`.
    pub(crate) fn export(self, address: usize) -> bool {
        let bases =
            [self.own, self.executable].map(|inside| SymbolLocation::of(inside).map(|at| at.base));
        SymbolLocation::of(address).is_some_and(|location| {
            location.function == address && bases.contains(&Some(location.base))
        })
    }

    /// Their names for messages.
    pub(super) fn name(self) -> String {
        let own =
            SymbolLocation::of(self.own).map_or_else(|| "the program".to_owned(), |own| own.file);
        match SymbolLocation::of(self.executable) {
            Some(executable) if executable.file != own => format!("{own} or {}", executable.file),
            _ => own,
        }
    }
}

/// The dynamic linker's information about an address.
struct SymbolLocation {
    /// The base address of its object, and the object's file.
    base: usize,
    file: String,
    /// The begin of its exported function; 0 without one.
    function: usize,
}

impl SymbolLocation {
    fn of(address: usize) -> Option<Self> {
        // SAFETY: a structure of pointers, for which zeros are valid.
        let mut info: libc::Dl_info = unsafe { mem::zeroed() };
        let mut symbol: *const libc::Elf64_Sym = std::ptr::null();
        // SAFETY: any address is allowed; the results are locals, and `SYMBOL` asks for a value of
        // the second one's type.
        let found = unsafe {
            dladdr1(
                address as *const c_void,
                &raw mut info,
                (&raw mut symbol).cast(),
                SYMBOL,
            )
        };
        // SAFETY: null, or the linker's symbol of an object that is in use.
        let is_function = unsafe { symbol.as_ref() }.is_some_and(|it| it.st_info & 0xf == FUNCTION);
        (found != 0).then(|| Self {
            base: info.dli_fbase.addr(),
            // SAFETY: null, or the linker's C string for an object that is in use.
            file: unsafe { text(info.dli_fname) },
            function: if is_function {
                info.dli_saddr.addr()
            } else {
                0
            },
        })
    }
}

/// ELF's type of a symbol that is a function.
const FUNCTION: u8 = 2;

/// Makes `dladdr1` return the symbol: glibc's `RTLD_DL_SYMENT`.
const SYMBOL: c_int = 1;

unsafe extern "C" {
    /// `dladdr`, and the symbol if there is one.
    fn dladdr1(
        address: *const c_void,
        info: *mut libc::Dl_info,
        extra: *mut *mut c_void,
        flags: c_int,
    ) -> c_int;
}

/// # Safety
/// A C string, or null.
unsafe fn text(text: *const c_char) -> String {
    if text.is_null() {
        return String::new();
    }
    // SAFETY: the caller's promise.
    let text = unsafe { CStr::from_ptr(text) };
    text.to_string_lossy().into_owned()
}

/// The export `name` of the object with the address `inside`, or of its dependencies.
fn symbol(inside: usize, is_executable: bool, name: &CStr) -> Option<*const c_void> {
    let file = CString::new(SymbolLocation::of(inside)?.file).ok()?;
    let file = match is_executable {
        true => std::ptr::null(),
        false => file.as_ptr(),
    };
    const LOADED: c_int = libc::RTLD_LAZY | libc::RTLD_NOLOAD;
    // SAFETY: a C string, or null for the executable; nothing new is loaded.
    let object = unsafe { libc::dlopen(file, LOADED) };
    if object.is_null() {
        return None;
    }
    // SAFETY: an open object and a C string.
    let found = unsafe { libc::dlsym(object, name.as_ptr()) };
    // SAFETY: opened above; it stays loaded.
    unsafe { libc::dlclose(object) };
    (!found.is_null()).then_some(found.cast_const())
}
