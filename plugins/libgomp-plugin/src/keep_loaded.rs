//! Keeps shared objects with images loaded.
//!
//! libgomp cannot forget an image with functions that the device calls: `dlclose` of one of two
//! such libraries ends the process with an assertion, or breaks the look-up of all functions (GCC
//! 13 to 16). So a library with an image stays loaded, which POSIX allows `dlclose` to do: its
//! memory and its variables stay, and its destructors run at the end of the process.
//!
//! libgomp loads an image while it holds its lock of the device. In a constructor of the library,
//! the thread has the loader's lock already. At the first use of the device, another thread may be
//! in such a constructor and wait for libgomp's lock: then the loader must not be called before
//! libgomp's lock is free.
//!
//! In that case a separate thread calls the loader, and also the next thread that starts a target
//! region, before the region: libgomp holds no lock then, and a program that closes a library after
//! its region has ended closes one that stays. A second call to the loader has no effect. A thread
//! whose region is the first waits for constructors that run in another thread. That causes no
//! deadlock: a constructor that waited for a region would never end in any case, since new threads
//! need the loader's lock, too.

use std::ffi::{CStr, CString, c_int, c_void};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// When the loader may be called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum When {
    /// At once: the thread runs a constructor.
    Now,
    /// When this thread holds no lock of libgomp's: see [`keep_all`].
    Later,
}

/// Paths of libraries still to be kept.
#[derive(Default)]
struct Waiting {
    paths: Mutex<Vec<String>>,
    /// Whether there may be some.
    some: AtomicBool,
}

static WAITING: Waiting = Waiting {
    paths: Mutex::new(Vec::new()),
    some: AtomicBool::new(false),
};

impl Waiting {
    /// No panic leaves the list inconsistent.
    fn lock(&self) -> MutexGuard<'_, Vec<String>> {
        self.paths.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, path: String) {
        let mut paths = self.lock();
        paths.push(path);
        // Relaxed: changed with the list locked. A thread that reads it without the lock runs a
        // region of the image, which libgomp's lock of the device orders after the loading.
        self.some.store(true, Ordering::Relaxed);
    }

    /// Calls `keep` for all of them. They are removed only afterwards, so that other threads do not
    /// miss them; and the list is unlocked meanwhile, since `keep` may wait for a constructor,
    /// which may wait for a thread that loads an image.
    fn keep(&self, keep: impl Fn(&str)) {
        // Relaxed: see `add`.
        if !self.some.load(Ordering::Relaxed) {
            return;
        }
        let kept = self.lock().clone();
        for path in &kept {
            keep(path);
        }
        let mut paths = self.lock();
        paths.retain(|path| !kept.contains(path));
        // Relaxed: see `add`.
        self.some.store(!paths.is_empty(), Ordering::Relaxed);
    }
}

/// Keeps the object with `data` loaded until the process ends. Returns its name, for messages.
pub(crate) fn keep_loaded(data: *const c_void, when: When) -> String {
    let Some(path) = object_of(data.addr()) else {
        let program = std::env::args().next().unwrap_or_default();
        return last_part(&program).to_owned();
    };
    let name = last_part(&path).to_owned();
    match when {
        When::Now => keep(&path),
        When::Later => {
            WAITING.add(path);
            // For programs that start no region before they close the library.
            let thread = std::thread::Builder::new().name("keep loaded".to_owned());
            if let Err(error) = thread.spawn(keep_all) {
                tracing::warn!(%error, name, "a library with an image must not be closed");
            }
        }
    }
    name
}

/// Keeps all pending libraries; for a thread that holds no lock of libgomp's.
pub(crate) fn keep_all() {
    WAITING.keep(keep);
}

fn last_part(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// The shared object that contains `address`. The loader's list has its own lock, which is not held
/// while constructors run.
fn object_of(address: usize) -> Option<String> {
    /// The address, and the object that contains it.
    struct Search {
        address: usize,
        found: Option<String>,
    }
    unsafe extern "C" fn visit(
        info: *mut libc::dl_phdr_info,
        _size: usize,
        search: *mut c_void,
    ) -> c_int {
        // SAFETY: the loader's description of an object, and our own structure, both for the
        // time of this call.
        let (info, search) = unsafe { (&*info, &mut *search.cast::<Search>()) };
        // SAFETY: the object's headers, with their number.
        let headers = unsafe { std::slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum.into()) };
        let is_in = headers.iter().any(|header| {
            let start = info.dlpi_addr.wrapping_add(header.p_vaddr) as usize;
            let offset = search.address.wrapping_sub(start);
            header.p_type == libc::PT_LOAD && offset < header.p_memsz as usize
        });
        if is_in && !info.dlpi_name.is_null() {
            // SAFETY: a C string of the loader's.
            let name = unsafe { CStr::from_ptr(info.dlpi_name) };
            search.found = Some(name.to_string_lossy().into_owned());
        }
        c_int::from(is_in)
    }
    let mut search = Search {
        address,
        found: None,
    };
    // SAFETY: the callback has the right type, and gets its own structure.
    unsafe { libc::dl_iterate_phdr(Some(visit), (&raw mut search).cast()) };
    // The program itself has no name there.
    search.found.filter(|name| !name.is_empty())
}

fn keep(path: &str) {
    let Ok(path) = CString::new(path) else {
        return;
    };
    let flags = libc::RTLD_LAZY | libc::RTLD_NOLOAD | libc::RTLD_NODELETE;
    // SAFETY: the library is loaded already, so nothing is initialised. The main program is not
    // found by its name, and does not need it.
    let handle = unsafe { libc::dlopen(path.as_ptr(), flags) };
    if !handle.is_null() {
        // SAFETY: just opened; not being deleted is a property of the object.
        unsafe { libc::dlclose(handle) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_comes_while_something_is_kept_waits_for_it_too() {
        let waiting = Waiting::default();
        let kept = Mutex::new(Vec::new());
        let keep = |path: &str| kept.lock().unwrap().push(path.to_owned());
        waiting.keep(keep);
        waiting.add("a".to_owned());
        waiting.keep(|path| {
            // Another thread keeps at the same time, and a path is added.
            waiting.keep(keep);
            waiting.add("b".to_owned());
            keep(path);
        });
        assert_eq!(*kept.lock().unwrap(), ["a", "a"]);
        waiting.keep(keep);
        waiting.keep(keep);
        assert_eq!(*kept.lock().unwrap(), ["a", "a", "b"]);
    }

    #[test]
    fn objects_are_found_by_what_is_in_them() {
        // Objects of the C library and of this program.
        let there = object_of(libc::dl_iterate_phdr as *const () as usize).unwrap();
        assert!(
            there.starts_with('/') && there.contains("libc.so"),
            "{there}"
        );
        assert_eq!(object_of(object_of as *const () as usize), None);
        assert_eq!(object_of(0), None);
    }
}
