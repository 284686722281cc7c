//! Simulated kernels. The stand-in cannot run AMD's instructions: a kernel of a compiler's code
//! object is replaced by a function of the kernel's name in the shared object that
//! `REVOFF_HSA_STAND_IN_KERNELS` names, written by hand beside the program. It is called once for
//! each wavefront, each on a separate thread, with the kernel's arguments.
//!
//! So these tests cover the host's side of such images, and not the device's code.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::thread;

use libloading::Library;

use crate::agent::gpu_agent;
use crate::placed::{Descriptor, Placed};
use crate::state::state;

/// The environment variable that names the shared object.
const LIBRARY: &str = "REVOFF_HSA_STAND_IN_KERNELS";

/// The argument of a simulated kernel, in C a `struct wave`.
#[repr(C)]
struct Wave {
    /// The memory of arguments.
    arguments: *mut c_void,
    team: u32,
    teams: u32,
    thread: u32,
    threads: u32,
    image: *const Placed,
    /// Returns the address of a variable of the image; null if there is none.
    find: unsafe extern "C" fn(*const Placed, *const c_char) -> *mut c_void,
    gpu: u32,
    /// Whether that GPU may use memory of this size, all of which must be allocated.
    may_use: extern "C" fn(u32, *const c_void, usize) -> c_int,
}

/// Returns 0, or another value for a trap.
type Function = unsafe extern "C" fn(*const Wave) -> c_int;

/// A kernel.
pub(crate) struct Kernel {
    pub(crate) image: Arc<Placed>,
    pub(crate) descriptor: Descriptor,
}

/// The parameters of a launch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Launch {
    /// The number of the GPU.
    pub(crate) gpu: usize,
    /// Work items of a team in each dimension.
    pub(crate) team: [u16; 3],
    /// Work items of the launch.
    pub(crate) grid: [u32; 3],
    /// Memory of a team.
    pub(crate) group: u32,
    pub(crate) arguments: *mut c_void,
}

/// Lanes of a wavefront.
const LANES: u16 = 64;

impl Kernel {
    /// Runs it, to its end.
    ///
    /// # Errors
    /// The error, or that it has trapped.
    ///
    /// # Safety
    /// The arguments are those of the kernel.
    pub(crate) unsafe fn run(&self, launch: Launch) -> Result<(), String> {
        let (teams, threads) = shape(launch)?;
        if launch.group < self.descriptor.group {
            return Err(format!(
                "{} bytes of a team's memory, where the kernel takes {}",
                launch.group, self.descriptor.group
            ));
        }
        let function = self.function()?;
        let arguments = launch.arguments.expose_provenance();
        let call = &|team, thread| {
            let wave = Wave {
                arguments: std::ptr::with_exposed_provenance_mut(arguments),
                team,
                teams,
                thread,
                threads,
                image: Arc::as_ptr(&self.image),
                find,
                gpu: launch.gpu as u32,
                may_use,
            };
            // SAFETY: a function of this type, as its author asserts; the caller promises the
            // arguments.
            unsafe { function(&raw const wave) }
        };
        let waves = (0..teams).flat_map(|team| (0..threads).map(move |thread| (team, thread)));
        let waves = waves.map(|wave| {
            let thread = thread::Builder::new().name("wavefront".to_owned());
            (thread, move || call(wave.0, wave.1))
        });
        match together(waves).map_err(|error| format!("no thread: {error}"))? {
            0 => Ok(()),
            many => Err(format!("{many} wavefronts have trapped")),
        }
    }

    /// The replacement for its code.
    fn function(&self) -> Result<Function, String> {
        let name = &self.descriptor.name;
        let symbol = CString::new(name.as_str()).map_err(|error| error.to_string())?;
        // SAFETY: a function of this name is a simulated kernel, as its author asserts.
        let function = unsafe { library()?.get::<Function>(symbol.as_bytes_with_nul()) };
        let function = function.map_err(|error| format!("it is not in {LIBRARY}: {error}"))?;
        Ok(*function)
    }
}

