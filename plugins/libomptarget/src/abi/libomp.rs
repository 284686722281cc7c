//! Functions of LLVM's `libomp`, looked up in the process. Programs without it, such as those of
//! rustc, do not need them.

use std::ffi::{CStr, c_int, c_void};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

use super::Ident;

/// The value of [`target_offload`] if everything runs on the host.
pub(crate) const OFFLOAD_DISABLED: c_int = 0;
/// The value of [`target_offload`] if nothing may run on the host.
pub(crate) const OFFLOAD_MANDATORY: c_int = 2;

/// The base address of the library with a function.
fn library_of(function: *const c_void) -> Option<*mut c_void> {
    let mut known = std::mem::MaybeUninit::<libc::Dl_info>::uninit();
    // SAFETY: the function looks any address up, and writes the result.
    let found = unsafe { libc::dladdr(function, known.as_mut_ptr()) };
    // SAFETY: it is written if the address belongs to a library.
    (found != 0).then(|| unsafe { known.assume_init() }.dli_fbase)
}

/// Whether it is one of this library's, which interpose some of libomp's.
fn is_own(function: *const c_void) -> bool {
    library_of(function) == library_of(library_of as fn(_) -> _ as *const c_void)
}

/// The first function `name` in the search that starts at `place`.
fn lookup(place: *mut c_void, name: &CStr) -> Option<*mut c_void> {
    // SAFETY: a C string; the search has no other conditions.
    let found = unsafe { libc::dlsym(place, name.as_ptr()) };
    (!found.is_null()).then_some(found)
}

/// Names of libomp: Debian's, and LLVM's own.
const NAMES: [&CStr; 2] = [c"libomp.so.5", c"libomp.so"];

/// libomp if it came with a library that was loaded locally, so that the process does not see its
/// symbols.
fn loaded_alone() -> impl Iterator<Item = *mut c_void> {
    let open = |name: &CStr| {
        // SAFETY: a C string; nothing new is loaded. It is not closed, since functions of the
        // library are kept.
        unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD) }
    };
    NAMES.into_iter().map(open).filter(|found| !found.is_null())
}

/// The process's function `name`, other than this library's own.
fn find(name: &CStr) -> Option<*mut c_void> {
    let visible = [libc::RTLD_DEFAULT, libc::RTLD_NEXT].into_iter();
    let mut places = visible.chain(loaded_alone());
    places.find_map(|place| lookup(place, name).filter(|&found| !is_own(found)))
}

/// Whether this library interposes libomp's function of this name.
pub(crate) fn is_interposed(name: &CStr) -> bool {
    lookup(libc::RTLD_DEFAULT, name).is_some_and(|found| is_own(found))
}

/// The number of events that may have loaded libomp.
static ARRIVALS: AtomicUsize = AtomicUsize::new(1);

/// Repeats failed lookups from now on.
pub(crate) fn retry_lookups() {
    // Relaxed: a number by itself, which each thread compares with an earlier value.
    ARRIVALS.fetch_add(1, Ordering::Relaxed);
}

/// One of libomp's functions. A failed lookup takes longer than a small launch, so it is cached
/// too, until libomp may have been loaded.
struct Function {
    address: AtomicPtr<c_void>,
    /// [`ARRIVALS`] at the last failed lookup.
    missed: AtomicUsize,
}

impl Function {
    const fn new() -> Self {
        Self {
            address: AtomicPtr::new(null_mut()),
            missed: AtomicUsize::new(0),
        }
    }

    fn get(&self, name: &CStr) -> Option<*mut c_void> {
        // Relaxed, all of them: the address of code, which the loader made visible before it could
        // be found, and independent numbers.
        let known = self.address.load(Ordering::Relaxed);
        if !known.is_null() {
            return Some(known);
        }
        let arrivals = ARRIVALS.load(Ordering::Relaxed);
        if self.missed.load(Ordering::Relaxed) == arrivals {
            return None;
        }
        let found = find(name);
        match found {
            Some(found) => self.address.store(found, Ordering::Relaxed),
            None => self.missed.store(arrivals, Ordering::Relaxed),
        }
        found
    }
}

