//! A queue, and loaded kernels.

use std::ffi::{CString, c_void};
use std::ptr::{null, null_mut};
use std::sync::Arc;
use std::sync::atomic::{AtomicU16, AtomicU32, Ordering};

use hsa_runtime_sys::*;

use crate::assemble;
use crate::gpu::{Gpu, hsa, works};

/// Scopes and the barrier bit of a header.
pub(crate) const SCOPES: u16 = 2 << 9 | 2 << 11;
pub(crate) const BARRIER: u16 = 1 << 8;

/// A queue, and the error that it has reported.
pub(crate) struct Queue {
    pub(crate) raw: *mut hsa_queue_t,
    /// 0 while there is none.
    pub(crate) failure: Arc<AtomicU32>,
}

impl Drop for Queue {
    fn drop(&mut self) {
        works(hsa!(hsa_queue_destroy(self.raw => *mut hsa_queue_t)));
    }
}

type Callback = unsafe extern "C" fn(hsa_status_t, *mut hsa_queue_t, *mut c_void);

unsafe extern "C" fn failed(status: hsa_status_t, _: *mut hsa_queue_t, failure: *mut c_void) {
    // SAFETY: alive until the queue is destroyed.
    let failure = unsafe { &*failure.cast::<AtomicU32>() };
    failure.store(status, Ordering::Release);
}

/// A packet's words.
pub(crate) type Packet = [u32; 16];

impl Queue {
    pub(crate) fn new(gpu: &Gpu, packets: u32) -> Self {
        let (failure, mut raw) = (Arc::new(AtomicU32::new(0)), null_mut());
        works(hsa!(hsa_queue_create(
            gpu.agent => hsa_agent_t,
            packets => u32,
            HSA_QUEUE_TYPE_MULTI => u32,
            failed => Callback,
            Arc::as_ptr(&failure).cast_mut().cast() => *mut c_void,
            u32::MAX => u32,
            u32::MAX => u32,
            &raw mut raw => *mut *mut hsa_queue_t,
        )));
        Self { raw, failure }
    }

    /// Takes a place for a packet.
    pub(crate) fn reserve(&self) -> u64 {
        hsa!(hsa_queue_add_write_index_relaxed(
            self.raw => *const hsa_queue_t, 1 => u64
        ) -> u64)
    }

    /// Writes a packet, whose first word is last.
    pub(crate) fn write(&self, index: u64, packet: &Packet) {
        // SAFETY: the queue is alive; its size and ring do not change.
        let (base, size) = unsafe { ((*self.raw).base_address, (*self.raw).size) };
        let place = base
            .cast::<Packet>()
            .wrapping_add((index % u64::from(size)) as usize);
        for at in (0..16).rev() {
            // SAFETY: inside the ring, and aligned.
            let word = unsafe { AtomicU32::from_ptr(place.cast::<u32>().add(at)) };
            word.store(packet[at], Ordering::Release);
        }
    }

    pub(crate) fn ring(&self, index: u64) {
        // SAFETY: the queue is alive; its doorbell does not change.
        let doorbell = unsafe { (*self.raw).doorbell_signal };
        crate::gpu::store(doorbell, index.cast_signed());
    }

    /// Queues a packet.
    pub(crate) fn push(&self, packet: &Packet) -> u64 {
        let index = self.reserve();
        self.write(index, packet);
        self.ring(index);
        index
    }

    pub(crate) fn read_index(&self) -> u64 {
        hsa!(hsa_queue_load_read_index_scacquire(self.raw => *const hsa_queue_t) -> u64)
    }

    pub(crate) fn failure(&self) -> u32 {
        self.failure.load(Ordering::Acquire)
    }

