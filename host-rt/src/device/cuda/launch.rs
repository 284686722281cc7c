//! Running kernels.

use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::Arc;
use std::time::{Duration, Instant};

use cudarc::driver::sys::{
    CUdevice_attribute, CUfunction, CUfunction_attribute, CUresult, CUstream,
};

use targets::count::Count;

use super::CudaDevice;
use super::event::CudaEvent;
use super::module::{CudaModule, attribute};
use crate::device::gpu::launch::{GpuLaunch, KernelEnd};
use crate::device::{
    BlockShape, DeviceError, Fault, Global, Grid, LaunchContext, Module, Outcome, Params, Running,
};

/// How long a wait for a kernel polls before it sleeps: waking up takes about as long.
const SPIN_TIME: Duration = Duration::from_micros(30);

/// The longest sleep between two polls of a wait with a deadline.
const MAX_SLEEP: Duration = Duration::from_millis(1);

/// A started kernel.
pub(super) struct CudaLaunch {
    pub(super) running: Arc<dyn Running>,
    /// The event of its end, if its image has reverse offload.
    pub(super) end_of_caller: Option<Arc<CudaEvent>>,
}

/// Starts a kernel in `stream`.
///
/// # Safety
/// As for [`Queue::launch`](crate::device::Queue::launch).
pub(super) unsafe fn start(
    device: &Arc<CudaDevice>,
    stream: CUstream,
    module: &Arc<dyn Module>,
    kernel: Global,
    grid: Grid,
    params: &Params,
    launch: LaunchContext,
) -> Result<CudaLaunch, DeviceError> {
    assert!(
        module.downcast_ref::<CudaModule>().is_some(),
        "a module of another device"
    );
    let context = &device.context;
    let _entered = context.enter()?;
    let function = kernel.address.0 as CUfunction;
    let block = launch.block;
    let [x, y, z] = block.of_x(grid)?;
    if let Some(limits) = check_grid(device, function, grid, block)? {
        allow_shared(device, function, block, limits)?;
    }
    let event = Arc::new(device.events.take()?);
    let mut pointers: Vec<*mut c_void> = params
        .iter()
        .map(|param| param.as_ptr().cast_mut().cast())
        .collect();
    // SAFETY: function and stream are alive. The driver copies each parameter's size from its
    // pointer, and the caller vouches for the parameters.
    let code = unsafe {
        context.cu().cuLaunchKernel(
            function,
            grid.teams,
            1,
            1,
            x,
            y,
            z,
            block.shared_bytes,
            stream,
            pointers.as_mut_ptr(),
            null_mut(),
        )
    };
    if code == CUresult::CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES {
        let reason = "a team takes more registers or shared memory than a multiprocessor has";
        return Err(grid.bad(reason));
    }
    context.check("cuLaunchKernel", code)?;
    // If the event cannot be recorded, the device is lost but the kernel runs: a failed launch.
    let recorded = event.record(stream);
    let calls_host = launch.calls_host;
    let end = CudaEnd {
        device: Arc::clone(device),
        event: Arc::clone(&event),
    };
    let running = match recorded {
        Ok(()) => GpuLaunch::started(end, module, launch, &device.reaper, context.name()),
        Err(error) => GpuLaunch::failed(end, module, launch, Fault::from(&error)),
    };
    Ok(CudaLaunch {
        running,
        end_of_caller: calls_host.then_some(event),
    })
}

/// Rejects the same grids as [`start`].
pub(super) fn check(
    device: &CudaDevice,
    kernel: Global,
    grid: Grid,
    launch: &LaunchContext,
) -> Result<(), DeviceError> {
    let _entered = device.context.enter()?;
    launch.block.of_x(grid)?;
    check_grid(device, kernel.address.0 as CUfunction, grid, launch.block).map(drop)
}

/// Rejects a grid that does not fit. Returns the limits of shared memory, if the launch adds some.
fn check_grid(
    device: &CudaDevice,
    function: CUfunction,
    grid: Grid,
    block: BlockShape,
) -> Result<Option<SharedLimits>, DeviceError> {
    use CUdevice_attribute::{
        CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X as MAX_TEAMS,
        CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK as MAX_THREADS,
    };
    let threads = grid.threads_of_team(block.lanes)?;
    let most = device.context.attribute(MAX_TEAMS);
    if grid.teams > most {
        return Err(grid.bad(format!("a launch has at most {most} teams")));
    }
    let most = device.context.attribute(MAX_THREADS);
    if threads > most {
        return Err(grid.bad(format!("a team has at most {most} threads")));
    }
    let most = attribute(
        &device.context,
        function,
        CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK,
    )?;
    if threads > most {
        return Err(grid.bad(format!(
            "with the registers that this kernel takes, a team has at most {most} threads"
        )));
    }
    if block.shared_bytes == 0 {
        return Ok(None);
    }
    let limits = shared_limits(device, function)?;
    if block.shared_bytes > limits.limit {
        return Err(grid.bad(format!(
            "beside the shared memory of its variables, a team of this kernel has at most {}, not {}",
            Count(limits.limit.into(), "byte"),
            block.shared_bytes
        )));
    }
    Ok(Some(limits))
}

/// Bytes of shared memory that a launch may add to those of the kernel's variables.
#[derive(Clone, Copy)]
struct SharedLimits {
    /// Without an attribute of the kernel.
    default_limit: u32,
    /// With it.
    limit: u32,
}

fn shared_limits(device: &CudaDevice, function: CUfunction) -> Result<SharedLimits, DeviceError> {
    use CUdevice_attribute::{
        CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK as DEFAULT,
        CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN as MOST,
    };
    let context = &device.context;
    let of_variables = attribute(
        context,
        function,
        CUfunction_attribute::CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES,
    )?;
    let beside = |bytes: u32| bytes.saturating_sub(of_variables);
    Ok(SharedLimits {
        default_limit: beside(context.attribute(DEFAULT)),
        limit: beside(context.attribute(MOST)),
    })
}

/// Asks for more shared memory than blocks have without asking. It asks for all that there may be, so that launches
/// of several threads do not undo each other's request.
fn allow_shared(
    device: &CudaDevice,
    function: CUfunction,
    block: BlockShape,
    limits: SharedLimits,
) -> Result<(), DeviceError> {
    if block.shared_bytes <= limits.default_limit {
        return Ok(());
    }
    // SAFETY: the function is alive.
    let code = unsafe {
        device.context.cu().cuFuncSetAttribute(
            function,
            CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
            limits.limit.cast_signed(),
        )
    };
    device.context.check("cuFuncSetAttribute", code)
}

/// The end of a kernel.
pub(super) struct CudaEnd {
    device: Arc<CudaDevice>,
    event: Arc<CudaEvent>,
}

impl KernelEnd for CudaEnd {
    fn wait(&self, until: Option<Instant>) -> Option<Outcome> {
        let start = Instant::now();
        loop {
            if let Some(how) = self.event.query() {
                return Some(how);
            }
            let now = Instant::now();
            let left = until.map(|until| until.saturating_duration_since(now));
            if left.is_some_and(|left| left.is_zero()) {
                return None;
            }
            let waited = now - start;
            if waited < SPIN_TIME {
                std::hint::spin_loop();
                continue;
            }
            let Some(left) = left else {
                return Some(self.event.sleep());
            };
            std::thread::sleep((waited / 8).min(MAX_SLEEP).min(left));
        }
    }

    fn may_be_running(&self) -> bool {
        self.device.context.may_be_running()
    }
}
