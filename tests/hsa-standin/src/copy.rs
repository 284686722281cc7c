//! Copies: each GPU has one engine, and one queue for copies within it that are kernels. Both
//! perform copies in order, whatever they wait for; kernels also wait for room.

use std::error::Error;
use std::ffi::c_void;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};

use host_rt::device::DeviceError;
use host_rt::device::{Device, DeviceAddr, Queue};
use hsa_runtime_sys::*;

use crate::agent::CPU;
use crate::signal::{Cell, notify, wait_until};
use crate::state::{Answer, State, answer, state};

/// Copies within a GPU of at least this many bytes are kernels.
const KERNEL: usize = 1 << 20;

/// Whether copies are kept from beginning.
static ARE_HELD: AtomicBool = AtomicBool::new(false);

/// The number of unfinished copies.
static COUNT: AtomicU64 = AtomicU64::new(0);

/// A copy engine, or a queue of kernels.
pub(crate) struct Engine(Sender<Work>);

/// A copy.
struct Work {
    number: usize,
    to: (u64, hsa_agent_t),
    from: (u64, hsa_agent_t),
    len: usize,
    is_kernel: bool,
    after: Vec<Arc<Cell>>,
    done: Arc<Cell>,
}

impl Engine {
    /// Starts an engine that never ends.
    pub(crate) fn start(device: &Arc<dyn Device>) -> Result<Self, Box<dyn Error>> {
        let (sender, work) = channel();
        let queue = device.queue()?;
        let thread = std::thread::Builder::new().name("engine".to_owned());
        thread.spawn(move || run(queue, &work))?;
        Ok(Self(sender))
    }
}

fn run(mut queue: Box<dyn Queue>, work: &Receiver<Work>) {
    for work in work {
        wait_until(None, || {
            let has_room = !work.is_kernel || state().has_room(work.number);
            let may_begin = !ARE_HELD.load(Ordering::Acquire);
            may_begin && has_room && work.after.iter().all(|cell| cell.get() == 0)
        });
        let copied = work.check(state()).is_ok() && work.copy(&mut *queue).is_ok();
        drop(work.after);
        if copied {
            work.done.count_down();
        } else {
            work.done.set(-1);
        }
        COUNT.fetch_sub(1, Ordering::AcqRel);
    }
}

impl Work {
    /// Whether both sides exist and may be used.
    fn check(&self, state: &State) -> Answer {
        let gpu = crate::agent::gpu_agent(self.number);
        for (address, agent) in [self.to, self.from] {
            let is_good = if agent.handle == CPU {
                state.may_use(gpu, address, self.len)
            } else {
                state.is_of_gpu(state.gpu(agent)?, address, self.len)
            };
            if !is_good {
                return Err(HSA_STATUS_ERROR_INVALID_ARGUMENT);
            }
        }
        Ok(())
    }

    fn copy(&self, queue: &mut dyn Queue) -> Result<(), DeviceError> {
        let ((to, to_agent), (from, from_agent)) = (self.to, self.from);
        if to_agent.handle != CPU && from_agent.handle != CPU {
            return queue.copy_on_device(DeviceAddr(to), DeviceAddr(from), self.len);
        }
        if to_agent.handle == CPU {
            // SAFETY: the host's side is allocated, as `check` has seen, and the caller leaves it
            // alone until the signal reports the end.
            unsafe { queue.copy_from_device(to as *mut u8, DeviceAddr(from), self.len)? };
        } else if self.len == 4 && to.is_multiple_of(4) {
            // A device thread that waits for it sees earlier copies.
            // SAFETY: the host's side is allocated, as `check` has seen, and the caller leaves it
            // alone until the signal reports the end.
            let word = unsafe { (from as *const u32).read_unaligned() };
            queue.store_word(DeviceAddr(to), word)?;
        } else {
            // SAFETY: the host's side is allocated, as `check` has seen, and the caller leaves it
            // alone until the signal reports the end.
            unsafe { queue.copy_to_device(DeviceAddr(to), from as *const u8, self.len)? };
        }
        queue.synchronize()
    }
}

/// # Safety
/// There are `count` signals.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn hsa_amd_memory_async_copy(
    to: *mut c_void,
    to_agent: hsa_agent_t,
    from: *const c_void,
    from_agent: hsa_agent_t,
    len: usize,
    count: u32,
    after: *const hsa_signal_t,
    done: hsa_signal_t,
) -> hsa_status_t {
    answer("hsa_amd_memory_async_copy", |state| {
        let after = match count {
            0 => &[],
            // SAFETY: the caller's promise.
            count => unsafe { std::slice::from_raw_parts(after, count as usize) },
        };
        let after = after.iter().map(|&signal| state.signal(signal));
        let after = after.collect::<Answer<Vec<_>>>()?;
        let gpu = [to_agent, from_agent].map(|agent| state.gpu(agent).ok());
        let work = Work {
            number: gpu[0].or(gpu[1]).ok_or(HSA_STATUS_ERROR_INVALID_AGENT)?,
            to: (to.addr() as u64, to_agent),
            from: (from.addr() as u64, from_agent),
            len,
            is_kernel: to_agent.handle == from_agent.handle && len >= KERNEL,
            after,
            done: state.signal(done)?,
        };
        work.check(state)?;
        let gpu = &state.gpus[work.number];
        let copies = if work.is_kernel {
            &gpu.kernels
        } else {
            &gpu.engine
        };
        COUNT.fetch_add(1, Ordering::AcqRel);
        copies.0.send(work).map_err(|_| HSA_STATUS_ERROR)
    })
}

/// Not a function of ROCr's: keeps copies from beginning, or lets them continue.
#[unsafe(no_mangle)]
extern "C" fn revoff_hsa_stand_in_hold_copies(hold: bool) {
    ARE_HELD.store(hold, Ordering::Release);
    notify();
}

/// Not a function of ROCr's: the number of unfinished copies.
#[unsafe(no_mangle)]
extern "C" fn revoff_hsa_stand_in_copies() -> u64 {
    COUNT.load(Ordering::Acquire)
}
