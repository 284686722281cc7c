//! Keeping shared objects with images loaded.
//!
//! libgomp cannot forget an image with functions that the device calls: `dlclose` of one
//! of two such libraries ends the process at an assertion, and where it does not, nobody's
//! functions are found any more (GCC 13 to 16). So a library with an image stays, which
//! POSIX allows `dlclose` to do: its memory, its variables, and its destructors' turn at
//! the end of the process.
//!
//! libgomp loads an image with its lock of the device held. Where that is in a constructor
//! of the library, the thread has the loader's lock already. Where it is because the device
//! is used for the first time, another thread may be in such a constructor and wait for
//! libgomp's lock: the loader is then not to be asked before libgomp's lock is free.

use std::ffi::{CString, c_void};
use std::fs::read_to_string;

/// Where the loader may be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum When {
    /// At once: the thread is in a constructor.
    Now,
    /// By a thread that nobody waits for.
    Later,
}

/// Keeps the object that `data` is in until the process ends; its name, for messages.
pub(crate) fn pin(data: *const c_void, when: When) -> String {
    let Some(path) = file_of(data.addr()) else {
        return "the program".to_owned();
    };
    let name = path.rsplit('/').next().unwrap_or(&path).to_owned();
    match when {
        When::Now => keep(&path),
        When::Later => {
            let thread = std::thread::Builder::new().name("libgomp pin".to_owned());
            if let Err(error) = thread.spawn(move || keep(&path)) {
                tracing::warn!(%error, name, "a library with an image must not be closed");
            }
        }
    }
    name
}

/// The file that is mapped at `address`, asked of the system: the loader has a lock.
fn file_of(address: usize) -> Option<String> {
    let maps = read_to_string("/proc/self/maps").ok()?;
    maps.lines().find_map(|line| {
        let (range, rest) = line.split_once(' ')?;
        let (start, end) = range.split_once('-')?;
        let start = usize::from_str_radix(start, 16).ok()?;
        let end = usize::from_str_radix(end, 16).ok()?;
        // Four more fields, and the path, which may have blanks.
        let path = rest.splitn(5, ' ').nth(4)?.trim_start();
        ((start..end).contains(&address) && path.starts_with('/')).then(|| path.to_owned())
    })
}

fn keep(path: &str) {
    let Ok(path) = CString::new(path) else {
        return;
    };
    let flags = libc::RTLD_LAZY | libc::RTLD_NOLOAD | libc::RTLD_NODELETE;
    // SAFETY: it is loaded already, so nothing is initialised. The main program is not
    // found by its name, and need not be.
    let handle = unsafe { libc::dlopen(path.as_ptr(), flags) };
    if !handle.is_null() {
        // SAFETY: just opened; that it is not deleted is a property of the object.
        unsafe { libc::dlclose(handle) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_of_an_address_is_found() {
        let this = file_of(std::ptr::from_ref(&file_of).addr()).or_else(|| {
            // A constant may lie in a segment of the file, a function does.
            file_of(file_of as *const () as usize)
        });
        let path = std::env::current_exe().unwrap();
        assert_eq!(this.as_deref(), path.to_str());
        let local = 0u8;
        assert_eq!(file_of(std::ptr::from_ref(&local).addr()), None);
    }
}
