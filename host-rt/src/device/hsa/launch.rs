//! Running kernels.

use std::sync::Arc;
use std::time::Instant;

use hsa_runtime_sys::hsa_kernel_dispatch_packet_t;

use super::HsaDevice;
use super::arguments::{self, Shape};
use super::module::{HsaModule, Loaded};
use super::signal::Signal;
use super::stream::Stream;
use crate::device::gpu::launch::{GpuLaunch, KernelEnd};
use crate::device::{
    DeviceError, Fault, Global, Grid, LaunchContext, Module, Outcome, Params, Running,
};

/// Starts a kernel in `stream`.
///
/// # Safety
/// As for [`Queue::launch`](crate::device::Queue::launch).
pub(super) unsafe fn start(
    device: &Arc<HsaDevice>,
    stream: &mut Stream,
    module: &Arc<dyn Module>,
    kernel: Global,
    grid: Grid,
    params: &Params,
    launch: LaunchContext,
) -> Result<Arc<dyn Running>, DeviceError> {
    let Some(code) = module.downcast_ref::<HsaModule>() else {
        unreachable!("a module of another device")
    };
    let loaded = code.loaded(kernel);
    arguments::check(&loaded.kernel, params)?;
    let block = launch.block;
    check_grid(grid, block.lanes, code.most_threads(loaded))?;
    let threads = block.of(grid.threads);
    let shared = shared_bytes(
        grid,
        loaded.shared,
        block.shared_bytes,
        device.context.pools.shared_size,
    )?;
    let shape = Shape {
        teams: [grid.teams, 1, 1],
        // In range: the maximum of a team is far smaller.
        threads: threads.map(|threads| threads as u16),
        dimensions: match threads {
            [_, 1, 1] => 1,
            [_, _, 1] => 2,
            _ => 3,
        },
        shared_bytes: block.shared_bytes,
        queue: stream.aql()?.address(),
    };
    let bytes = arguments::bytes(&loaded.kernel, params, &shape);
    let arguments = device.blocks.take(bytes.len())?;
    // SAFETY: the pinned memory has this length, and nothing else uses it.
    unsafe {
        let to = arguments.at.as_ptr();
        to.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len());
    }
    let packet = hsa_kernel_dispatch_packet_t {
        group_segment_size: shared,
        ..packet(loaded, kernel, &shape, arguments.at.as_ptr())
    };
    // SAFETY: the arguments match the kernel, as far as the image describes it; the launch keeps
    // the module until the kernel has ended, and the stream keeps the arguments. The caller
    // promises the rest.
    let signal = unsafe { stream.dispatch(packet, shape.dimensions, arguments)? };
    let end = HsaEnd {
        _device: Arc::clone(device),
        signal,
    };
    let (reaper, name) = (&device.reaper, device.context.name());
    Ok(GpuLaunch::started(end, module, launch, reaper, name))
}

fn packet(
    loaded: &Loaded,
    kernel: Global,
    shape: &Shape,
    arguments: *mut u8,
) -> hsa_kernel_dispatch_packet_t {
    // SAFETY: a struct of numbers, pointers and handles, for which zeros are valid.
    let mut packet: hsa_kernel_dispatch_packet_t = unsafe { std::mem::zeroed() };
    let [x, y, z] = shape.threads;
    packet.workgroup_size_x = x;
    packet.workgroup_size_y = y;
    packet.workgroup_size_z = z;
    // In threads; see `check_grid`.
    packet.grid_size_x = shape.teams[0] * u32::from(x);
    packet.grid_size_y = shape.teams[1] * u32::from(y);
    packet.grid_size_z = shape.teams[2] * u32::from(z);
    packet.private_segment_size = loaded.private;
    packet.kernel_object = kernel.address.0;
    packet.kernarg_address = arguments.cast();
    packet
}

fn check_grid(grid: Grid, lanes: u32, most: u32) -> Result<(), DeviceError> {
    let threads = grid.threads_of_team(lanes)?;
    if threads > most {
        return Err(grid.bad(format!("a team of this kernel has at most {most} threads")));
    }
    if grid.teams.checked_mul(threads).is_none() {
        return Err(grid.bad(format!("a launch has at most {} threads", u32::MAX)));
    }
    Ok(())
}

/// Shared memory of a team: the kernel's own, and `more` that the launch requests.
fn shared_bytes(grid: Grid, of_kernel: u32, more: u32, most: u32) -> Result<u32, DeviceError> {
    let bytes = of_kernel.checked_add(more).filter(|&bytes| bytes <= most);
    bytes.ok_or_else(|| {
        grid.bad(format!(
            "a team takes {of_kernel} bytes of shared memory by its kernel and {more} by its \
             launch, and the device has {most} for it: ask for less"
        ))
    })
}

/// The end of a kernel.
pub(super) struct HsaEnd {
    /// Its streams hold resources that the kernel uses.
    _device: Arc<HsaDevice>,
    signal: Arc<Signal>,
}

impl KernelEnd for HsaEnd {
    fn wait(&self, until: Option<Instant>) -> Option<Outcome> {
        let how = self.signal.wait(until)?;
        Some(how.map_err(|error| Fault::from(&error)))
    }

    /// The loss of the device stops its kernels: their signals are over, or given up.
    fn may_be_running(&self) -> bool {
        false
    }
}
