//! Kernels that run, and their ends.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use emu_driver::process::lock;
use hsa_runtime_sys::*;

use super::Queue;
use crate::clock;
use crate::gpu::Kernel;
use crate::packet::{self, PacketSlot, Words};
use crate::packet_error::PacketError;
use crate::signal::{KernelActivity, Use};
use crate::status::Status;
use gcn_emu::{Dispatch, Fault, FaultKind, GROUP_APERTURE, PRIVATE_APERTURE, Running};

/// The kernels of a queue that have begun and not ended, by the numbers of their packets, and the error of the first
/// one that failed.
#[derive(Default)]
pub(super) struct InFlight {
    kernels: BTreeMap<u64, Option<Running>>,
    failure: Option<Failure>,
}

/// The end of a kernel that failed.
pub(super) enum Failure {
    Status(Status),
    /// An access to memory: an event of the system reports it.
    Memory {
        address: u64,
        reason: u32,
    },
}

/// A kernel that has begun.
struct Launch {
    index: u64,
    slot: PacketSlot,
    words: Words,
    completion: Option<Use>,
    start: u64,
    _activity: KernelActivity,
}

impl Queue {
    /// Starts a kernel.
    pub(super) fn dispatch(
        self: &Arc<Self>,
        index: u64,
        packet: &hsa_kernel_dispatch_packet_t,
        (slot, words): (PacketSlot, Words),
        completion: Option<Use>,
    ) -> Result<(), PacketError> {
        let gpu = &self.gpu;
        let object = packet.kernel_object;
        let kernel = gpu
            .kernel(object)
            .map_err(|_| PacketError::KernelObject(object))?;
        packet::check(packet, &kernel, gpu.spec.wave)?;
        self.check_arguments(packet, &kernel)?;
        let dispatch = Dispatch {
            kernel: kernel.name.clone(),
            descriptor: object,
            grid: [packet.grid_size_x, packet.grid_size_y, packet.grid_size_z],
            workgroup: [
                packet.workgroup_size_x.into(),
                packet.workgroup_size_y.into(),
                packet.workgroup_size_z.into(),
            ],
            kernarg: packet.kernarg_address.expose_provenance() as u64,
            packet: slot.address(),
            queue: self.ring.address(),
            dispatch_id: index,
            private_bytes: packet.private_segment_size,
            group_bytes: packet.group_segment_size,
        };
        let launch = Launch {
            index,
            slot,
            words,
            completion,
            start: clock::now(),
            _activity: KernelActivity::new(),
        };
        gpu.running.begin();
        lock(&self.in_flight).kernels.insert(index, None);
        let queue = Arc::clone(self);
        let ended = Box::new(move |result| queue.ended(launch, result));
        match gpu.machine.start(dispatch, ended) {
            Ok(running) => {
                // It may have ended.
                if let Some(kernel) = lock(&self.in_flight).kernels.get_mut(&index) {
                    *kernel = Some(running);
                }
                Ok(())
            }
            Err(error) => {
                lock(&self.in_flight).kernels.remove(&index);
                gpu.running.end();
                Err(PacketError::Launch(kernel.name.clone(), error))
            }
        }
    }

    /// A strict GPU rejects arguments that it would not find.
    fn check_arguments(
        &self,
        packet: &hsa_kernel_dispatch_packet_t,
        kernel: &Kernel,
    ) -> Result<(), PacketError> {
        let bytes = u64::from(kernel.descriptor.kernarg_bytes);
        let address = packet.kernarg_address.addr() as u64;
        if bytes > 0 && self.gpu.is_strict && !self.gpu.may_use(address, bytes) {
            return Err(PacketError::Arguments {
                kernel: kernel.name.clone(),
                address,
                bytes,
            });
        }
        Ok(())
    }

    /// Called once for each kernel, when it has ended.
    fn ended(&self, launch: Launch, result: Result<(), Fault>) {
        let Launch {
            index,
            slot,
            words,
            completion,
            start,
            _activity,
        } = launch;
        let failure = match result {
            Err(fault) => {
                // Before the queue may be destroyed: nothing changes the signal any more.
                drop(completion);
                self.failure_of(&fault)
            }
            Ok(()) if self.gpu.is_strict && slot.words()[1..] != words[1..] => {
                let text = "the slot of a packet was used again while its kernel ran";
                (self.gpu.report)(text);
                drop(completion);
                Some(Failure::Status(Status::INVALID_PACKET_FORMAT))
            }
            Ok(()) => {
                if let Some(completion) = completion {
                    completion.signal().set_times(start, clock::now());
                    completion.count_down();
                }
                None
            }
        };
        self.gpu.running.end();
        let mut in_flight = lock(&self.in_flight);
        if let Some(failure) = failure {
            in_flight.failure.get_or_insert(failure);
        }
        in_flight.kernels.remove(&index);
        drop(in_flight);
        self.waker.wake();
    }