    /// Waits until it has failed.
    pub(crate) fn wait_for_failure(&self) -> u32 {
        for _ in 0..20_000 {
            if self.failure() != 0 {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        self.failure()
    }

    /// The header of a packet.
    pub(crate) fn header(&self, index: u64) -> u16 {
        // SAFETY: the queue is alive; its ring does not change.
        let base = unsafe { (*self.raw).base_address }.cast::<Packet>();
        // SAFETY: inside the ring, and aligned.
        let header = unsafe { AtomicU16::from_ptr(base.wrapping_add(index as usize).cast()) };
        header.load(Ordering::Acquire)
    }
}

/// A packet from a struct.
pub(crate) fn packet<T>(packet: T) -> Packet {
    assert_eq!(size_of::<T>(), size_of::<Packet>());
    // SAFETY: of the same size, and without padding.
    unsafe { std::mem::transmute_copy(&packet) }
}

/// A packet that waits for signals.
pub(crate) fn barrier(kind: u32, after: &[hsa_signal_t], done: hsa_signal_t) -> Packet {
    let none = hsa_signal_t { handle: 0 };
    let mut dep_signal = [none; 5];
    dep_signal[..after.len()].copy_from_slice(after);
    packet(hsa_barrier_and_packet_t {
        header: kind as u16 | SCOPES | BARRIER,
        reserved0: 0,
        reserved1: 0,
        dep_signal,
        reserved2: 0,
        completion_signal: done,
    })
}

/// A packet of a kernel with one work-item.
pub(crate) fn dispatch(object: u64, arguments: *mut c_void, done: hsa_signal_t) -> Packet {
    packet(hsa_kernel_dispatch_packet_t {
        header: HSA_PACKET_TYPE_KERNEL_DISPATCH as u16 | SCOPES,
        setup: 1,
        workgroup_size_x: 1,
        workgroup_size_y: 1,
        workgroup_size_z: 1,
        reserved0: 0,
        grid_size_x: 1,
        grid_size_y: 1,
        grid_size_z: 1,
        private_segment_size: 0,
        group_segment_size: 0,
        kernel_object: object,
        kernarg_address: arguments,
        reserved2: 0,
        completion_signal: done,
    })
}

/// The tests' kernels on a GPU.
pub(crate) struct Kernels {
    pub(crate) executable: hsa_executable_t,
    agent: hsa_agent_t,
}

impl Drop for Kernels {
    fn drop(&mut self) {
        works(hsa!(hsa_executable_destroy(self.executable => hsa_executable_t)));
    }
}

/// A new executable.
pub(crate) fn executable() -> hsa_executable_t {
    let mut executable = hsa_executable_t { handle: 0 };
    works(hsa!(hsa_executable_create_alt(
        HSA_PROFILE_FULL => u32,
        HSA_DEFAULT_FLOAT_ROUNDING_MODE_DEFAULT => u32,
        null() => *const u8,
        &raw mut executable => *mut hsa_executable_t,
    )));
    executable
}

/// Loads a code object into an executable.
pub(crate) fn load(executable: hsa_executable_t, gpu: &Gpu, bytes: &[u8]) -> hsa_status_t {
    let mut reader = hsa_code_object_reader_t { handle: 0 };
    works(hsa!(hsa_code_object_reader_create_from_memory(
        bytes.as_ptr().cast() => *const c_void,
        bytes.len() => usize,
        &raw mut reader => *mut hsa_code_object_reader_t,
    )));
    let status = hsa!(hsa_executable_load_agent_code_object(
        executable => hsa_executable_t,
        gpu.agent => hsa_agent_t,
        reader => hsa_code_object_reader_t,
        null() => *const u8,
        null_mut() => *mut hsa_loaded_code_object_t,
    ));
    works(hsa!(hsa_code_object_reader_destroy(reader => hsa_code_object_reader_t)));
    status
}

impl Kernels {
    /// Loads and freezes them, if this machine has an assembler.
    pub(crate) fn load(gpu: &Gpu) -> Option<Self> {
        let kernels = Self::load_unfrozen(gpu)?;
        works(kernels.freeze());
        Some(kernels)
    }

    /// Loads them, if this machine has an assembler.
    pub(crate) fn load_unfrozen(gpu: &Gpu) -> Option<Self> {
        let bytes = assemble::kernels()?;
        let executable = executable();
        works(load(executable, gpu, bytes));
        Some(Self {
            executable,
            agent: gpu.agent,
        })
    }

    pub(crate) fn freeze(&self) -> hsa_status_t {
        hsa!(hsa_executable_freeze(self.executable => hsa_executable_t, null() => *const u8))
    }

    /// The symbol with a name.
    pub(crate) fn symbol(&self, name: &str) -> Result<hsa_executable_symbol_t, hsa_status_t> {
        let name = CString::new(name).expect("a name");
        let mut symbol = hsa_executable_symbol_t { handle: 0 };
        let status = hsa!(hsa_executable_get_symbol_by_name(
            self.executable => hsa_executable_t,
            name.as_ptr().cast() => *const u8,
            &raw const self.agent => *const hsa_agent_t,
            &raw mut symbol => *mut hsa_executable_symbol_t,
        ));
        match status {
            HSA_STATUS_SUCCESS => Ok(symbol),
            status => Err(status),
        }
    }

    /// All symbols.
    pub(crate) fn symbols(&self) -> Vec<hsa_executable_symbol_t> {
        unsafe extern "C" fn collect(
            _: hsa_executable_t,
            _: hsa_agent_t,
            symbol: hsa_executable_symbol_t,
            symbols: *mut c_void,
        ) -> hsa_status_t {
            // SAFETY: the vector below, which nothing else uses meanwhile.
            unsafe { (*symbols.cast::<Vec<hsa_executable_symbol_t>>()).push(symbol) };
            HSA_STATUS_SUCCESS
        }
        type Collect = unsafe extern "C" fn(
            hsa_executable_t,
            hsa_agent_t,
            hsa_executable_symbol_t,
            *mut c_void,
        ) -> hsa_status_t;
        let mut symbols: Vec<hsa_executable_symbol_t> = Vec::new();
        works(hsa!(hsa_executable_iterate_agent_symbols(
            self.executable => hsa_executable_t,
            self.agent => hsa_agent_t,
            collect => Collect,
            (&raw mut symbols).cast() => *mut c_void,
        )));
        symbols
    }

    /// The object of a kernel.
    pub(crate) fn object(&self, name: &str) -> u64 {
        let symbol = self.symbol(&format!("{name}.kd")).expect("a kernel");
        info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT, 0)
    }

    /// The address of a variable.
    pub(crate) fn address(&self, name: &str) -> *mut c_void {
        let symbol = self.symbol(name).expect("a variable");
        let address: u64 = info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_ADDRESS, 0);
        address as *mut c_void
    }
}

/// A property of a symbol, whose type is that of `value`.
pub(crate) fn info<T>(symbol: hsa_executable_symbol_t, what: u32, mut value: T) -> T {
    works(hsa!(hsa_executable_symbol_get_info(
        symbol => hsa_executable_symbol_t,
        what => u32,
        (&raw mut value).cast() => *mut c_void,
    )));
    value
}
