//! The functions that libgomp calls, with the names and parameters that it expects.
//!
//! libgomp looks them up one by one. Optional ones are left out: OpenACC's, those of
//! interoperability, and of special memory. A plugin exports a function for each, see
//! [`plugin!`](crate::plugin!).
#![expect(non_snake_case, reason = "the names are libgomp's")]

use std::ffi::{CString, c_char, c_int, c_uint, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};

use revoff_host::Chain;
use revoff_host::device::DeviceAddr;

use crate::error::{Error, Result};
use crate::keep_loaded;
use crate::kind::kind;
use crate::launch::Fault;
use crate::libgomp::{self, libgomp};
use crate::plugin::plugin;
use crate::region::Region;
use crate::requires;
use crate::reverse;
use crate::settings::{self, Nowait};

/// `GOMP_OFFLOAD_CAP_OPENMP_400`.
const CAP_OPENMP: c_uint = 1 << 2;

/// Runs `body`, and reports its error.
fn report_errors<R>(what: &str, body: impl FnOnce() -> Result<R>) -> Option<R> {
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(value)) => Some(value),
        Ok(Err(reason)) => {
            libgomp::error(&format!("{what}: {}", Chain(&reason)));
            None
        }
        // The panic's message is on the standard error already.
        Err(panic) => {
            std::mem::forget(panic);
            libgomp::error(&format!("{what}: {}", fault()));
            None
        }
    }
}

/// A description of a panic.
fn fault() -> String {
    format!("a fault of the plugin for {}", kind().gpus)
}

/// The version of libgomp's interface that this plugin implements: that of the loaded libgomp, of
/// GCC 13 to 16.
pub fn GOMP_OFFLOAD_version() -> c_uint {
    libgomp::version()
}

/// The name of the kind of devices.
pub fn GOMP_OFFLOAD_get_name() -> *const c_char {
    kind().name.as_ptr()
}