/// Declares functions that look up libomp's functions of the given types.
macro_rules! functions {
    ($($(#[$doc:meta])* $name:ident: $symbol:literal, $type:ty;)*) => {$(
        $(#[$doc])*
        pub(crate) fn $name() -> Option<$type> {
            static FUNCTION: Function = Function::new();
            let found = FUNCTION.get($symbol)?;
            // SAFETY: libomp's function of this name has this type: see LLVM's `kmp.h`.
            Some(unsafe { std::mem::transmute::<*mut c_void, $type>(found) })
        }
    )*};
}

functions! {
    get_target_offload: c"__kmpc_get_target_offload", extern "C" fn() -> c_int;
    get_default_device: c"omp_get_default_device", extern "C" fn() -> c_int;
    global_thread_num: c"__kmpc_global_thread_num", extern "C" fn(*const Ident) -> i32;
    has_task_team: c"__kmpc_omp_has_task_team", extern "C" fn(i32) -> bool;
    /// The running task's own field for a handle.
    async_handle: c"__kmpc_omp_get_target_async_handle_ptr", extern "C" fn(i32) -> *mut *mut c_void;
    get_cancellation: c"omp_get_cancellation", extern "C" fn() -> c_int;
    task_alloc: c"__kmpc_omp_task_alloc",
        unsafe extern "C" fn(*const Ident, i32, i32, usize, usize, TaskEntry) -> *mut Task;
    target_task_alloc: c"__kmpc_omp_target_task_alloc",
        unsafe extern "C" fn(*const Ident, i32, i32, usize, usize, TaskEntry, i64) -> *mut Task;
    task_with_deps: c"__kmpc_omp_task_with_deps",
        unsafe extern "C" fn(*const Ident, i32, *mut Task, i32, *mut Dependence, i32, *mut Dependence) -> i32;
    taskwait_deps: c"__kmpc_omp_taskwait_deps_51",
        unsafe extern "C" fn(*const Ident, i32, i32, *mut Dependence, i32, *mut Dependence, i32);
    wait_deps: c"__kmpc_omp_wait_deps",
        unsafe extern "C" fn(*const Ident, i32, i32, *mut Dependence, i32, *mut Dependence);
}

/// The value of `OMP_TARGET_OFFLOAD`; `None` without libomp.
pub(crate) fn target_offload() -> Option<c_int> {
    get_target_offload().map(|get| get())
}

/// The number of the default device.
pub(crate) fn default_device() -> i64 {
    get_default_device().map_or(0, |get| i64::from(get()))
}

/// The handle of the running task; `None` outside a task that can be resumed.
pub(crate) fn task_handle() -> Option<*mut *mut c_void> {
    let thread = global_thread_num()?(std::ptr::null());
    if !has_task_team()?(thread) {
        return None;
    }
    let handle = async_handle()?(thread);
    (!handle.is_null()).then_some(handle)
}

/// A number that identifies a thread's running task (the address of its handle); 0 without
/// one.
pub(crate) fn task_id(thread: i32) -> usize {
    async_handle().map_or(0, |handle| handle(thread).addr())
}

/// Like [`task_id`], for this thread; `None` without libomp.
pub(crate) fn running_task_id() -> Option<usize> {
    Some(task_id(global_thread_num()?(std::ptr::null())))
}

/// The function of a task.
pub(crate) type TaskEntry = unsafe extern "C" fn(i32, *mut Task) -> i32;

/// The part of a task that its creator fills: `kmp_task_t`.
#[repr(C)]
pub(crate) struct Task {
    pub(crate) shareds: *mut c_void,
    pub(crate) routine: TaskEntry,
    part: i32,
    data: [u64; 2],
}

/// A dependence of a task: `kmp_depend_info_t`. libomp writes into lists of them: it merges
/// dependences on one address.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Dependence {
    pub(crate) address: i64,
    pub(crate) bytes: usize,
    pub(crate) flags: u8,
}

/// Flags of [`Dependence`].
pub(crate) const IN: u8 = 1;
pub(crate) const OUT: u8 = 2;
pub(crate) const MUTEX_IN_OUT_SET: u8 = 4;
pub(crate) const IN_OUT_SET: u8 = 8;
pub(crate) const ALL_MEMORY: u8 = 0x80;

/// Flags of tasks.
pub(crate) const TIED: i32 = 1;
pub(crate) const DETACHABLE: i32 = 1 << 6;
