//! Copies by engines.

use std::ffi::c_void;
use std::sync::Arc;

use hsa_runtime_sys::*;

use crate::copy::{Operation, Rect, Side, Work};
use crate::gpu::Gpu;
use crate::pointers::In;
use crate::runtime::{Runtime, answer};
use crate::signal::Use;
use crate::status::{Answer, Status};

/// Copies within a GPU of at least this many bytes are kernels.
const KERNEL: usize = 1 << 20;

/// The signals that a copy waits for.
fn after(runtime: &Runtime, count: u32, signals: &In<hsa_signal_t>) -> Answer<Vec<Use>> {
    let signals = signals.all(count as usize)?;
    signals
        .iter()
        .map(|&signal| runtime.signals.take(signal))
        .collect()
}

/// Queues a copy by a GPU.
fn queue(gpu: &Gpu, is_to_host: bool, work: Work) {
    let engine = match work.is_kernel {
        true => gpu.blits(),
        false => gpu.engine(is_to_host),
    };
    // SAFETY: both sides were checked; memory of the host that is locked stays valid until the copy is done, by
    // the promise of the C caller.
    unsafe { engine.queue(work) };
}

/// The agents of a copy: none is the processor.
struct Agents {
    to: Option<Arc<Gpu>>,
    from: Option<Arc<Gpu>>,
}

impl Agents {
    fn of(runtime: &Runtime, to: hsa_agent_t, from: hsa_agent_t) -> Answer<Self> {
        Ok(Self {
            to: runtime.agent(to)?,
            from: runtime.agent(from)?,
        })
    }

    /// Whether the sides of a copy are where the agents say, for a GPU that copies. The host's side must be memory
    /// that the GPU may use. A strict GPU takes none but a GPU's own memory for its side.
    fn check(&self, runtime: &Runtime, gpu: &Gpu, operation: &Operation) -> Answer {
        operation.check(|is_target, address, len| {
            let agent = if is_target { &self.to } else { &self.from };
            let block = runtime.memory.block_at(address);
            match agent {
                None => gpu.may_use(address, len),
                Some(agent) => block.is_some_and(|block| {
                    let is_own = block.owner == agent.owner();
                    let may_use = || !gpu.is_strict && agent.may_use(address, len);
                    block.contains(address, len) && (is_own || may_use())
                }),
            }
        })
    }
}

pub extern "C" fn hsa_amd_memory_async_copy(
    to: *mut c_void,
    to_agent: hsa_agent_t,
    from: *const c_void,
    from_agent: hsa_agent_t,
    bytes: usize,
    count: u32,
    dependencies: In<hsa_signal_t>,
    completion: hsa_signal_t,
) -> hsa_status_t {
    answer("hsa_amd_memory_async_copy", |runtime| {
        let sides = (to.expose_provenance(), from.expose_provenance());
        let agents = (to_agent, from_agent);
        copy(
            runtime,
            sides,
            agents,
            bytes,
            (count, dependencies),
            completion,
        )
    })
}

pub extern "C" fn hsa_amd_memory_async_copy_on_engine(
    to: *mut c_void,
    to_agent: hsa_agent_t,
    from: *const c_void,
    from_agent: hsa_agent_t,
    bytes: usize,
    count: u32,
    dependencies: In<hsa_signal_t>,
    completion: hsa_signal_t,
    _engine: u32,
    _force: bool,
) -> hsa_status_t {
    answer("hsa_amd_memory_async_copy_on_engine", |runtime| {
        let sides = (to.expose_provenance(), from.expose_provenance());
        let agents = (to_agent, from_agent);
        copy(
            runtime,
            sides,
            agents,
            bytes,
            (count, dependencies),
            completion,
        )
    })
}

