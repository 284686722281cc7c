//! The wires that are served, and the memory that they share.

use std::sync::{Arc, Mutex, OnceLock};

use shared_abi::image::DeviceConfig;
use shared_abi::wire::{WireKind, claims};

use super::poller::{Served, Source};
use super::queue::LaunchQueues;
use super::wake::WakeWord;
use super::{Config, Cost, Server, lock};
use crate::device::{Device, DeviceError, Fill};
use crate::wire::{Copier, DeviceAccess, KINDS, Reservation, Reserved, WireParts, native};

/// Most queues for serving threads that are made before they are needed.
const READY_QUEUES: usize = 32;

/// Queues for launches, and for copies that host functions make, that are made before they
/// are needed, beside those: as many as kernels commonly run at a time. It is `cuda:N` that
/// needs this: a queue of `hsa:N` gets what it takes by its first kernel, whatever runs then.
const READY_LAUNCHES: usize = 32;

/// Memory that all wires of a device share.
pub(super) struct Common {
    /// How requests reach the device's memory, the bounce area among it.
    pub(super) access: DeviceAccess,
    /// Device address of the claims.
    claims: u64,
    _reservation: Reservation,
}

impl Common {
    fn new(
        device: &Arc<dyn Device>,
        config: &Config,
        reserved: &Arc<Reserved>,
    ) -> Result<Self, DeviceError> {
        let bounce = Arc::new(device.alloc_mapped(config.bounce_bytes)?);
        let bytes = native::claims(&config.wire, config.bounce_blocks());
        // Queues that the device can give to the threads that will serve: while a kernel
        // waits for a call, making one may mean waiting for the kernel.
        let ready = config.threads.min(READY_QUEUES) + READY_LAUNCHES;
        let mut queues = (0..ready)
            .map(|_| device.queue())
            .collect::<Result<Vec<_>, _>>()?;
        let queue = &mut queues[0];
        let claims = device.alloc(bytes.len() as u64, Fill::Any)?;
        // SAFETY: `bytes` lives until `synchronize` returns.
        let copied = unsafe { queue.copy_to_device(claims, bytes.as_ptr(), bytes.len()) };
        let written = copied.and_then(|()| queue.synchronize());
        if let Err(error) = written {
            device.free(claims);
            return Err(error);
        }
        Ok(Self {
            access: DeviceAccess {
                device: Arc::clone(device),
                bounce,
                reserved: Arc::clone(reserved),
            },
            claims,
            _reservation: reserved.reserve(claims, bytes.len() as u64),
        })
    }
}

/// A wire's place in [`KINDS`] and [`Wires`].
fn wire_index(kind: WireKind) -> usize {
    match KINDS.iter().position(|known| known.kind == kind) {
        Some(index) => index,
        None => unreachable!("a runtime chooses among the wires that it knows"),
    }
}

/// The wires of a device.
#[derive(Default)]
pub(super) struct Wires {
    /// Made with the first wire.
    common: OnceLock<Common>,
    /// As [`KINDS`]; made when the first image speaks it.
    by_kind: [OnceLock<Arc<Served>>; KINDS.len()],
    /// Wires of launches' own.
    pub(super) launch_queues: LaunchQueues,
    /// Locked while one is made.
    pub(super) attaching: Mutex<()>,
}

impl Wires {
    /// The wires of all launches that are served.
    pub(super) fn served(&self) -> impl Iterator<Item = &Arc<Served>> {
        self.by_kind.iter().filter_map(OnceLock::get)
    }

    /// Whether the wire of that kind is among them.
    pub(super) fn is_served(&self, kind: WireKind) -> bool {
        self.by_kind[wire_index(kind)].get().is_some()
    }

    /// Device address of the claims, if there are any.
    pub(super) fn claims(&self) -> Option<u64> {
        self.common.get().map(|common| common.claims)
    }
}

impl Server {
    /// What an image that speaks the wire of that kind has to know; makes what
    /// there is not yet.
    pub(crate) fn connect(&self, kind: WireKind) -> Result<DeviceConfig, DeviceError> {
        let _attaching = lock(&self.wires.attaching);
        let common = self.common()?;
        Ok(DeviceConfig {
            wire_kind: kind.0,
            slots: self.config.wire.slots,
            wire: self.attach(kind, common)?,
            claims: common.claims,
            bounce: common.access.bounce.device,
            wake_word: self.poller.wake_word.device_address(),
            bounce_blocks: self.config.bounce_blocks(),
            reserved: 0,
        })
    }

    /// What wires share, which is made if there is none. `attaching` is locked.
    pub(super) fn common(&self) -> Result<&Common, DeviceError> {
        if let Some(common) = self.wires.common.get() {
            return Ok(common);
        }
        let common = Common::new(&self.device, &self.config, &self.reserved)?;
        self.poller
            .wake_word
            .attach(self.device.alloc_mapped(WakeWord::BYTES)?);
        Ok(self.wires.common.get_or_init(|| common))
    }

    /// Device address of the wire of that kind, which is made if there is none. `attaching` is
    /// locked.
    fn attach(&self, kind: WireKind, common: &Common) -> Result<u64, DeviceError> {
        let index = wire_index(kind);
        if let Some(served) = self.wires.by_kind[index].get() {
            return Ok(served.wire.address());
        }
        let config = &self.config.wire;
        let memory = self.device.alloc_mapped((KINDS[index].bytes)(config))?;
        let parts = (KINDS[index].attach)(memory, config, &common.access);
        let served = self.serve_wire(parts);
        Ok(self.wires.by_kind[index]
            .get_or_init(|| served)
            .wire
            .address())
    }

    /// Serves a wire from now on.
    pub(super) fn serve_wire(&self, parts: WireParts) -> Arc<Served> {
        let WireParts { wire, poller } = parts;
        let wire = Arc::new(Served::new(wire));
        self.poller.add_source(Source {
            poller,
            wire: Arc::clone(&wire),
        });
        wire
    }

    /// What calls cost with one wire of that kind.
    pub(crate) fn cost(&self, kind: WireKind) -> Cost {
        let config = &self.config.wire;
        let wire = (KINDS[wire_index(kind)].bytes)(config);
        Cost {
            mapped: (wire + self.config.bounce_bytes + WakeWord::BYTES) as u64,
            device: claims::size(config.slots, self.config.bounce_blocks()) as u64,
            threads: self.config.threads,
        }
    }

    pub(super) fn copier(&self) -> Copier {
        match self.wires.common.get() {
            Some(common) => common.access.copier(),
            None => unreachable!("only kernels of a connected image are served"),
        }
    }
}
