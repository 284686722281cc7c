//! Queues: one thread each, which processes packets in order.

use std::alloc::{Layout, alloc, dealloc};
use std::ffi::c_void;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU16, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use emu_driver::process::{handle, lock, setting};
use host_rt::device::{Grid, Params, Queue as HostQueue};
use hsa_runtime_sys::*;
use standin::launch;

use crate::agent::most_packets;
use crate::code::say;
use crate::content::{Code, HostCode};
use crate::packet::{self, PACKET};
use crate::signal::{Cell, notify, wait_until};
use crate::simulated::Launch;
use crate::state::{Answer, State, answer, state};

/// How long a queue that is closed waits for its thread to notice, on a busy machine.
const THREAD: Duration = Duration::from_secs(30);

/// How long it waits for the end of a kernel.
const KERNEL: Duration = Duration::from_millis(20);

type Callback = unsafe extern "C" fn(hsa_status_t, *mut hsa_queue_t, *mut c_void);

/// A queue.
pub(crate) struct Queue {
    id: u64,
    number: usize,
    /// The caller's view of it.
    raw: *mut hsa_queue_t,
    base: *mut u8,
    size: u64,
    doorbell: Arc<Cell>,
    write: AtomicU64,
    read: AtomicU64,
    callback: Option<Callback>,
    data: usize,
    is_closed: AtomicBool,
    /// Whether a kernel runs.
    is_busy: AtomicBool,
    has_ended: AtomicBool,
}

impl State {
    /// Whether a GPU has room for one more kernel: running ones fill it.
    pub(crate) fn has_room(&self, number: usize) -> bool {
        let queues = lock(&self.queues);
        let mut others = queues.values().filter(|queue| queue.number == number);
        others.all(|queue| !queue.is_busy.load(Ordering::Acquire))
    }
}

// SAFETY: the pointers stay valid until the thread has ended and the queue is destroyed, and their
// memory is accessed as the specification of queues requires.
unsafe impl Send for Queue {}
// SAFETY: the pointers stay valid until the queue is destroyed, and their memory is accessed as the
// specification of queues requires.
unsafe impl Sync for Queue {}

fn ring(size: u64) -> Layout {
    Layout::from_size_align(size as usize * PACKET, 4096).expect("sizes of queues are small")
}

impl Drop for Queue {
    fn drop(&mut self) {
        // SAFETY: made by `hsa_queue_create`, with this layout; the last owner drops.
        unsafe {
            dealloc(self.base, ring(self.size));
            drop(Box::from_raw(self.raw));
        }
    }
}

/// # Safety
/// `queue` is valid for a pointer.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn hsa_queue_create(
    agent: hsa_agent_t,
    size: u32,
    kind: hsa_queue_type32_t,
    callback: Option<Callback>,
    data: *mut c_void,
    _private: u32,
    _group: u32,
    queue: *mut *mut hsa_queue_t,
) -> hsa_status_t {
    answer("hsa_queue_create", |state| {
        let number = state.gpu(agent)?;
        if !size.is_power_of_two() || size > most_packets() || kind > HSA_QUEUE_TYPE_SINGLE {
            return Err(HSA_STATUS_ERROR_INVALID_ARGUMENT);
        }
        let host = state.gpus[number].device.queue();
        let host = host.map_err(|_| HSA_STATUS_ERROR_OUT_OF_RESOURCES)?;
        // SAFETY: the layout is not empty.
        let base = unsafe { alloc(ring(u64::from(size))) };
        if base.is_null() {
            return Err(HSA_STATUS_ERROR_OUT_OF_RESOURCES);
        }
        for packet in 0..size as usize {
            // SAFETY: within the ring, and not shared yet.
            unsafe {
                base.add(packet * PACKET)
                    .cast::<u16>()
                    .write(HSA_PACKET_TYPE_INVALID as u16);
            }
        }
        let id = handle();
        let (doorbell, cell) = state.new_signal(-1);
        // SAFETY: a struct of numbers, pointers and handles, for which zeros are valid.
        let mut raw: hsa_queue_t = unsafe { std::mem::zeroed() };
        raw.type_ = kind;
        raw.base_address = base.cast();
        raw.doorbell_signal = doorbell;
        raw.size = size;
        raw.id = id;
        let raw = Box::into_raw(Box::new(raw));
        let made = Arc::new(Queue {
            id,
            number,
            raw,
            base,
            size: u64::from(size),
            doorbell: cell,
            write: AtomicU64::new(0),
            read: AtomicU64::new(0),
            callback,
            data: data.addr(),
            is_closed: AtomicBool::new(false),
            is_busy: AtomicBool::new(false),
            has_ended: AtomicBool::new(false),
        });
        let worker = Arc::clone(&made);
        let thread = std::thread::Builder::new()
            .name("aql".to_owned())
            .stack_size(256 << 10)
            .spawn(move || worker.run(host));
        if thread.is_err() {
            lock(&state.signals).remove(&doorbell.handle);
            return Err(HSA_STATUS_ERROR_OUT_OF_RESOURCES);
        }
        lock(&state.queues).insert(raw.addr(), made);
        // SAFETY: the caller's promise.
        unsafe { queue.write(raw) };
        Ok(())
    })
}

