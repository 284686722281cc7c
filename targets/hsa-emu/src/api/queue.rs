//! Queues: creating and destroying them.

use std::ffi::c_void;
use std::sync::Arc;

use hsa_runtime_sys::*;

use super::pool::Pool;
use crate::pointers::{In, Out};
use crate::queue::{Callback, Queue, Ring};
use crate::runtime::{AnyQueue, SoftQueue, answer};
use crate::settings::max_packets;
use crate::status::{Answer, Status};

/// Rejects sizes and kinds that no queue has.
fn check(size: u32, kind: hsa_queue_type32_t) -> Answer {
    let is_valid = size.is_power_of_two() && kind <= HSA_QUEUE_TYPE_COOPERATIVE;
    is_valid.then_some(()).ok_or(Status::INVALID_ARGUMENT)
}

pub extern "C" fn hsa_queue_create(
    agent: hsa_agent_t,
    size: u32,
    kind: hsa_queue_type32_t,
    callback: Option<Callback>,
    data: *mut c_void,
    _private: u32,
    _group: u32,
    queue: Out<*mut hsa_queue_t>,
) -> hsa_status_t {
    answer("hsa_queue_create", |runtime| {
        if queue.is_null() {
            return Err(Status::INVALID_ARGUMENT);
        }
        let gpu = runtime.agent(agent)?;
        // The processor has none.
        let gpu = gpu.ok_or(Status::INVALID_QUEUE_CREATION)?;
        check(size, kind)?;
        if size > max_packets() {
            return Err(Status::INVALID_ARGUMENT);
        }
        if kind == HSA_QUEUE_TYPE_COOPERATIVE {
            return Err(Status::INVALID_QUEUE_CREATION);
        }
        let made = Queue::create(runtime.shared(), gpu, (size, kind), callback, data)?;
        queue.set(runtime.add_queue(AnyQueue::Gpu(made)))
    })
}

pub extern "C" fn hsa_soft_queue_create(
    region: hsa_region_t,
    size: u32,
    kind: hsa_queue_type32_t,
    features: u32,
    doorbell: hsa_signal_t,
    queue: Out<*mut hsa_queue_t>,
) -> hsa_status_t {
    answer("hsa_soft_queue_create", |runtime| {
        Pool::find(runtime, region.handle).ok_or(Status::INVALID_REGION)?;
        if queue.is_null() || features == 0 {
            return Err(Status::INVALID_ARGUMENT);
        }
        check(size, kind)?;
        runtime.signals.get(doorbell)?;
        let ring = Ring::new(&runtime.memory, size, kind, features, doorbell)?;
        let soft = AnyQueue::Soft(Arc::new(SoftQueue { ring }));
        queue.set(runtime.add_queue(soft))
    })
}

pub extern "C" fn hsa_queue_destroy(queue: *mut hsa_queue_t) -> hsa_status_t {
    answer("hsa_queue_destroy", |runtime| {
        if let AnyQueue::Gpu(queue) = runtime.remove_queue(queue)? {
            queue.destroy();
        }
        Ok(())
    })
}

pub extern "C" fn hsa_queue_inactivate(queue: *mut hsa_queue_t) -> hsa_status_t {
    answer("hsa_queue_inactivate", |runtime| {
        if let AnyQueue::Gpu(queue) = runtime.queue(queue)? {
            queue.inactivate();
        }
        Ok(())
    })
}

pub extern "C" fn hsa_amd_queue_set_priority(
    queue: *mut hsa_queue_t,
    priority: hsa_amd_queue_priority_t,
) -> hsa_status_t {
    answer("hsa_amd_queue_set_priority", |runtime| {
        runtime.gpu_queue(queue)?;
        let is_known = priority <= HSA_AMD_QUEUE_PRIORITY_HIGH;
        is_known.then_some(()).ok_or(Status::INVALID_ARGUMENT)
    })
}

pub extern "C" fn hsa_amd_queue_cu_set_mask(
    queue: *const hsa_queue_t,
    bits: u32,
    mask: In<u32>,
) -> hsa_status_t {
    answer("hsa_amd_queue_cu_set_mask", |runtime| {
        runtime.gpu_queue(queue)?;
        if !bits.is_multiple_of(32) {
            return Err(Status::INVALID_ARGUMENT);
        }
        // Kernels run on all compute units.
        mask.all(bits as usize / 32).map(drop)
    })
}

pub extern "C" fn hsa_amd_queue_cu_get_mask(
    queue: *const hsa_queue_t,
    bits: u32,
    mask: Out<u32>,
) -> hsa_status_t {
    answer("hsa_amd_queue_cu_get_mask", |runtime| {
        let queue = runtime.gpu_queue(queue)?;
        if bits == 0 || !bits.is_multiple_of(32) {
            return Err(Status::INVALID_ARGUMENT);
        }
        let units = queue.gpu.processors;
        let words = (0..bits / 32).map(|word| match units.saturating_sub(32 * word) {
            left @ 0..32 => (1 << left) - 1,
            _ => u32::MAX,
        });
        mask.set_all(words, bits as usize / 32)
    })
}

pub extern "C" fn hsa_amd_coherency_get_type(
    agent: hsa_agent_t,
    kind: Out<hsa_amd_coherency_type_t>,
) -> hsa_status_t {
    answer("hsa_amd_coherency_get_type", |runtime| {
        runtime.gpu(agent)?;
        kind.set(HSA_AMD_COHERENCY_TYPE_COHERENT)
    })
}

pub extern "C" fn hsa_amd_coherency_set_type(
    agent: hsa_agent_t,
    kind: hsa_amd_coherency_type_t,
) -> hsa_status_t {
    answer("hsa_amd_coherency_set_type", |runtime| {
        runtime.gpu(agent)?;
        let is_known = kind <= HSA_AMD_COHERENCY_TYPE_NONCOHERENT;
        is_known.then_some(()).ok_or(Status::INVALID_ARGUMENT)
    })
}