fn copy(
    runtime: &Runtime,
    (to, from): (usize, usize),
    (to_agent, from_agent): (hsa_agent_t, hsa_agent_t),
    len: usize,
    (count, dependencies): (u32, In<hsa_signal_t>),
    completion: hsa_signal_t,
) -> Answer {
    if to == 0 || from == 0 || dependencies.is_null() != (count == 0) {
        return Err(Status::INVALID_ARGUMENT);
    }
    let agents = Agents::of(runtime, to_agent, from_agent)?;
    let after = after(runtime, count, &dependencies)?;
    let done = Some(runtime.signals.take(completion)?);
    let operation = Operation::Line {
        to: to as u64,
        from: from as u64,
        len,
    };
    let gpu = agents.to.as_ref().or(agents.from.as_ref());
    let Some(gpu) = gpu else {
        let work = Work {
            operation,
            is_kernel: false,
            after,
            done,
        };
        return queue_of_host(runtime, work);
    };
    agents.check(runtime, gpu, &operation)?;
    let is_inside = to_agent.handle == from_agent.handle;
    let work = Work {
        operation,
        is_kernel: is_inside && len >= KERNEL,
        after,
        done,
    };
    queue(gpu, agents.to.is_none(), work);
    Ok(())
}

/// Queues a copy within the host's memory, which no GPU performs.
fn queue_of_host(runtime: &Runtime, work: Work) -> Answer {
    let engine = runtime.host_engine().ok_or(Status::OUT_OF_RESOURCES)?;
    // SAFETY: the host's memory is valid until the copy is done, by the promise of the C caller.
    unsafe { engine.queue(work) };
    Ok(())
}

/// A side of a copy of rows.
fn side(pointer: &In<hsa_pitched_ptr_t>, offset: &In<hsa_dim3_t>) -> Answer<Side> {
    let (pointer, offset) = (pointer.get()?, offset.get()?);
    let (pitch, slice) = (pointer.pitch as u64, pointer.slice as u64);
    let (x, y, z) = (offset.x.into(), u64::from(offset.y), u64::from(offset.z));
    let base = pointer.base.expose_provenance() as u64;
    let address = || {
        let rows = y.checked_mul(pitch)?;
        let slices = z.checked_mul(slice)?;
        base.checked_add(x)?.checked_add(rows)?.checked_add(slices)
    };
    let address = address().ok_or(Status::INVALID_ARGUMENT)?;
    let is_aligned = [base, pitch, slice]
        .iter()
        .all(|value| value.is_multiple_of(4));
    if base == 0 || !is_aligned {
        return Err(Status::INVALID_ARGUMENT);
    }
    Ok(Side {
        address,
        pitch,
        slice,
    })
}

pub extern "C" fn hsa_amd_memory_async_copy_rect(
    to: In<hsa_pitched_ptr_t>,
    to_offset: In<hsa_dim3_t>,
    from: In<hsa_pitched_ptr_t>,
    from_offset: In<hsa_dim3_t>,
    range: In<hsa_dim3_t>,
    agent: hsa_agent_t,
    direction: hsa_amd_copy_direction_t,
    count: u32,
    dependencies: In<hsa_signal_t>,
    completion: hsa_signal_t,
) -> hsa_status_t {
    answer("hsa_amd_memory_async_copy_rect", |runtime| {
        // The processor has no engine.
        let gpu = runtime.gpu(agent)?;
        if dependencies.is_null() != (count == 0) || direction > hsaDeviceToDevice {
            return Err(Status::INVALID_ARGUMENT);
        }
        let range = range.get()?;
        let range = [range.x, range.y, range.z].map(u64::from);
        let (to, from) = (side(&to, &to_offset)?, side(&from, &from_offset)?);
        if !to.holds(range) || !from.holds(range) {
            return Err(Status::INVALID_ARGUMENT);
        }
        let operation = Operation::Rect(Rect { to, from, range });
        let after = after(runtime, count, &dependencies)?;
        let done = Some(runtime.signals.take(completion)?);
        operation.check(|_, address, len| gpu.may_use(address, len))?;
        let is_to_host = direction == hsaHostToHost || direction == hsaDeviceToHost;
        let work = Work {
            operation,
            is_kernel: false,
            after,
            done,
        };
        queue(&gpu, is_to_host, work);
        Ok(())
    })
}
