//! A sequence of calls, and what it has made.

use std::ffi::c_void;

use hsa_runtime_sys::*;

use super::runtime::{hsa, works};
use super::world::{World, comes};
use crate::host_memory::{self, HOST_MEMORY};
use crate::input::Operands;
use crate::objects::{Object, Objects};

/// The kind of object that a handle or an address names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Signal,
    Group,
    /// Memory of a pool.
    Memory,
    Locked,
    Reader,
    Executable,
    Symbol,
    /// A kernel that can be launched.
    Kernel,
    Queue,
    /// A queue of the processor.
    SoftQueue,
}

/// Memory.
pub(super) const MEMORY: [Kind; 2] = [Kind::Memory, Kind::Locked];

/// The windows of GPUs, whose addresses the host cannot have.
const WINDOWS: std::ops::Range<u64> = 1 << 45..(1 << 45) + (32 << 40);

/// Numbers that are no handles or addresses of a sequence.
const STRANGE: [u64; 6] = [
    0,
    1,
    u64::MAX,
    1 << 45,
    1 << 45 | 0x1234_5678,
    0x5afe_0000_0000_0000,
];

/// An address as a pointer.
pub(super) fn pointer(address: u64) -> *mut c_void {
    std::ptr::with_exposed_provenance_mut(address as usize)
}

/// A sequence of calls.
pub(super) struct Sequence<'a> {
    pub(super) world: &'a World,
    pub(super) objects: Objects<Kind>,
}

impl<'a> Sequence<'a> {
    pub(super) fn new(world: &'a World) -> Self {
        Self {
            world,
            objects: Objects::new(STRANGE.into_iter().chain([world.foreign()]).collect()),
        }
    }

    pub(super) fn pick(&self, kinds: &[Kind], operands: &mut Operands<'_>) -> Object<Kind> {
        self.objects.pick(kinds, None, operands.byte())
    }

    /// A handle.
    pub(super) fn handle(&self, kind: Kind, operands: &mut Operands<'_>) -> u64 {
        self.pick(&[kind], operands).value
    }

    /// A signal.
    pub(super) fn signal(&self, operands: &mut Operands<'_>) -> hsa_signal_t {
        let handle = self.handle(Kind::Signal, operands);
        hsa_signal_t { handle }
    }

    /// One that is there, for functions that end the process if it is not.
    pub(super) fn live(&self, kinds: &[Kind], operands: &mut Operands<'_>) -> Option<u64> {
        let live: Vec<_> = self.objects.live_of(kinds).collect();
        let number = usize::from(operands.byte());
        (!live.is_empty()).then(|| live[number % live.len()].value)
    }

    /// A queue.
    pub(super) fn queue(&self, operands: &mut Operands<'_>) -> *mut hsa_queue_t {
        pointer(self.pick(&[Kind::Queue, Kind::SoftQueue], operands).value).cast()
    }

    /// An agent, or none.
    pub(super) fn agent(&self, operands: &mut Operands<'_>) -> hsa_agent_t {
        match operands.byte() {
            0..160 => self.world.gpu,
            160..224 => self.world.cpu,
            choice => hsa_agent_t {
                handle: STRANGE[usize::from(choice) % STRANGE.len()],
            },
        }
    }

    /// Makes something by `call`, which writes its handle: sometimes it may not.
    pub(super) fn make(
        &mut self,
        kind: Kind,
        bytes: u64,
        operands: &mut Operands<'_>,
        call: impl FnOnce(*mut u64) -> hsa_status_t,
    ) -> hsa_status_t {
        let mut made = 0;
        let is_null = operands.is_rare(8);
        let out = if is_null {
            std::ptr::null_mut()
        } else {
            &raw mut made
        };
        let status = call(out);
        if status == HSA_STATUS_SUCCESS {
            assert!(!is_null, "a {kind:?} was made for nobody");
            self.objects.add(kind, made, 0, bytes);
        }
        status
    }

    /// Notes that something has ended, if the call that destroys it was successful.
    pub(super) fn ended(&mut self, status: hsa_status_t, value: u64) -> hsa_status_t {
        if status == HSA_STATUS_SUCCESS {
            self.objects.end(value);
        }
        status
    }

    /// A range that may be the host's memory: null if it could be and is not, or if it is somebody else's.
    pub(super) fn checked(&self, address: u64, len: u64) -> u64 {
        let is_inside = |start: u64, bytes: u64| {
            let end = address
                .checked_sub(start)
                .and_then(|at| at.checked_add(len));
            end.is_some_and(|end| end <= bytes)
        };
        let foreign = self.world.foreign();
        if WINDOWS.contains(&address) {
            return if address & !0xfff == foreign & !0xfff {
                0
            } else {
                address
            };
        }
        let is_known = self.objects.live_of(&MEMORY).any(|object| {
            // Beyond the end of a pool's memory is what the runtime knows.
            is_inside(object.value, object.bytes)
                || object.kind == Kind::Memory && address == object.value
        });
        let is_memory = is_known || is_inside(HOST_MEMORY.copied, host_memory::BYTES);
        if is_memory { address } else { 0 }
    }

    /// Frees everything. All of it must be there.
    pub(super) fn free_all(&mut self) {
        // Copies wait for signals, and change others.
        let all = self.objects.live_of(&[Kind::Signal]);
        let signals = all.map(|object| hsa_signal_t {
            handle: object.value,
        });
        comes("the end of copies", || {
            for signal in signals.clone() {
                hsa!(hsa_signal_store_screlease(signal => hsa_signal_t, 0 => i64) -> ());
            }
            hsa_emu::counts().copies == 0
        });
        for kind in [
            Kind::Queue,
            Kind::SoftQueue,
            Kind::Group,
            Kind::Reader,
            Kind::Executable,
            Kind::Locked,
            Kind::Memory,
            Kind::Signal,
        ] {
            for Object { value, .. } in self.objects.live_of(&[kind]) {
                works(destroy(kind, value));
            }
        }
    }
}

/// Destroys something.
pub(super) fn destroy(kind: Kind, handle: u64) -> hsa_status_t {
    match kind {
        Kind::Signal => hsa!(hsa_signal_destroy(hsa_signal_t { handle } => hsa_signal_t)),
        Kind::Group => {
            hsa!(hsa_signal_group_destroy(hsa_signal_group_t { handle } => hsa_signal_group_t))
        }
        Kind::Memory => hsa!(hsa_amd_memory_pool_free(pointer(handle) => *mut c_void)),
        Kind::Locked => hsa!(hsa_amd_memory_unlock(pointer(handle) => *mut c_void)),
        Kind::Reader => hsa!(hsa_code_object_reader_destroy(
            hsa_code_object_reader_t { handle } => hsa_code_object_reader_t
        )),
        Kind::Executable => {
            hsa!(hsa_executable_destroy(hsa_executable_t { handle } => hsa_executable_t))
        }
        Kind::Queue | Kind::SoftQueue => {
            hsa!(hsa_queue_destroy(pointer(handle).cast() => *mut hsa_queue_t))
        }
        Kind::Symbol | Kind::Kernel => HSA_STATUS_SUCCESS,
    }
}