/// Runs wavefronts, each on a separate thread. Returns the number that trapped.
///
/// They may wait for each other, so none begins before all have threads.
fn together<F>(waves: impl Iterator<Item = (thread::Builder, F)>) -> io::Result<usize>
where
    F: FnOnce() -> c_int + Send,
{
    let gate = OnceLock::new();
    thread::scope(|scope| {
        let gate = &gate;
        let started = waves.map(|(thread, wave)| {
            thread.spawn_scoped(scope, move || if *gate.wait() { wave() } else { 0 })
        });
        let started: io::Result<Vec<_>> = started.collect();
        gate.get_or_init(|| started.is_ok());
        let ends = started?.into_iter().map(thread::ScopedJoinHandle::join);
        Ok(ends.filter(|end| !matches!(end, Ok(0))).count())
    })
}

/// The numbers of teams and of their wavefronts. GCC's device code takes the team from the first
/// dimension, its lane from the second and the wavefront from the third.
fn shape(launch: Launch) -> Result<(u32, u32), String> {
    let ([x, y, threads], [teams, lanes, depth]) = (launch.team, launch.grid);
    let is_gcc = (x, y) == (1, LANES) && lanes == u32::from(LANES);
    if !is_gcc || teams == 0 || threads == 0 || depth != u32::from(threads) {
        return Err(format!(
            "teams of {:?} in {:?}: GCC's code wants 1 by {LANES} by its threads",
            launch.team, launch.grid
        ));
    }
    Ok((teams, u32::from(threads)))
}

fn library() -> Result<&'static Library, String> {
    static OPENED: OnceLock<Result<Library, String>> = OnceLock::new();
    let opened = OPENED.get_or_init(|| {
        let path = std::env::var_os(LIBRARY).map(PathBuf::from);
        let path = path.ok_or_else(|| {
            format!(
                "the stand-in runs no code of a GPU's, and {LIBRARY} names no simulated kernels"
            )
        })?;
        // SAFETY: its initialisers are those of a shared object of tests.
        let library = unsafe { Library::new(path) };
        library.map_err(|error| format!("{LIBRARY}: {error}"))
    });
    opened.as_ref().map_err(Clone::clone)
}

/// # Safety
/// `image` is alive, and `name` a C string.
unsafe extern "C" fn find(image: *const Placed, name: *const c_char) -> *mut c_void {
    // SAFETY: the caller's promise; the launch holds the image.
    let (image, name) = unsafe { (&*image, CStr::from_ptr(name)) };
    let name = name.to_str().ok();
    let global = name.and_then(|name| image.variable(name));
    global.map_or(std::ptr::null_mut(), |global| {
        std::ptr::with_exposed_provenance_mut(global.address.0 as usize)
    })
}

extern "C" fn may_use(gpu: u32, address: *const c_void, size: usize) -> c_int {
    let agent = gpu_agent(gpu as usize);
    c_int::from(state().may_use(agent, address.addr() as u64, size))
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn launches_have_the_form_that_gccs_code_expects() {
        let launch = |team, grid| {
            shape(Launch {
                gpu: 0,
                team,
                grid,
                group: 0,
                arguments: std::ptr::null_mut(),
            })
        };
        assert_eq!(launch([1, 64, 8], [3, 64, 8]), Ok((3, 8)));
        for (team, grid) in [
            ([64, 8, 1], [192, 8, 1]),
            ([1, 64, 8], [3, 64, 16]),
            ([1, 64, 8], [3, 128, 8]),
            ([1, 32, 8], [3, 32, 8]),
            ([2, 64, 8], [4, 64, 8]),
            ([1, 64, 0], [3, 64, 0]),
            ([1, 64, 8], [0, 64, 8]),
        ] {
            let error = launch(team, grid).expect_err("another form");
            assert!(error.contains("1 by 64"), "{error}");
        }
    }
    #[test]
    fn no_wavefront_waits_for_one_that_cannot_begin() {
        let reached = AtomicUsize::new(0);
        let wave = || {
            reached.fetch_add(1, Ordering::AcqRel);
            while reached.load(Ordering::Acquire) < 3 {
                thread::yield_now();
            }
            0
        };
        let waves = |last: usize| {
            let stacks = [1 << 16, 1 << 16, last].into_iter();
            stacks.map(move |bytes| (thread::Builder::new().stack_size(bytes), wave))
        };
        // No machine can run this many.
        assert!(together(waves(1 << 62)).is_err());
        assert_eq!(reached.load(Ordering::Acquire), 0);
        assert_eq!(together(waves(1 << 16)).ok(), Some(0));
    }
}