/// Destroys a queue. On a GPU its kernels are killed; here they run on, with their resources.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn hsa_queue_destroy(queue: *mut hsa_queue_t) -> hsa_status_t {
    answer("hsa_queue_destroy", |state| {
        let destroyed = lock(&state.queues).remove(&queue.addr());
        let destroyed = destroyed.ok_or(HSA_STATUS_ERROR_INVALID_QUEUE)?;
        destroyed.is_closed.store(true, Ordering::Release);
        notify();
        destroyed.end(state);
        // SAFETY: this queue is alive.
        let doorbell = unsafe { (*destroyed.raw).doorbell_signal };
        lock(&state.signals).remove(&doorbell.handle);
        Ok(())
    })
}

fn known(queue: *const hsa_queue_t) -> Arc<Queue> {
    let found = lock(&state().queues).get(&queue.addr()).cloned();
    found.unwrap_or_else(|| panic!("{queue:?} is no queue, or was destroyed"))
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn hsa_queue_add_write_index_relaxed(
    queue: *const hsa_queue_t,
    count: u64,
) -> u64 {
    // Relaxed: as named.
    known(queue).write.fetch_add(count, Ordering::Relaxed)
}

#[unsafe(no_mangle)]
extern "C" fn hsa_queue_store_write_index_screlease(queue: *const hsa_queue_t, index: u64) {
    known(queue).write.store(index, Ordering::Release);
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn hsa_queue_load_read_index_scacquire(queue: *const hsa_queue_t) -> u64 {
    known(queue).read.load(Ordering::Acquire)
}

impl Queue {
    fn is_closed(&self) -> bool {
        self.is_closed.load(Ordering::Acquire)
    }

    /// Waits until the closed queue has ended, or a kernel prevents that.
    fn end(&self, state: &State) {
        let has_ended = || self.has_ended.load(Ordering::Acquire);
        let is_busy = || self.is_busy.load(Ordering::Acquire);
        // Everything except kernels ends at once, when its thread runs.
        wait_until(Some(Instant::now() + THREAD), || has_ended() || is_busy());
        if wait_until(Some(Instant::now() + KERNEL), has_ended) {
            return;
        }
        state.zombies.add(self.id);
        // A thread that has ended before did not see that the queue is a zombie.
        if has_ended() {
            state.zombies.remove(self.id);
        }
    }

    fn run(&self, mut host: Box<dyn HostQueue>) {
        let (mut index, mut is_behind) = (0u64, false);
        loop {
            let is_rung = || self.doorbell.get() >= index.cast_signed();
            wait_until(None, || self.is_closed() || is_rung());
            if self.is_closed() {
                break;
            }
            match self.process(index, is_behind, &mut *host) {
                Ok(is_before) => is_behind = is_before,
                Err(status) => {
                    if !self.is_closed() {
                        self.fail(status);
                    }
                    break;
                }
            }
            index += 1;
        }
        drop(host);
        self.has_ended.store(true, Ordering::Release);
        notify();
        state().zombies.remove(self.id);
    }

    /// Reports an error; nothing in the queue runs any more.
    fn fail(&self, status: hsa_status_t) {
        if setting("REVOFF_HSA_STAND_IN_FAULT", 0) != 0 {
            let kind = HSA_AMD_GPU_MEMORY_FAULT_EVENT;
            if state().events.tell(kind, self.number) == Some(HSA_STATUS_ERROR) {
                // Like ROCr if there is no handler.
                std::process::abort();
            }
        } else if let Some(callback) = self.callback {
            // SAFETY: the caller's function takes a status, the queue and its data.
            unsafe { callback(status, self.raw, self.data as *mut c_void) };
        }
    }

    /// Processes a packet. Returns whether the next one came before this had ended.
    fn process(&self, index: u64, is_behind: bool, host: &mut dyn HostQueue) -> Answer<bool> {
        // The device may use either of the two.
        if index >= self.write.load(Ordering::Acquire) {
            say("the doorbell rang before the write index said that the packet is there");
            return Err(HSA_STATUS_ERROR_INVALID_ARGUMENT);
        }
        // SAFETY: within the ring; the packet was there before the doorbell rang.
        let place = unsafe { self.base.add((index % self.size) as usize * PACKET) };
        // SAFETY: the header is aligned, and accessed atomically by both sides until it is valid.
        let header = unsafe { AtomicU16::from_ptr(place.cast()) };
        let done = match packet::kind(header.load(Ordering::Acquire), is_behind)? {
            packet::Kind::Barrier => {
                // SAFETY: a packet of this kind, which the caller leaves alone.
                let packet = unsafe { place.cast::<hsa_barrier_and_packet_t>().read() };
                self.barrier(&packet)?;
                self.take(index, header);
                packet.completion_signal
            }
            packet::Kind::Kernel => {
                // SAFETY: a packet of this kind, which the caller leaves alone.
                let packet = unsafe { place.cast::<hsa_kernel_dispatch_packet_t>().read() };
                // SAFETY: a packet's memory in the ring.
                let body = unsafe { packet::body(place) };
                packet::check(&packet)?;
                self.is_busy.store(true, Ordering::Release);
                notify();
                // The position is free when the kernel begins, not when it ends.
                self.take(index, header);
                let ran = self.dispatch(&packet, host);
                self.is_busy.store(false, Ordering::Release);
                notify();
                ran?;
                // A kernel reads its packet until its signal reports the end.
                // SAFETY: a packet's memory in the ring.
                if unsafe { packet::body(place) } != body {
                    say("the place of a packet was used again while its kernel ran");
                    return Err(HSA_STATUS_ERROR_INVALID_PACKET_FORMAT);
                }
                packet.completion_signal
            }
        };
        let is_before = self.doorbell.get() > index.cast_signed();
        if done.handle != 0 {
            state().signal(done)?.count_down();
        }
        Ok(is_before)
    }

    /// Returns the position of a packet that was read to the caller.
    fn take(&self, index: u64, header: &AtomicU16) {
        header.store(HSA_PACKET_TYPE_INVALID as u16, Ordering::Release);
        self.read.store(index + 1, Ordering::Release);
    }

    fn barrier(&self, packet: &hsa_barrier_and_packet_t) -> Answer {
        let signals = packet.dep_signal.iter().filter(|signal| signal.handle != 0);
        let signals = signals.map(|&signal| state().signal(signal));
        let signals = signals.collect::<Answer<Vec<_>>>()?;
        let are_done = || signals.iter().all(|cell| cell.get() == 0);
        wait_until(None, || self.is_closed() || are_done());
        are_done().then_some(()).ok_or(HSA_STATUS_ERROR)
    }

    fn dispatch(&self, packet: &hsa_kernel_dispatch_packet_t, host: &mut dyn HostQueue) -> Answer {
        let state: &State = state();
        let kernel = lock(&state.kernels).get(&packet.kernel_object).cloned();
        let kernel = kernel.ok_or(HSA_STATUS_ERROR_INVALID_CODE_SYMBOL)?;
        let agent = crate::agent::gpu_agent(self.number);
        let arguments = packet.kernarg_address;
        if !state.may_use(agent, arguments.addr() as u64, kernel.reads()) {
            return Err(HSA_STATUS_ERROR_INVALID_ARGUMENT);
        }
        let launch = Launch {
            gpu: self.number,
            team: [
                packet.workgroup_size_x,
                packet.workgroup_size_y,
                packet.workgroup_size_z,
            ],
            grid: [packet.grid_size_x, packet.grid_size_y, packet.grid_size_z],
            group: packet.group_segment_size,
            arguments,
        };
        match &kernel.code {
            // SAFETY: the arguments match the kernel, by the promise of ROCr's caller; they stay
            // until the packet is done.
            Code::Simulated(code) => unsafe { code.run(launch) }.map_err(|reason| {
                say(&format!("kernel `{}`: {reason}", kernel.name()));
                HSA_STATUS_ERROR_EXCEPTION
            }),
            Code::Host(code) => run_on_host(code, launch, host),
        }
    }
}

/// Runs a kernel of a shared object.
fn run_on_host(code: &HostCode, launch: Launch, host: &mut dyn HostQueue) -> Answer {
    let params = code.layout.parameters().map(|arg| {
        let arguments = launch.arguments.cast::<u8>();
        // SAFETY: within the memory of arguments, which the caller leaves alone.
        unsafe { std::slice::from_raw_parts(arguments.add(arg.offset as usize), arg.size as usize) }
    });
    let params: Params = params.collect();
    // The `host` device has one dimension of teams and of threads, and no shared memory, so two
    // dimensions of threads are multiplied.
    let ([x, y, 1], [all, rows, 1]) = (launch.team, launch.grid) else {
        return Err(HSA_STATUS_ERROR_INVALID_PACKET_FORMAT);
    };
    let (x, y) = (u32::from(x), u32::from(y));
    if x == 0 || y == 0 || !all.is_multiple_of(x) || rows != y {
        return Err(HSA_STATUS_ERROR_INVALID_PACKET_FORMAT);
    }
    let grid = Grid {
        teams: all / x,
        threads: x * y,
    };
    // SAFETY: the parameters match the kernel, by the promise of ROCr's caller.
    let running =
        unsafe { host.launch(&code.module, code.kernel, grid, &params, launch::context()) };
    let running = running.map_err(|_| HSA_STATUS_ERROR_OUT_OF_RESOURCES)?;
    match running.wait(None) {
        Some(Ok(())) => Ok(()),
        Some(Err(_)) | None => Err(HSA_STATUS_ERROR_EXCEPTION),
    }
}