/// A unique name of the device, in memory that the caller frees.
pub fn GOMP_OFFLOAD_get_uid(ord: c_int) -> *const c_char {
    let name = usize::try_from(ord)
        .ok()
        .and_then(|ord| plugin().uid(ord))
        .and_then(|uid| CString::new(uid).ok());
    let Some(name) = name else {
        return std::ptr::null();
    };
    let bytes = name.as_bytes_with_nul();
    let copy: *mut u8 = libgomp().malloc(bytes.len());
    // SAFETY: libgomp allocated this many bytes.
    unsafe { copy.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
    copy.cast()
}

/// The capabilities of these devices.
pub fn GOMP_OFFLOAD_get_caps() -> c_uint {
    CAP_OPENMP
}

/// The type of images that these devices run.
pub fn GOMP_OFFLOAD_get_type() -> c_int {
    kind().image_type
}

/// The number of devices; -1 if there are some that lack a requirement of the program.
pub fn GOMP_OFFLOAD_get_num_devices(mask: c_uint) -> c_int {
    let count = report_errors("counting devices", || Ok(plugin().count())).unwrap_or(0);
    if count > 0
        && let Some(reason) = requires::missing(mask)
    {
        libgomp::debug(&reason);
        tracing::warn!("{reason}");
        return -1;
    }
    count as c_int
}

/// Opens a device.
pub fn GOMP_OFFLOAD_init_device(ord: c_int) -> bool {
    report_errors("opening a device", || {
        plugin().init(usize::try_from(ord).unwrap_or(usize::MAX))
    })
    .is_some()
}

/// Closes a device.
pub fn GOMP_OFFLOAD_fini_device(ord: c_int) -> bool {
    report_errors("closing a device", || {
        plugin().fini(usize::try_from(ord).unwrap_or(usize::MAX));
        Ok(())
    })
    .is_some()
}

/// Loads an image; returns the number of entries of the table, or -1.
///
/// # Safety
/// Only libgomp may call this.
pub unsafe fn GOMP_OFFLOAD_load_image(
    ord: c_int,
    version: c_uint,
    target_data: *const c_void,
    target_table: *mut *mut c_void,
    rev_fn_table: *mut *mut u64,
    host_ind_fn_table: *const u64,
) -> c_int {
    let loaded = report_errors("loading an image", || {
        let opened = plugin().opened(ord)?;
        // SAFETY: libgomp's arguments are those of `GOMP_OFFLOAD_load_image`, which `load` expects.
        let tables = unsafe { opened.load(version, target_data, host_ind_fn_table) };
        let tables = tables.map_err(|error| Error::NotLoaded(Box::new(error)))?;
        // SAFETY: libgomp's pointers to its variables for the tables.
        unsafe {
            target_table.write(to_libgomp(&tables.target).cast());
            if !rev_fn_table.is_null() {
                rev_fn_table.write(to_libgomp(&tables.reverse));
            }
        }
        Ok(tables.target.len() as c_int)
    });
    loaded.unwrap_or(-1)
}

/// The values in memory that libgomp frees; null if there are none.
fn to_libgomp<T: Copy>(values: &[T]) -> *mut T {
    if values.is_empty() {
        return std::ptr::null_mut();
    }
    let copy = libgomp().malloc(values.len());
    // SAFETY: libgomp allocated room for all values.
    unsafe { std::ptr::copy_nonoverlapping(values.as_ptr(), copy, values.len()) };
    copy
}

/// Unloads an image. See `keep_loaded`: it is called only if no library was kept.
pub fn GOMP_OFFLOAD_unload_image(ord: c_int, _version: c_uint, target_data: *const c_void) -> bool {
    report_errors("unloading an image", || {
        let images = plugin().opened(ord)?.images();
        Ok(images.iter().any(|image| image.is_at(target_data)))
    })
    .unwrap_or(false)
}

/// Allocates device memory.
pub fn GOMP_OFFLOAD_alloc(ord: c_int, size: usize) -> *mut c_void {
    let address = report_errors("allocating device memory", || {
        let device = plugin().device(ord)?;
        device.note_used();
        Ok(device.alloc(size as u64)?)
    });
    std::ptr::without_provenance_mut(address.unwrap_or(0) as usize)
}

/// Frees device memory.
pub fn GOMP_OFFLOAD_free(ord: c_int, ptr: *mut c_void) -> bool {
    report_errors("freeing device memory", || {
        if plugin().device(ord)?.free(ptr.addr() as u64) {
            return Ok(());
        }
        Err(Error::NotAllocated(ptr.addr()))
    })
    .is_some()
}

/// Copies from the device.
///
/// # Safety
/// `dst` is writable for `n` bytes.
pub unsafe fn GOMP_OFFLOAD_dev2host(
    ord: c_int,
    dst: *mut c_void,
    src: *const c_void,
    n: usize,
) -> bool {
    report_errors("copying from the device", || {
        let (to, from) = (dst.cast::<u8>(), src.addr() as u64);
        // SAFETY: the caller promises that `to` is writable for `n` bytes.
        if let Some(served) = unsafe { reverse::read(ord, to, from, n) } {
            return served;
        }
        // SAFETY: the caller promises that `to` is writable for `n` bytes; the copy is waited for.
        let copied = plugin()
            .device(ord)?
            .copy(|queue| unsafe { queue.copy_from_device(to, DeviceAddr(from), n) });
        Ok(copied?)
    })
    .is_some()
}

/// Copies to the device.
///
/// # Safety
/// `src` is readable for `n` bytes.
pub unsafe fn GOMP_OFFLOAD_host2dev(
    ord: c_int,
    dst: *mut c_void,
    src: *const c_void,
    n: usize,
) -> bool {
    report_errors("copying to the device", || {
        let (to, from) = (dst.addr() as u64, src.cast::<u8>());
        // SAFETY: the caller promises that `from` is readable for `n` bytes.
        if let Some(served) = unsafe { reverse::write(ord, to, from, n) } {
            return served;
        }
        let device = plugin().device(ord)?;
        // SAFETY: the caller promises that `from` is readable for `n` bytes; the copy is waited
        // for.
        device.copy(|queue| unsafe { queue.copy_to_device(DeviceAddr(to), from, n) })?;
        if n >= size_of::<i32>() {
            // SAFETY: the caller promises that `from` is readable for `n` bytes, which is at least
            // 4.
            device.note_written(DeviceAddr(to), unsafe {
                from.cast::<i32>().read_unaligned()
            });
        }
        Ok(())
    })
    .is_some()
}

/// Copies on the device.
pub fn GOMP_OFFLOAD_dev2dev(ord: c_int, dst: *mut c_void, src: *const c_void, n: usize) -> bool {
    report_errors("copying on the device", || {
        let (to, from) = (DeviceAddr(dst.addr() as u64), DeviceAddr(src.addr() as u64));
        let device = plugin().device(ord)?;
        Ok(device.copy(|queue| queue.copy_on_device(to, from, n))?)
    })
    .is_some()
}

/// Sets bytes on the device.
pub fn GOMP_OFFLOAD_memset(ord: c_int, ptr: *mut c_void, val: c_int, n: usize) -> bool {
    /// Bytes copied at a time.
    const CHUNK: usize = 1 << 20;
    report_errors("setting device memory", || {
        let to = DeviceAddr(ptr.addr() as u64);
        let bytes = vec![val as u8; n.min(CHUNK)];
        let device = plugin().device(ord)?;
        let copied = device.copy(|queue| {
            for at in (0..n).step_by(CHUNK) {
                let len = CHUNK.min(n - at);
                // SAFETY: `bytes` outlives the copies.
                unsafe { queue.copy_to_device(to + at as u64, bytes.as_ptr(), len)? };
            }
            Ok(())
        });
        Ok(copied?)
    })
    .is_some()
}

/// Whether a kernel may access the memory at an address; libgomp calls this since GCC 16.
pub fn GOMP_OFFLOAD_is_accessible_ptr(ord: c_int, ptr: *const c_void, size: usize) -> c_int {
    let is_there = report_errors("looking for memory", || {
        Ok(plugin()
            .device(ord)?
            .is_memory(ptr.addr() as u64, size as u64))
    });
    c_int::from(is_there.unwrap_or(false))
}

/// Whether a device can run a function: it can run all that it has loaded.
pub fn GOMP_OFFLOAD_can_run(_function: *mut c_void) -> bool {
    true
}

/// Starts a target region.
///
/// # Safety
/// Only libgomp may call this.
unsafe fn start(
    ord: c_int,
    tgt_fn: *mut c_void,
    tgt_vars: *mut c_void,
    args: *mut *mut c_void,
) -> Result<Region> {
    let opened = plugin().opened(ord)?;
    opened.device.note_used();
    keep_loaded::keep_all();
    // SAFETY: the caller vouches for libgomp's function, variables and arguments.
    unsafe { Region::start(&opened, tgt_fn, tgt_vars, args.cast_const().cast()) }
}

/// Runs a target region to its end.
///
/// # Safety
/// Only libgomp may call this.
pub unsafe fn GOMP_OFFLOAD_run(
    ord: c_int,
    tgt_fn: *mut c_void,
    tgt_vars: *mut c_void,
    args: *mut *mut c_void,
) {
    let run = catch_unwind(AssertUnwindSafe(|| {
        // SAFETY: libgomp passes the function, variables and arguments of one region.
        let region = unsafe { start(ord, tgt_fn, tgt_vars, args)? };
        region.wait()
    }));
    end(run);
}

/// Starts a target region, and reports its end to libgomp: before this returns, if `nowait` is
/// synchronous.
///
/// # Safety
/// Only libgomp may call this.
pub unsafe fn GOMP_OFFLOAD_async_run(
    ord: c_int,
    tgt_fn: *mut c_void,
    tgt_vars: *mut c_void,
    args: *mut *mut c_void,
    async_data: *mut c_void,
) {
    /// libgomp's handle of the region's task.
    struct Task(*mut c_void);
    // SAFETY: only libgomp dereferences it, and it accepts it from any thread.
    unsafe impl Send for Task {}
    let task = Task(async_data);
    if settings::nowait() == Nowait::Sync {
        // SAFETY: libgomp passes the arguments of one region, and its task, whose end is reported
        // once; libgomp expects that the region may have ended when this returns.
        unsafe {
            GOMP_OFFLOAD_run(ord, tgt_fn, tgt_vars, args);
            libgomp().task_completion(task.0);
        }
        return;
    }
    let started = catch_unwind(AssertUnwindSafe(|| {
        // SAFETY: libgomp passes the function, variables and arguments of one region.
        let region = unsafe { start(ord, tgt_fn, tgt_vars, args)? };
        let waiting = std::thread::Builder::new().name(format!("region of device {ord}"));
        let waiting = waiting.spawn(move || {
            // Captures the whole struct, since the pointer alone is not `Send`.
            let task = task;
            end(catch_unwind(AssertUnwindSafe(|| region.wait())));
            // SAFETY: the region's task, whose end is reported once.
            unsafe { libgomp().task_completion(task.0) };
        });
        drop(waiting.map_err(Error::Thread)?);
        Ok(())
    }));
    end(started);
}

/// Ends the process, as device code has requested.
#[expect(clippy::exit, reason = "it is the program that calls it")]
fn exit(status: i32) -> ! {
    std::process::exit(status)
}

/// Ends the process if a region failed.
fn end(result: std::thread::Result<Result<(), Fault>>) {
    if plugin().is_finished() && !matches!(result, Ok(Ok(()))) {
        // Another thread's `exit` is ending the process already.
        loop {
            std::thread::park();
        }
    }
    match result {
        Ok(Ok(())) => {}
        Ok(Err(Fault::Failed(error))) => libgomp::fatal(&Chain(&error).to_string()),
        Ok(Err(Fault::Exited(status))) => exit(status),
        Ok(Err(fault @ Fault::Aborted { .. })) => {
            libgomp::error(&Chain(&fault).to_string());
            std::process::abort();
        }
        Err(panic) => {
            std::mem::forget(panic);
            libgomp::fatal(&fault());
        }
    }
}