    fn failure_of(&self, fault: &Fault) -> Option<Failure> {
        let status = match fault.kind {
            FaultKind::Stopped => return None,
            FaultKind::Unreachable {
                address,
                is_of_kernel,
                ..
            } if is_of_kernel || is_aperture(address) => Status::MEMORY_APERTURE_VIOLATION,
            FaultKind::Unreachable { address, bytes, .. } => {
                self.gpu.record(fault);
                // A fault in memory that the GPU may use is a write to read-only memory.
                let reason = match self.gpu.may_use(address, bytes.into()) {
                    true => HSA_AMD_MEMORY_FAULT_READ_ONLY,
                    false => HSA_AMD_MEMORY_FAULT_PAGE_NOT_PRESENT,
                };
                let reason = reason.cast_unsigned();
                return Some(Failure::Memory { address, reason });
            }
            FaultKind::Decode(_)
            | FaultKind::NoCode(..)
            | FaultKind::Unsupported(_)
            | FaultKind::Register { .. }
            | FaultKind::Illegal(_) => Status::ILLEGAL_INSTRUCTION,
            FaultKind::Misaligned { .. } => Status::MEMORY_APERTURE_VIOLATION,
            _ => Status::EXCEPTION,
        };
        self.gpu.record(fault);
        Some(Failure::Status(status))
    }

    /// Whether no kernel runs.
    pub(super) fn is_idle(&self) -> bool {
        lock(&self.in_flight).kernels.is_empty()
    }

    /// Whether a kernel has failed, and nothing has handled it.
    pub(super) fn has_failure(&self) -> bool {
        lock(&self.in_flight).failure.is_some()
    }

    /// The failure, once.
    pub(super) fn take_failure(&self) -> Option<Failure> {
        lock(&self.in_flight).failure.take()
    }

    /// Stops all kernels, and waits for their ends.
    pub(super) fn stop_kernels(&self) {
        let stop = || {
            let in_flight = lock(&self.in_flight);
            let kernels = in_flight.kernels.values().flatten();
            kernels.for_each(Running::stop);
            in_flight.kernels.is_empty()
        };
        crate::signal::wait_until(&self.waker, None, false, stop);
    }

    /// Reports a failure to the program.
    pub(super) fn report(&self, failure: &Failure) {
        match *failure {
            Failure::Status(status) => {
                if self.callback.is_none() {
                    (self.gpu.report)(&format!(
                        "queue {:#x} has stopped and has no callback for errors: waiting for its signals does not end",
                        self.ring.address()
                    ));
                }
                if let Some(callback) = self.callback {
                    let data = std::ptr::with_exposed_provenance_mut(self.data);
                    // SAFETY: the program's function takes a status, the queue and its data.
                    unsafe { callback(status.0, self.ring.raw(), data) };
                }
            }
            Failure::Memory { address, reason } => {
                let fault = hsa_amd_gpu_memory_fault_info_t {
                    agent: self.gpu.agent(),
                    virtual_address: address,
                    fault_reason_mask: reason,
                };
                let kind = HSA_AMD_GPU_MEMORY_FAULT_EVENT;
                if self.shared.events.report(kind, fault).is_err() {
                    end_process(&self.gpu.product(), address);
                }
            }
        }
    }
}

/// Whether an address means memory of a workgroup or of a lane.
fn is_aperture(address: u64) -> bool {
    const SIZE: u64 = 1 << 32;
    let apertures = [GROUP_APERTURE, PRIVATE_APERTURE];
    apertures
        .iter()
        .any(|&start| (start..start + SIZE).contains(&address))
}

/// Ends the process, as ROCr does without a handler for a memory fault. The fault itself has been reported.
#[expect(clippy::print_stderr, reason = "the last words of the process")]
fn end_process(product: &str, address: u64) -> ! {
    eprintln!(
        "emulated GPU: memory access fault by `{product}` at {address:#x}: no handler of system events accepts it, so \
         the process ends"
    );
    std::process::abort();
}

/// How long a queue waits between looks at a packet that is not published yet.
pub(super) const PUBLISHING: Duration = Duration::from_micros(50);

impl Queue {
    /// Whether programs asked for the times of its kernels.
    pub(crate) fn set_profiled(&self, is_profiled: bool) {
        // Relaxed: times are always kept; the flag has no effect but on queries.
        self.is_profiled.store(is_profiled, Ordering::Relaxed);
    }
}
