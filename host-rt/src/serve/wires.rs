//! The served wires, and the memory that they share.

use std::sync::{Arc, Mutex, OnceLock};

use shared_abi::image::DeviceConfig;
use shared_abi::wire::{WireKind, claims};

use super::launch_wire::LaunchWires;
use super::served_wire::{ServedWire, Source};
use super::wake::WakeWord;
use super::{Config, Cost, Server, lock};
use crate::device::{Device, DeviceAddr, DeviceError, Fill};
use crate::wire::{Copier, DeviceAccess, KINDS, Reservation, Reserved, WireParts, native};

/// Maximum number of queues for serving threads that are created in advance.
const READY_QUEUES: usize = 32;

/// Additional queues that are created in advance, for launches and for copies by host functions: as
/// many as kernels commonly run at a time. Only `cuda:N` needs them: a queue of `hsa:N` can
/// allocate its resources even while kernels run.
const READY_LAUNCHES: usize = 32;

/// Memory that all wires of a device share.
pub(super) struct Common {
    /// Access to device memory, including the bounce area.
    pub(super) access: DeviceAccess,
    claims: Claims,
}

/// The claims of the `native` wire, in device memory. Freed when dropped.
struct Claims {
    device: Arc<dyn Device>,
    address: DeviceAddr,
    _reservation: Reservation,
}

impl Claims {
    fn new(
        device: &Arc<dyn Device>,
        bytes: u64,
        reserved: &Arc<Reserved>,
    ) -> Result<Self, DeviceError> {
        let address = device.alloc(bytes, Fill::Any)?;
        Ok(Self {
            device: Arc::clone(device),
            address,
            _reservation: reserved.reserve(address, bytes),
        })
    }
}

impl Drop for Claims {
    fn drop(&mut self) {
        self.device.free(self.address);
    }
}

impl Common {
    fn new(
        device: &Arc<dyn Device>,
        config: &Config,
        reserved: &Arc<Reserved>,
    ) -> Result<Self, DeviceError> {
        let bounce = Arc::new(device.alloc_mapped(config.bounce_bytes)?);
        let bytes = native::claims(&config.wire, config.bounce_blocks());
        // The device keeps these queues for the serving threads: while a kernel waits for a call,
        // creating a queue might wait for that kernel.
        let ready = config.threads.min(READY_QUEUES) + READY_LAUNCHES;
        let mut queues = (0..ready)
            .map(|_| device.queue())
            .collect::<Result<Vec<_>, _>>()?;
        let queue = &mut queues[0];
        let claims = Claims::new(device, bytes.len() as u64, reserved)?;
        // SAFETY: `bytes` is readable for its length, and unwritten until `synchronize` returns.
        unsafe { queue.copy_to_device(claims.address, bytes.as_ptr(), bytes.len())? };
        queue.synchronize()?;
        Ok(Self {
            access: DeviceAccess {
                device: Arc::clone(device),
                bounce,
                reserved: Arc::clone(reserved),
            },
            claims,
        })
    }
}

/// The index of a wire in [`KINDS`] and [`Wires`].
fn wire_index(kind: WireKind) -> usize {
    match KINDS.iter().position(|known| known.kind == kind) {
        Some(index) => index,
        None => unreachable!("a runtime chooses among the wires of the table"),
    }
}

/// The wires of a device.
#[derive(Default)]
pub(super) struct Wires {
    /// Created with the first wire.
    common: OnceLock<Common>,
    /// In the order of [`KINDS`]; each is created for the first image that uses it.
    by_kind: [OnceLock<Arc<ServedWire>>; KINDS.len()],
    /// Wires of single launches.
    pub(super) launch_wires: LaunchWires,
    /// Locked while a wire is created.
    pub(super) attaching: Mutex<()>,
}

impl Wires {
    /// The served wires that all launches share.
    pub(super) fn served(&self) -> impl Iterator<Item = &Arc<ServedWire>> {
        self.by_kind.iter().filter_map(OnceLock::get)
    }

