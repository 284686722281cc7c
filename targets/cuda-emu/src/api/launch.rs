//! Kernels.

use std::ffi::c_void;
use std::sync::Arc;

use cudarc::driver::sys::{CUlaunchAttribute, CUlaunchAttributeID, CUlaunchConfig};
use ptx_emu::{FaultKind, Grid, LaunchError};

use crate::api::function::{blocks, dynamic_limit};
use crate::api::library::function_of;
use crate::code::{Answer, Code};
use crate::driver::with_context;
use crate::pointers::In;
use crate::state::Context;
use crate::state::module::{Function, Module};

/// Names in a list of extra arguments: its end, the address of a buffer with all parameters, and
/// the buffer's size.
const END: usize = 0;
const BUFFER: usize = 1;
const BUFFER_SIZE: usize = 2;

/// The code of a fault.
fn code(fault: &FaultKind) -> Code {
    match fault {
        FaultKind::Unreachable { .. } => Code::ILLEGAL_ADDRESS,
        FaultKind::Misaligned { .. } => Code::MISALIGNED_ADDRESS,
        FaultKind::Trap => Code::ILLEGAL_INSTRUCTION,
        FaultKind::Assertion { .. } => Code::ASSERT,
        FaultKind::StackOverflow { .. } => Code::HARDWARE_STACK_ERROR,
        FaultKind::BadCall { .. } | FaultKind::BadBranch { .. } => Code::INVALID_PC,
        FaultKind::Deadlock(_) => Code::LAUNCH_TIMEOUT,
        _ => Code::LAUNCH_FAILED,
    }
}

/// The code of a kernel that is not launched. The log gets the reason.
fn launch_error(kernel: &str, error: &LaunchError) -> Code {
    let reason = error.to_string();
    tracing::warn!(kernel, reason, "a kernel was not launched");
    match error {
        LaunchError::Bounds(_) | LaunchError::Params { .. } => Code::INVALID_VALUE,
        LaunchError::OtherModule => Code::INVALID_HANDLE,
        LaunchError::Workspace { .. } => Code::OUT_OF_MEMORY,
        LaunchError::Threads(_) => Code::LAUNCH_OUT_OF_RESOURCES,
    }
}

/// Parameters, as the caller passes them.
struct Params {
    each: *const *const c_void,
    extra: *const *const c_void,
}

impl Params {
    /// The bytes of each.
    ///
    /// # Safety
    /// As documented: one pointer per parameter, each to its value; or a list of names and values that
    /// ends with [`END`]. The bytes stay as they are while the result is used.
    unsafe fn read<'a>(&self, module: &Module, function: &Function) -> Answer<Vec<&'a [u8]>> {
        let places = module.code.param_places(function.kernel()?);
        match (self.each.is_null(), self.extra.is_null()) {
            (false, true) => {
                let params = places.iter().enumerate().map(|(i, &(_, size))| {
                    // SAFETY: the caller promises one pointer per parameter.
                    unsafe { bytes_at(self.each.add(i).read(), size as usize) }
                });
                params.collect()
            }
            // SAFETY: the caller's promise.
            (true, false) => unsafe { self.packed(&places) },
            (true, true) if places.is_empty() => Ok(Vec::new()),
            _ => Err(Code::INVALID_VALUE),
        }
    }

