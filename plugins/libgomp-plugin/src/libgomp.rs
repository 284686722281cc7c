//! libgomp's functions that are called here.
//!
//! They are looked up at run time, since the plugin is not built for a particular libgomp.

use std::ffi::{CString, c_char, c_int, c_void};
use std::sync::OnceLock;

use libloading::os::unix::{Library, RTLD_NOW, Symbol};

use crate::kind::kind;

/// `GOMP_PLUGIN_target_rev` of GCC 14 to 16: maps arguments, runs the function, copies back. The
/// last parameter is a queue for the copies, which may be null.
type TargetRev = unsafe extern "C" fn(
    func: u64,
    mapnum: u64,
    devaddrs: u64,
    sizes: u64,
    kinds: u64,
    dev_num: c_int,
    *mut c_void,
);

/// The same for GCC 13, with two callbacks for copies and their data, which may be null.
type TargetRev13 = unsafe extern "C" fn(
    func: u64,
    mapnum: u64,
    devaddrs: u64,
    sizes: u64,
    kinds: u64,
    dev_num: c_int,
    *mut c_void,
    *mut c_void,
    *mut c_void,
);

/// The available one of the two.
enum Reverse {
    Of13(Symbol<TargetRev13>),
    Of14(Symbol<TargetRev>),
}

/// The used functions of libgomp.
pub(crate) struct Libgomp {
    malloc: Symbol<unsafe extern "C" fn(usize) -> *mut c_void>,
    debug: Symbol<unsafe extern "C" fn(c_int, *const c_char, ...)>,
    error: Symbol<unsafe extern "C" fn(*const c_char, ...)>,
    fatal: Symbol<unsafe extern "C" fn(*const c_char, ...) -> !>,
    target_rev: Reverse,
    task_completion: Symbol<unsafe extern "C" fn(*mut c_void)>,
    /// `GOMP_VERSION` of it.
    version: u32,
}

/// The interface of GCC 13, the last before [`shared_abi::gomp::GOMP_VERSION`].
const GOMP_VERSION_13: u32 = 2;

impl Libgomp {
    fn find() -> Result<Self, libloading::Error> {
        // Finds the loaded library, even if its symbols are local.
        const RTLD_NOLOAD: c_int = libc::RTLD_NOLOAD;
        // SAFETY: it is loaded already, so nothing is initialised.
        let loaded = unsafe { Library::open(Some("libgomp.so.1"), RTLD_NOW | RTLD_NOLOAD) };
        let library = loaded.unwrap_or_else(|_| Library::this());
        const TARGET_REV: &[u8] = b"GOMP_PLUGIN_target_rev";
        // SAFETY: the types are those of `libgomp-plugin.h`, of this libgomp's version: the
        // function was added in GCC 14, like the interface.
        let found = unsafe {
            let is_14 = library
                .get::<*const c_void>(b"GOMP_target_map_indirect_ptr")
                .is_ok();
            let (version, target_rev) = match is_14 {
                true => {
                    let version = shared_abi::gomp::GOMP_VERSION;
                    (version, Reverse::Of14(library.get(TARGET_REV)?))
                }
                false => (GOMP_VERSION_13, Reverse::Of13(library.get(TARGET_REV)?)),
            };
            Self {
                malloc: library.get(b"GOMP_PLUGIN_malloc")?,
                debug: library.get(b"GOMP_PLUGIN_debug")?,
                error: library.get(b"GOMP_PLUGIN_error")?,
                fatal: library.get(b"GOMP_PLUGIN_fatal")?,
                target_rev,
                task_completion: library.get(b"GOMP_PLUGIN_target_task_completion")?,
                version,
            }
        };
        // libgomp has loaded this plugin, and stays loaded as long.
        std::mem::forget(library);
        Ok(found)
    }

    /// Runs the host function that belongs to the device function `func`.
    ///
    /// # Safety
    /// The arrays have `mapnum` entries each, where `GOMP_OFFLOAD_dev2host` finds them; or `mapnum`
    /// is 0, and `devaddrs` the address of the function's argument.
    pub(crate) unsafe fn target_rev(
        &self,
        func: u64,
        mapnum: u64,
        [devaddrs, sizes, kinds]: [u64; 3],
        dev_num: i32,
    ) {
        let none = std::ptr::null_mut();
        // SAFETY: the caller vouches for the arrays; each version gets its own parameters. Without
        // queue or callbacks libgomp copies by the plugin's functions.
        unsafe {
            match &self.target_rev {
                Reverse::Of14(call) => call(func, mapnum, devaddrs, sizes, kinds, dev_num, none),
                Reverse::Of13(call) => call(
                    func, mapnum, devaddrs, sizes, kinds, dev_num, none, none, none,
                ),
            }
        };
    }

