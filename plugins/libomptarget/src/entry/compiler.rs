//! The functions that compilers call: `__tgt_*`.

#![allow(clippy::too_many_arguments, reason = "signatures of LLVM's runtime")]

use std::ffi::{c_int, c_void};
use std::sync::Once;

use crate::abi::{BinaryDescription, Ident, KernelArgs, Name};
use crate::args::mapper::{Component, Handle};
use crate::args::{Args, info, literals};
use crate::device::Device;
use crate::device::stream::Stream;
use crate::mapping::map::{self, MapBatch};
use crate::mapping::{unmap, update};
use crate::region;
use crate::registry::{self, construct};
use crate::report::message::{self, Failed};
use crate::report::profile;
use crate::settings::{self, Info};
use crate::task::{depend, pending};

/// Shows the libraries' log, if the environment requests it.
fn show_log() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        if let Err(error) = revoff_log::show(None) {
            message::error(&format!("{error}; the log is not shown"));
        }
    });
}

/// Registers a program or a library.
///
/// # Safety
/// A compiler made the descriptor, which stays valid until it is unregistered.
#[unsafe(no_mangle)]
unsafe extern "C" fn __tgt_register_lib(descriptor: *const BinaryDescription) {
    show_log();
    // SAFETY: the caller's promise is that of `register`.
    unsafe { registry::register(descriptor) };
}

#[unsafe(no_mangle)]
extern "C" fn __tgt_unregister_lib(descriptor: *const BinaryDescription) {
    unregister(descriptor);
}

/// Unregisters a descriptor; with null, an explicit start of the runtime.
fn unregister(descriptor: *const BinaryDescription) {
    let removed = registry::unregister(descriptor);
    // The functions of its tasks are unloaded with it.
    depend::forget_routines();
    if removed.is_last {
        depend::report_stats();
        if settings::info().has(Info::TABLES) {
            construct::dump_at_end();
        }
        profile::write();
    }
    removed.forget();
}

#[unsafe(no_mangle)]
extern "C" fn __tgt_register_requires(_flags: i64) {
    message::message(
        "The void __tgt_register_requires(int64_t) function has been removed. Old OpenMP requirements \
         will not be handled",
    );
}

#[unsafe(no_mangle)]
extern "C" fn __tgt_init_all_rtls() {
    registry::add_all_devices();
}

#[unsafe(no_mangle)]
extern "C" fn __tgt_rtl_init() {
    show_log();
    registry::start();
}

#[unsafe(no_mangle)]
extern "C" fn __tgt_rtl_deinit() {
    unregister(std::ptr::null());
}

with_nowait! {
    /// Launches a target region.
    ///
    /// # Safety
    /// A compiler made the arguments for a target region, whose memory they describe.
    fn __tgt_target_kernel, __tgt_target_kernel_nowait(
        at: *const Ident,
        device: i64,
        teams: i32,
        thread_limit: i32,
        host: *const c_void,
        args: *const KernelArgs,
    ) -> c_int {
        // SAFETY: the caller's promise is that of `launch`.
        unsafe { region::launch(at, device, teams, thread_limit, host, args) }
    }
}

/// An operation on the data of a construct.
type Operation = unsafe fn(&Device, &mut Stream<'_>, &Args<'_>) -> Result<(), Failed>;

/// # Safety
/// As for [`map::map_args`].
unsafe fn begin(device: &Device, stream: &mut Stream<'_>, args: &Args<'_>) -> Result<(), Failed> {
    let mut batch = MapBatch::default();
    literals::note_all(args);
    // SAFETY: the caller's promise is that of `map_args`.
    unsafe {
        map::map_args(device, stream, args, &mut batch)?;
        batch.finish(device, stream)?;
    }
    stream.synchronize()
}

/// # Safety
/// As for [`unmap::unmap_args`].
unsafe fn end(device: &Device, stream: &mut Stream<'_>, args: &Args<'_>) -> Result<(), Failed> {
    // SAFETY: the caller's promise is that of `unmap_args`.
    unsafe { unmap::unmap(device, stream, args) }
}

/// # Safety
/// As for [`update::update`].
unsafe fn update(device: &Device, stream: &mut Stream<'_>, args: &Args<'_>) -> Result<(), Failed> {
    let mut copied = Vec::new();
    // SAFETY: the caller's promise is that of `update`.
    unsafe { update::update(device, stream, args, &mut copied)? };
    stream.synchronize()?;
    // SAFETY: the caller's promise; the stream is synchronised.
    unsafe { update::restore(&copied) };
    Ok(())
}