    /// The parameters in a buffer, which is the kernel's parameter memory.
    ///
    /// # Safety
    /// As for [`read`](Self::read); buffer and size are valid.
    unsafe fn packed<'a>(&self, places: &[(u32, u32)]) -> Answer<Vec<&'a [u8]>> {
        let (mut buffer, mut room) = (None, None);
        for i in (0..).step_by(2) {
            // SAFETY: before the end, the list continues.
            let (name, value) = unsafe { (self.extra.add(i).read(), self.extra.add(i + 1)) };
            match name.addr() {
                END => break,
                // SAFETY: the names are followed by their values.
                BUFFER => buffer = Some(unsafe { value.read() }),
                BUFFER_SIZE => {
                    // SAFETY: the names are followed by their values.
                    let size: *const usize = unsafe { value.read().cast() };
                    if size.is_null() {
                        return Err(Code::INVALID_VALUE);
                    }
                    // SAFETY: this one points to a number.
                    room = Some(unsafe { size.read() });
                }
                _ => return Err(Code::INVALID_VALUE),
            }
        }
        let (Some(buffer), Some(room)) = (buffer, room) else {
            return Err(Code::INVALID_VALUE);
        };
        let params = places.iter().map(|&(at, size)| {
            let (at, size) = (at as usize, size as usize);
            if at + size > room || buffer.is_null() {
                return Err(Code::INVALID_VALUE);
            }
            // SAFETY: within the buffer, whose size the caller vouches for.
            unsafe { bytes_at(buffer.byte_add(at), size) }
        });
        params.collect()
    }
}

/// # Safety
/// `at` is null, or there are `size` bytes, at least one, which stay as they are while the result is used.
unsafe fn bytes_at<'a>(at: *const c_void, size: usize) -> Answer<&'a [u8]> {
    if at.is_null() {
        return Err(Code::INVALID_VALUE);
    }
    // SAFETY: the caller's promise.
    Ok(unsafe { std::slice::from_raw_parts(at.cast(), size) })
}

/// Queues a kernel.
///
/// # Safety
/// As for [`Params::read`].
unsafe fn launch(
    context: &Arc<Context>,
    function: u64,
    grid: Grid,
    (stream, default): (u64, u64),
    params: &Params,
    is_cooperative: bool,
) -> Answer {
    let stream = context.stream(stream, default)?;
    let handle = function_of(context, function)?;
    let (function, module) = context.function(handle)?;
    // SAFETY: the caller's promise.
    let params = unsafe { params.read(&module, &function)? };
    let params = params.iter().copied();
    let limit = dynamic_limit(&function, &module);
    if grid.shared > limit && u64::from(grid.shared) <= ptx_emu::MAX_SHARED {
        tracing::warn!(
            kernel = &*function.name,
            bytes = grid.shared,
            limit,
            "a kernel was not launched: more dynamic shared memory than its attribute \
             MAX_DYNAMIC_SHARED_SIZE_BYTES (cuFuncSetAttribute)"
        );
        return Err(Code::INVALID_VALUE);
    }
    let machine = &context.gpu.machine;
    let prepared = machine.prepare(&module.code, function.kernel()?, grid, params);
    let prepared = prepared.map_err(|error| launch_error(&function.name, &error))?;
    let prepared = if is_cooperative {
        let block = grid.block.iter().map(|&n| u64::from(n)).product();
        let room = blocks(context, handle, block, grid.shared.into())?
            * u64::from(machine.options().processors);
        if grid.grid.iter().map(|&n| u64::from(n)).product::<u64>() > room {
            return Err(Code::COOPERATIVE_LAUNCH_TOO_LARGE);
        }
        prepared.cooperative()
    } else {
        prepared
    };
    let (module, of) = (Arc::downgrade(&module), Arc::downgrade(context));
    context.queue(&stream, move || {
        // None if it was unloaded before its turn.
        let _module = module.upgrade().ok_or(Code::ILLEGAL_ADDRESS)?;
        let context = of.upgrade().ok_or(Code::CONTEXT_IS_DESTROYED)?;
        let running = context.gpu.machine.start(prepared, Box::new(|_| ()));
        let running = running.map_err(|error| launch_error(&function.name, &error))?;
        match context.finish(running) {
            None => Ok(()),
            Some(fault) => {
                let code = code(&fault.what);
                context.break_by(code, &fault);
                Err(code)
            }
        }
    })
}

/// The function of this name: it queues a kernel.
fn launch_by(
    name: &str,
    function: u64,
    grid: Grid,
    stream: (u64, u64),
    params: &Params,
    is_cooperative: bool,
) -> u32 {
    with_context(name, |context| {
        // SAFETY: the driver's caller promises parameters as documented.
        unsafe { launch(context, function, grid, stream, params, is_cooperative) }
    })
}