    /// Reports to libgomp that the region of `task` has ended.
    ///
    /// # Safety
    /// `task` is a region's, whose end was not reported yet.
    pub(crate) unsafe fn task_completion(&self, task: *mut c_void) {
        // SAFETY: the caller vouches for the task.
        unsafe { (self.task_completion)(task) };
    }

    /// Memory that libgomp frees, for `count` values.
    pub(crate) fn malloc<T>(&self, count: usize) -> *mut T {
        // SAFETY: any size is allowed; the function ends the process if there is no memory.
        unsafe { (self.malloc)(count * size_of::<T>()) }.cast()
    }
}

/// The libgomp that has loaded this plugin; `None` in a process without libgomp.
fn found() -> Option<&'static Libgomp> {
    static FOUND: OnceLock<Option<Libgomp>> = OnceLock::new();
    FOUND.get_or_init(|| Libgomp::find().ok()).as_ref()
}

/// The libgomp that has loaded this plugin.
pub(crate) fn libgomp() -> &'static Libgomp {
    match found() {
        Some(libgomp) => libgomp,
        None => {
            say("this is a plugin of libgomp's, and there is no libgomp of GCC 13 or newer here");
            std::process::abort();
        }
    }
}

/// The version of its interface to plugins. A libgomp before GCC 13 gets the newest version, and
/// then ignores the plugin.
pub(crate) fn version() -> u32 {
    found().map_or(shared_abi::gomp::GOMP_VERSION, |libgomp| libgomp.version)
}

/// Prints a message without libgomp.
#[expect(clippy::print_stderr, reason = "there is no libgomp that would")]
fn say(message: &str) {
    let name = kind().name.to_string_lossy();
    eprintln!("\nlibgomp-plugin-{name}: {message}");
}

fn text(message: &str) -> CString {
    CString::new(message.replace('\0', " ")).unwrap_or_default()
}

/// Prints a message if `GOMP_DEBUG` is set.
pub fn debug(message: &str) {
    if let Some(libgomp) = found() {
        let line = text(&format!("{message}\n"));
        // SAFETY: a format and its one argument.
        unsafe { (libgomp.debug)(0, c"%s".as_ptr(), line.as_ptr()) };
    }
}

/// Reports an error; libgomp decides how to continue.
pub fn error(message: &str) {
    let Some(libgomp) = found() else {
        return say(message);
    };
    let line = text(message);
    // SAFETY: a format and its one argument.
    unsafe { (libgomp.error)(c"%s".as_ptr(), line.as_ptr()) };
}

/// Like [`error`], about the environment of all plugins: only the first plugin reports it.
pub(crate) fn error_of_all(message: &str) {
    if !another_is_loaded() {
        error(message);
    }
}

/// Whether our plugin for another kind of GPUs was loaded before this one. GCC's own plugins are
/// recognised by their functions for OpenACC.
fn another_is_loaded() -> bool {
    let others = [c"nvptx", c"gcn"].into_iter();
    others.filter(|&name| name != kind().name).any(|name| {
        let file = format!("libgomp-plugin-{}.so.1", name.to_string_lossy());
        // SAFETY: finds a loaded library, so nothing is initialised.
        let loaded = unsafe { Library::open(Some(&file), RTLD_NOW | libc::RTLD_NOLOAD) };
        loaded.is_ok_and(|library| {
            // SAFETY: the address is not used.
            let openacc = unsafe { library.get::<*const c_void>(b"GOMP_OFFLOAD_openacc_exec") };
            openacc.is_err()
        })
    })
}

/// Reports an error and ends the process, as libgomp does if a region cannot continue: the program
/// could not be notified.
pub(crate) fn fatal(message: &str) -> ! {
    let line = text(message);
    // SAFETY: a format and its one argument.
    unsafe { (libgomp().fatal)(c"%s".as_ptr(), line.as_ptr()) }
}