    /// The shared wire of that kind, if it is served.
    pub(super) fn served_kind(&self, kind: WireKind) -> Option<&Arc<ServedWire>> {
        self.by_kind[wire_index(kind)].get()
    }
}

impl Server {
    /// The configuration for an image that uses the wire of that kind. Creates missing resources.
    ///
    /// # Errors
    /// If memory or queues cannot be allocated.
    pub(crate) fn connect(&self, kind: WireKind) -> Result<DeviceConfig, DeviceError> {
        let _attaching = lock(&self.wires.attaching);
        let common = self.common()?;
        Ok(DeviceConfig {
            wire_kind: kind.0,
            slots: self.config.wire.slots,
            wire: self.attach(kind, common)?.0,
            claims: common.claims.address.0,
            bounce: common.access.bounce.device.0,
            wake_word: self.poller.wake_word.device_address(),
            bounce_blocks: self.config.bounce_blocks(),
            lanes: self.config.wire.lanes,
        })
    }

    /// The memory that wires share; created if missing. The caller has locked `attaching`.
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

    /// Device address of the wire of that kind; created if missing. The caller has locked
    /// `attaching`.
    fn attach(&self, kind: WireKind, common: &Common) -> Result<DeviceAddr, DeviceError> {
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

    /// Starts to serve a wire.
    pub(super) fn serve_wire(&self, parts: WireParts) -> Arc<ServedWire> {
        let WireParts { wire, poller } = parts;
        let wire = Arc::new(ServedWire::new(wire));
        self.poller.add_source(Source {
            poller,
            wire: Arc::clone(&wire),
        });
        wire
    }

    /// The resources for calls with one wire of that kind.
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
            None => unreachable!("only kernels of connected images are served"),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use targets::DeviceArch;

    use super::*;
    use crate::device::{MappedMemory, MemoryInfo, Module, Queue};
    use crate::image::{Image, ImageError};
    use crate::serve::testing;

    /// A device without mapped memory for a wake word. It records its allocations.
    struct NoWakeWord {
        host: Arc<dyn Device>,
        allocated: Mutex<BTreeSet<DeviceAddr>>,
    }

    impl Device for NoWakeWord {
        fn alloc(&self, bytes: u64, fill: Fill) -> Result<DeviceAddr, DeviceError> {
            let address = self.host.alloc(bytes, fill)?;
            lock(&self.allocated).insert(address);
            Ok(address)
        }
        fn free(&self, address: DeviceAddr) {
            lock(&self.allocated).remove(&address);
            self.host.free(address);
        }
        fn alloc_mapped(&self, bytes: usize) -> Result<MappedMemory, DeviceError> {
            if bytes == WakeWord::BYTES {
                return Err(DeviceError::NoMappedMemory {
                    device: self.name().to_owned(),
                    bytes: bytes as u64,
                });
            }
            self.host.alloc_mapped(bytes)
        }
        fn name(&self) -> &str {
            self.host.name()
        }
        fn number(&self) -> u32 {
            self.host.number()
        }
        fn arch(&self) -> DeviceArch {
            self.host.arch()
        }
        fn description(&self) -> String {
            self.host.description()
        }
        fn memory(&self) -> MemoryInfo {
            self.host.memory()
        }
        fn clock_khz(&self) -> u32 {
            self.host.clock_khz()
        }
        fn can_wake_host(&self) -> bool {
            self.host.can_wake_host()
        }
        fn load(&self, image: &Image) -> Result<Arc<dyn Module>, ImageError> {
            self.host.load(image)
        }
        fn queue(&self) -> Result<Box<dyn Queue>, DeviceError> {
            self.host.queue()
        }
    }

    #[test]
    fn a_failed_connection_keeps_no_device_memory() {
        let device = Arc::new(NoWakeWord {
            host: testing::host(),
            allocated: Mutex::default(),
        });
        let server = testing::server(Arc::clone(&device) as _);
        for _ in 0..2 {
            let error = server.connect(WireKind::NATIVE).unwrap_err();
            assert!(matches!(error, DeviceError::NoMappedMemory { .. }));
            assert_eq!(*lock(&device.allocated), BTreeSet::new());
        }
    }
}
