//! Running kernels.

use std::sync::{Arc, OnceLock};
use std::time::Instant;

use hsa_runtime_sys::hsa_kernel_dispatch_packet_t;

use super::HsaDevice;
use super::arguments::{self, Shape};
use super::module::{HsaModule, Loaded};
use super::signal::Signal;
use super::stream::Stream;
use crate::device::{DeviceError, Fault, Global, Grid, LaunchContext, Module, Params, Running};

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
) -> Result<Arc<HsaLaunch>, DeviceError> {
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
    let calls_host = launch.calls_host;
    let launch = Arc::new(HsaLaunch {
        _device: Arc::clone(device),
        signal,
        _module: Arc::clone(module),
        context: launch,
        outcome: OnceLock::new(),
    });
    if calls_host {
        let running = Arc::clone(&launch) as Arc<dyn Running>;
        device.reaper.watch(device.context.name(), running);
    }
    Ok(launch)
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

/// A running kernel.
pub(super) struct HsaLaunch {
    /// Its streams hold resources that the kernel uses.
    _device: Arc<HsaDevice>,
    signal: Arc<Signal>,
    _module: Arc<dyn Module>,
    context: LaunchContext,
    /// Set by the thread that notices the end first; others wait for it.
    outcome: OnceLock<Result<(), Fault>>,
}

impl HsaLaunch {
    fn ended(&self, how: Result<(), DeviceError>) -> Result<(), Fault> {
        let outcome = self.outcome.get_or_init(|| {
            (self.context.ended)();
            how.map_err(|error| Fault::from(&error))
        });
        outcome.clone()
    }
}

impl Running for HsaLaunch {
    fn is_done(&self) -> bool {
        self.wait(Some(Instant::now())).is_some()
    }

    fn wait(&self, until: Option<Instant>) -> Option<Result<(), Fault>> {
        match self.outcome.get() {
            Some(outcome) => Some(outcome.clone()),
            None => self.signal.wait(until).map(|how| self.ended(how)),
        }
    }
}

impl Drop for HsaLaunch {
    fn drop(&mut self) {
        // A kernel that nothing waited for and that cannot call the host.
        let _ = Running::wait(self, None);
    }
}
