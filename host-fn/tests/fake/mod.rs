//! A device runtime and a host in one: maps by copying, calls what is bound.
#![allow(dead_code, reason = "no test uses all of it")]

use std::cell::RefCell;
use std::ffi::{c_int, c_uint, c_void};

use revoff_fn::{Failure, HostFunction, RawArg};
use shared_abi::gomp::{GOMP_DEVICE_HOST_FALLBACK, REVOFF_FLAG_ARGS_ONLY, REVOFF_FLAG_STATUS};
use shared_abi::map_kind::MapKind;
use shared_abi::status::Status;

/// How the device runtime behaves.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Runtime {
    /// Ours: answers and reports a status.
    Reports,
    /// GCC's: answers, ignores `flags` and `args`.
    ReportsNothing,
    /// Answers nothing and reports this.
    Refuses(Status),
    /// Answers nothing, reports nothing.
    Silent,
}

/// An argument as it came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) size: usize,
    pub(crate) kind: MapKind,
    pub(crate) null: bool,
}

struct World {
    runtime: Runtime,
    function: Option<Box<dyn HostFunction>>,
    word: usize,
    seen: Vec<Seen>,
    message: String,
    failure: Option<Failure>,
}

thread_local! {
    static WORLD: RefCell<World> = const {
        RefCell::new(World {
            runtime: Runtime::Silent,
            function: None,
            word: 0,
            seen: Vec::new(),
            message: String::new(),
            failure: None,
        })
    };
}

/// Sets up this thread's host, with `function`.
pub(crate) fn host(runtime: Runtime, function: impl HostFunction) {
    WORLD.with_borrow_mut(|world| {
        world.runtime = runtime;
        world.function = Some(Box::new(function));
        world.message.clear();
        world.failure = None;
    });
}

/// The function word of the last call.
pub(crate) fn word() -> usize {
    WORLD.with_borrow(|world| world.word)
}

/// The arguments of the last call.
pub(crate) fn seen() -> Vec<Seen> {
    WORLD.with_borrow(|world| world.seen.clone())
}

/// The message of the last call's host function.
pub(crate) fn message() -> String {
    WORLD.with_borrow(|world| world.message.clone())
}

/// The failure of the last call.
pub(crate) fn failure() -> Option<Failure> {
    WORLD.with_borrow(|world| world.failure)
}

/// Zeroed host memory, aligned for everything that the tests map.
fn host_memory(size: usize) -> Vec<u128> {
    vec![0; size.div_ceil(16)]
}

// SAFETY: no other function of this name is linked into a test.
#[unsafe(no_mangle)]
unsafe extern "C" fn GOMP_target_ext(
    device: c_int,
    func: *mut c_void,
    mapnum: usize,
    hostaddrs: *mut *mut c_void,
    sizes: *mut usize,
    kinds: *mut u16,
    flags: c_uint,
    depend: *mut *mut c_void,
    args: *mut *mut c_void,
) {
    assert_eq!(device, GOMP_DEVICE_HOST_FALLBACK);
    assert_eq!(flags, REVOFF_FLAG_STATUS | REVOFF_FLAG_ARGS_ONLY);
    assert!(depend.is_null());
    let status = args.cast::<u32>();
    // SAFETY: the three arrays have `mapnum` elements, as GCC's interface requires.
    let (addresses, sizes, kinds) = unsafe {
        (
            std::slice::from_raw_parts(hostaddrs.cast_const().cast::<*mut u8>(), mapnum),
            std::slice::from_raw_parts(sizes, mapnum),
            std::slice::from_raw_parts(kinds, mapnum),
        )
    };
    // SAFETY: with `REVOFF_FLAG_STATUS`, `args` is a `u32`.
    assert_eq!(unsafe { status.read() }, Status::NONE.0);

    WORLD.with_borrow_mut(|world| {
        world.word = func.addr();
        world.seen = (0..mapnum)
            .map(|n| Seen {
                size: sizes[n],
                kind: MapKind(kinds[n]),
                null: addresses[n].is_null(),
            })
            .collect();
        let outcome = match world.runtime {
            Runtime::Silent => return,
            Runtime::Refuses(status) => status,
            Runtime::Reports | Runtime::ReportsNothing => {
                let mut memory: Vec<_> = sizes.iter().map(|size| host_memory(*size)).collect();
                let raw: Vec<_> = (0..mapnum)
                    .map(|n| {
                        let kind = MapKind(kinds[n]);
                        let mut ptr = memory[n].as_mut_ptr().cast::<u8>();
                        if kind.base() == MapKind::FIRSTPRIVATE_INT.0 {
                            ptr = addresses[n];
                        } else if kind.reads_device() {
                            // SAFETY: `sizes[n]` bytes are at the address, by the entry's kind.
                            unsafe { ptr.copy_from(addresses[n], sizes[n]) };
                        }
                        RawArg {
                            ptr,
                            size: sizes[n] as u64,
                            kind,
                        }
                    })
                    .collect();
                let function = world.function.as_ref().expect("a function is bound");
                // SAFETY: each `ptr` has `size` bytes of its own, all initialised.
                let result = unsafe { function.call(&raw, &mut world.message) };
                world.failure = result.err();
                match result {
                    Ok(()) => {
                        for n in 0..mapnum {
                            if MapKind(kinds[n]).writes_device() {
                                // SAFETY: `sizes[n]` bytes are at the address, writable by the
                                // entry's kind.
                                unsafe { addresses[n].copy_from(raw[n].ptr, sizes[n]) };
                            }
                        }
                        Status::DONE
                    }
                    Err(Failure::BadArguments(_)) => Status::REFUSED_MAPPING,
                    Err(Failure::Function) => Status::FUNCTION_FAILED,
                }
            }
        };
        if world.runtime != Runtime::ReportsNothing {
            // SAFETY: only `Runtime::ReportsNothing` ignores the flag; with it, `args` points to a
            // `u32`.
            unsafe { status.write(outcome.0) };
        }
    });
}