pub extern "C" fn cuLaunchKernel<const DEFAULT: u64>(
    function: u64,
    grid_x: u32,
    grid_y: u32,
    grid_z: u32,
    block_x: u32,
    block_y: u32,
    block_z: u32,
    shared: u32,
    stream: u64,
    each: *const *const c_void,
    extra: *const *const c_void,
) -> u32 {
    let grid = Grid {
        grid: [grid_x, grid_y, grid_z],
        block: [block_x, block_y, block_z],
        shared,
    };
    let (stream, params) = ((stream, DEFAULT), Params { each, extra });
    launch_by("cuLaunchKernel", function, grid, stream, &params, false)
}

pub extern "C" fn cuLaunchCooperativeKernel<const DEFAULT: u64>(
    function: u64,
    grid_x: u32,
    grid_y: u32,
    grid_z: u32,
    block_x: u32,
    block_y: u32,
    block_z: u32,
    shared: u32,
    stream: u64,
    each: *const *const c_void,
) -> u32 {
    let grid = Grid {
        grid: [grid_x, grid_y, grid_z],
        block: [block_x, block_y, block_z],
        shared,
    };
    let extra = std::ptr::null();
    let (stream, params) = ((stream, DEFAULT), Params { each, extra });
    launch_by(
        "cuLaunchCooperativeKernel",
        function,
        grid,
        stream,
        &params,
        true,
    )
}

/// Whether the attributes of a launch ask for a cooperative one.
///
/// # Safety
/// There are that many, or the pointer to them is null.
unsafe fn attributes(config: &CUlaunchConfig) -> Answer<bool> {
    use CUlaunchAttributeID as A;
    let mut is_cooperative = false;
    if config.attrs.is_null() && config.numAttrs > 0 {
        return Err(Code::INVALID_VALUE);
    }
    for at in 0..config.numAttrs as usize {
        // SAFETY: the caller's promise. Only known numbers are read as what they are.
        let attribute: *const CUlaunchAttribute = unsafe { config.attrs.add(at) };
        // SAFETY: the first field is a number.
        let id = unsafe { attribute.cast::<u32>().read() };
        if id == A::CU_LAUNCH_ATTRIBUTE_COOPERATIVE as u32 {
            // SAFETY: this attribute's value is a number.
            is_cooperative = unsafe { (&raw const (*attribute).value.cooperative).read() } != 0;
        } else if id == A::CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION as u32 {
            // SAFETY: this attribute's value is three numbers.
            let size = unsafe { (&raw const (*attribute).value.clusterDim).read() };
            if [size.x, size.y, size.z] != [1; 3] {
                let (x, y, z) = (size.x, size.y, size.z);
                tracing::warn!(x, y, z, "clusters of several blocks are not supported");
                return Err(Code::NOT_SUPPORTED);
            }
        }
        // The others, such as priorities, change no result.
    }
    Ok(is_cooperative)
}

pub extern "C" fn cuLaunchKernelEx<const DEFAULT: u64>(
    config: In<CUlaunchConfig>,
    function: u64,
    each: *const *const c_void,
    extra: *const *const c_void,
) -> u32 {
    with_context("cuLaunchKernelEx", |context| {
        let config = config.get()?;
        // SAFETY: the driver's caller promises the attributes that it counts.
        let is_cooperative = unsafe { attributes(&config)? };
        let grid = Grid {
            grid: [config.gridDimX, config.gridDimY, config.gridDimZ],
            block: [config.blockDimX, config.blockDimY, config.blockDimZ],
            shared: config.sharedMemBytes,
        };
        let stream = (config.hStream.expose_provenance() as u64, DEFAULT);
        let params = Params { each, extra };
        // SAFETY: the driver's caller promises parameters as documented.
        unsafe { launch(context, function, grid, stream, &params, is_cooperative) }
    })
}