/// Performs `operation` on the data of a construct.
///
/// # Safety
/// As for `operation`.
unsafe fn data_construct(
    at: *const Ident,
    device: i64,
    args: &Args<'_>,
    what: &str,
    operation: Operation,
) {
    let _span = profile::span("Runtime: Data Copy", || format!("NumArgs={}", args.len()));
    let Some(number) = construct::number_for(device, at) else {
        return;
    };
    if settings::info().has(Info::ARGUMENTS) {
        info::arguments(number, at, what, args);
    }
    let device = registry::device(number);
    let mut stream = Stream::new(&device);
    // SAFETY: the caller's promise about the arguments, which `operation` needs.
    let result = unsafe { operation(&device, &mut stream, args) };
    construct::outcome(result, at);
}

macro_rules! data_constructs {
    ($($name:ident, $nowait:ident: $operation:ident, $what:literal, $what_nowait:literal;)*) => {$(
        with_nowait! {
            let what = $what, $what_nowait;
            /// # Safety
            /// A compiler made the arrays for a construct: each is null or has `count` elements, and
            /// they describe memory of the program that is valid during the construct.
            fn $name, $nowait(
                at: *const Ident,
                device: i64,
                count: i32,
                bases: *mut *mut c_void,
                begins: *const *mut c_void,
                sizes: *const i64,
                types: *const i64,
                names: *const Name,
                mappers: *const *mut c_void,
            ) {
                // SAFETY: the caller's promise about the arrays is that of `Args::new`, and the one
                // about the memory that of the operations.
                unsafe {
                    let args = Args::new(count, bases, begins, sizes, types, names, mappers);
                    data_construct(at, device, &args, what, $operation);
                }
            }
        }
    )*};
}

// LLVM's words, with its typo "being": tools look for them.
data_constructs! {
    __tgt_target_data_begin_mapper, __tgt_target_data_begin_nowait_mapper: begin,
        "Entering OpenMP data region with being_mapper",
        "Entering OpenMP data region with being_nowait_mapper";
    __tgt_target_data_end_mapper, __tgt_target_data_end_nowait_mapper: end,
        "Exiting OpenMP data region with end_mapper",
        "Exiting OpenMP data region with end_nowait_mapper";
    __tgt_target_data_update_mapper, __tgt_target_data_update_nowait_mapper: update,
        "Updating data within the OpenMP data region with update_mapper",
        "Updating data within the OpenMP data region with update_nowait_mapper";
}

/// The number of components that a mapper has pushed.
///
/// # Safety
/// This runtime passed the handle to the calling mapper.
#[unsafe(no_mangle)]
unsafe extern "C" fn __tgt_mapper_num_components(handle: *const Handle) -> i64 {
    // SAFETY: the handle is valid by the caller's promise.
    unsafe { (*handle).components().len() as i64 }
}

/// Adds a component to a mapper's.
///
/// # Safety
/// This runtime passed the handle to the calling mapper, which does not share it.
#[unsafe(no_mangle)]
unsafe extern "C" fn __tgt_push_mapper_component(
    handle: *mut Handle,
    base: *mut c_void,
    begin: *mut c_void,
    size: i64,
    map: i64,
    name: Name,
) {
    let component = Component {
        base,
        begin,
        size,
        map,
        name,
    };
    // SAFETY: the handle is valid, and not shared, by the caller's promise.
    unsafe { (*handle).push(component) };
}

/// Continues a suspended task.
///
/// # Safety
/// libomp passes the handle of a task that a launch has suspended.
#[unsafe(no_mangle)]
unsafe extern "C" fn __tgt_target_nowait_query(handle: *mut *mut c_void) {
    // SAFETY: the caller's promise is that of `query`.
    unsafe { pending::query(handle) };
}

#[unsafe(no_mangle)]
extern "C" fn __tgt_set_info_flag(flags: u32) {
    settings::set_info(flags);
}

#[unsafe(no_mangle)]
extern "C" fn __tgt_print_device_info(number: i64) -> c_int {
    let device = registry::device(number);
    let memory = device.runtime.memory();
    message::print(format_args!("Device {number}: {}", device.name));
    message::print(format_args!("  {}", device.runtime.description()));
    message::print(format_args!(
        "  {} bytes of memory, {} in use",
        memory.total, memory.used
    ));
    1
}

/// Recording and replaying launches is not implemented.
#[unsafe(no_mangle)]
extern "C" fn __tgt_activate_record_replay(_device: i64, _bytes: u64) -> c_int {
    message::error("this runtime cannot record or replay kernels");
    !0
}

/// See [`__tgt_activate_record_replay`].
#[unsafe(no_mangle)]
extern "C" fn __tgt_target_kernel_replay() -> c_int {
    __tgt_activate_record_replay(0, 0)
}
