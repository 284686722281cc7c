//! The data that LLVM's device runtime reads: the environments of a device, of a kernel, of a launch.
//!
//! An image that is linked with the runtime has a variable for the device's, which the host fills,
//! and for each kernel a constant, which the compiler has filled. A launch's environment is the
//! kernel's first parameter. Images without the runtime have none of them.
//!
//! Source: the layouts in `libomptarget-nvptx-sm_70.bc` of LLVM 19, and in clang 22's code for
//! `target teams reduction`.

use revoff_host::device::{Fill, Global};
use revoff_host::{DeviceBuffer, Kernel, Program, Reservation};

use crate::device::Device;
use crate::device::private::Private;
use crate::device::stream::Stream;
use crate::report::message::{self, Failed};
use crate::{registry, settings};

/// The name of the [`DeviceEnvironment`].
const DEVICE: &str = "__omp_rtl_device_environment";

/// The name of a [`MemoryPool`]. Only images for AMD GPUs have it; on NVIDIA's, device code calls `malloc`.
const POOL: &str = "__omp_rtl_device_memory_pool";

/// The suffix of the names of kernels' environments.
const KERNEL: &str = "_kernel_environment";

/// The environment of a device.
#[repr(C)]
struct DeviceEnvironment {
    debug_kind: u32,
    devices: u32,
    device: u32,
    dynamic_shared_bytes: u32,
    /// In Hz.
    clock: u64,
    /// An array of [`IndirectCall`]s, sorted by the host's address.
    indirect_calls: u64,
    indirect_call_count: u64,
    /// Warps that run at the same time.
    parallelism: u64,
}

/// The memory from which device code allocates, for example variables that threads share.
#[repr(C)]
struct MemoryPool {
    address: u64,
    bytes: u64,
}

/// A function, or a table of virtual functions, to which the host has a pointer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(C)]
pub(crate) struct IndirectCall {
    pub(crate) host: u64,
    pub(crate) device: u64,
}

/// The parts of a kernel's environment that the host needs: LLVM's `ConfigurationEnvironmentTy`.
#[repr(C)]
#[derive(Default)]
struct Configuration {
    has_state_machine: u8,
    may_nest: u8,
    mode: u8,
    min_threads: i32,
    max_threads: i32,
    min_teams: i32,
    max_teams: i32,
    /// The bytes of one team.
    reduction_bytes: u32,
    /// Teams that the buffer has room for.
    reduction_teams: u32,
}

/// The first parameter of a kernel.
#[repr(C)]
struct LaunchEnvironment {
    /// Teams that have written their part into the buffer, modulo its length.
    count: u32,
    /// Teams that may use the buffer.
    iterations: u32,
    reduction_buffer: u64,
}

const _: () = {
    use std::mem::offset_of;
    assert!(size_of::<DeviceEnvironment>() == 48);
    assert!(offset_of!(DeviceEnvironment, clock) == 16);
    assert!(offset_of!(DeviceEnvironment, parallelism) == 40);
    assert!(size_of::<MemoryPool>() == 16);
    assert!(size_of::<Configuration>() == 28);
    assert!(offset_of!(Configuration, min_threads) == 4);
    assert!(offset_of!(Configuration, reduction_teams) == 24);
    assert!(size_of::<LaunchEnvironment>() == 16);
};

/// How the threads of a kernel work together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Without LLVM's device runtime.
    Bare,
    /// One thread of each team runs, and the others wait for its `parallel` regions.
    Generic,
    /// All threads run.
    Spmd,
    /// All threads run code that was written for one.
    GenericSpmd,
}

impl Mode {
    /// LLVM's name for it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Bare => "BARE",
            Self::Generic => "Generic",
            Self::Spmd => "SPMD",
            Self::GenericSpmd => "Generic-SPMD",
        }
    }
}

/// The requirements of a kernel on its launches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct KernelEnvironment {
    pub(crate) mode: Mode,
    /// Bounds that the compiler relies on; `None` without one.
    pub(crate) min_threads: Option<u32>,
    pub(crate) max_threads: Option<u32>,
    pub(crate) min_teams: Option<u32>,
    pub(crate) max_teams: Option<u32>,
    /// Bytes in which teams reduce; 0 if they do not.
    reduction_bytes: u64,
}

impl KernelEnvironment {
    /// The environment of a kernel without LLVM's device runtime.
    pub(crate) const BARE: Self = Self {
        mode: Mode::Bare,
        min_threads: None,
        max_threads: None,
        min_teams: None,
        max_teams: None,
        reduction_bytes: 0,
    };

    /// The environment of the kernel `name`.
    ///
    /// # Errors
    /// The device fails, or the environment is of an unknown version.
    pub(crate) fn read(device: &Device, program: &Program, name: &str) -> Result<Self, Failed> {
        if device.calls_kernels {
            return Ok(Self::BARE);
        }
        let symbol = format!("{name}{KERNEL}");
        let Some(found) = global(program, &symbol, size_of::<Configuration>())? else {
            return Ok(Self::BARE);
        };
        let mut read = Configuration::default();
        let to = (&raw mut read).cast();
        device.copy(|queue| {
            // SAFETY: a local; this waits for the copy. Any bits are a valid value.
            unsafe { queue.copy_from_device(to, found.address, size_of::<Configuration>()) }
        })?;
        Self::parse(&read).ok_or_else(|| {
            message::error(&format!(
                "{symbol} asks for execution mode {}; this runtime knows 1 (generic), 2 (SPMD) and 3 \
                 (generic-SPMD): compile the program with clang 22",
                read.mode
            ))
        })
    }

    fn parse(read: &Configuration) -> Option<Self> {
        let bound = |count: i32| u32::try_from(count).ok().filter(|&count| count > 0);
        Some(Self {
            mode: match read.mode {
                0 => Mode::Bare,
                1 => Mode::Generic,
                2 => Mode::Spmd,
                3 => Mode::GenericSpmd,
                _ => return None,
            },
            min_threads: bound(read.min_threads),
            max_threads: bound(read.max_threads),
            min_teams: bound(read.min_teams),
            max_teams: bound(read.max_teams),
            reduction_bytes: u64::from(read.reduction_bytes) * u64::from(read.reduction_teams),
        })
    }

    /// The first parameter of a launch: the address of its environment, which is freed with
    /// `private`, or `idle` for a kernel without reductions of teams.
    ///
    /// # Errors
    /// The device fails.
    pub(crate) fn for_launch(
        &self,
        device: &Device,
        stream: &mut Stream<'_>,
        private: &mut Private,
        idle: u64,
    ) -> Result<u64, Failed> {
        if self.reduction_bytes == 0 {
            return Ok(idle);
        }
        let reduction_buffer = private.alloc(device, self.reduction_bytes)?;
        let place = private.alloc_reserved(device, size_of::<LaunchEnvironment>() as u64)?;
        let mut bytes = [0; size_of::<LaunchEnvironment>()];
        let at = std::mem::offset_of!(LaunchEnvironment, reduction_buffer);
        bytes[at..].copy_from_slice(&reduction_buffer.to_ne_bytes());
        stream.send(place, &bytes)?;
        Ok(place)
    }
}

/// The data of LLVM's device runtime for an image on a device.
#[derive(Default)]
pub(crate) struct RuntimeData {
    /// The environments and the calls, which device code reads. Dropped before their memory.
    _reserved: Vec<Reservation>,
    /// The environment of launches without reductions: zeros, which are never written.
    idle: Option<DeviceBuffer>,
    /// The array of [`DeviceEnvironment::indirect_calls`].
    _calls: Option<DeviceBuffer>,
    /// The memory of the [`MemoryPool`].
    _pool: Option<DeviceBuffer>,
}

impl RuntimeData {
    /// Fills in the program's environment, if it has one.
    ///
    /// # Errors
    /// The device fails, or the environment is of another version.
    pub(crate) fn fill<'k>(
        device: &Device,
        program: &Program,
        kernels: impl Iterator<Item = &'k Kernel>,
        mut calls: Vec<IndirectCall>,
    ) -> Result<Self, Failed> {
        if device.calls_kernels {
            return Ok(Self::default());
        }
        let Some(found) = global(program, DEVICE, size_of::<DeviceEnvironment>())? else {
            return Ok(Self::default());
        };
        calls.sort_unstable();
        let words = calls.iter().flat_map(|call| [call.host, call.device]);
        let words: Vec<u64> = words.collect();
        let upload = |words: &[u64]| {
            let memory = device.runtime.alloc_from(words);
            memory.map_err(|error| message::failure(&error))
        };
        let table = (!words.is_empty()).then(|| upload(&words)).transpose()?;
        let lanes = device.runtime.arch().max_lanes();
        let parallelism = kernels.filter_map(|kernel| {
            let limits = kernel.limits().ok()?;
            Some(u64::from(limits.processors) * u64::from(limits.processor / lanes))
        });
        let environment = DeviceEnvironment {
            debug_kind: settings::device_debug(),
            devices: registry::device_count() as u32,
            device: device.number as u32,
            dynamic_shared_bytes: settings::shared_bytes(),
            clock: u64::from(device.runtime.clock_khz()) * 1000,
            indirect_calls: table.as_ref().map_or(0, |calls| calls.address().0),
            indirect_call_count: calls.len() as u64,
            parallelism: parallelism.max().unwrap_or(1).max(1),
        };
        let from = (&raw const environment).cast();
        device.copy(|queue| {
            // SAFETY: a local without padding; this waits for the copy.
            unsafe { queue.copy_to_device(found.address, from, size_of::<DeviceEnvironment>()) }
        })?;
        let pool = match global(program, POOL, size_of::<MemoryPool>())? {
            Some(pool) => Some(fill_pool(device, pool)?),
            None => None,
        };
        let idle = Some(upload(
            &[0; size_of::<LaunchEnvironment>() / size_of::<u64>()],
        )?);
        let buffers = [&idle, &table, &pool].into_iter().flatten();
        let reserved = buffers
            .map(|memory| (memory.address(), memory.bytes()))
            .chain([(found.address, size_of::<DeviceEnvironment>() as u64)]);
        Ok(Self {
            _reserved: reserved
                .map(|(address, len)| device.runtime.reserve(address, len))
                .collect(),
            idle,
            _calls: table,
            _pool: pool,
        })
    }

    /// The environment of launches without reductions of teams; 0 if no code reads one.
    pub(crate) fn idle(&self) -> u64 {
        self.idle.as_ref().map_or(0, |idle| idle.address().0)
    }
}

/// Gives an image its memory to allocate from.
fn fill_pool(device: &Device, pool: Global) -> Result<DeviceBuffer, Failed> {
    let bytes = u64::from(settings::heap_bytes());
    let memory = device.runtime.alloc_filled(bytes, Fill::Any);
    let memory = memory.map_err(|error| message::failure(&error))?;
    let description = MemoryPool {
        address: memory.address().0,
        bytes,
    };
    let from = (&raw const description).cast();
    device.copy(|queue| {
        // SAFETY: a local without padding; this waits for the copy.
        unsafe { queue.copy_to_device(pool.address, from, size_of::<MemoryPool>()) }
    })?;
    Ok(memory)
}

/// The program's variable `name`, of at least `bytes` bytes.
fn global(program: &Program, name: &str, bytes: usize) -> Result<Option<Global>, Failed> {
    let found = program.global(name);
    let found = found.map_err(|error| message::failure(&error))?;
    match found {
        Some(found) if found.size != 0 && found.size < bytes as u64 => {
            Err(message::error(&format!(
                "{name} has {} bytes, and {bytes} are expected: link the image with the device runtime of LLVM 19 \
                 to 22",
                found.size
            )))
        }
        found => Ok(found),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_kernel_asks_for() {
        let read = Configuration {
            mode: 3,
            min_threads: 1,
            max_threads: 128,
            min_teams: -1,
            reduction_bytes: 8,
            reduction_teams: 1024,
            ..Configuration::default()
        };
        let environment = KernelEnvironment::parse(&read).expect("a mode");
        assert_eq!(environment.mode, Mode::GenericSpmd);
        assert_eq!(environment.max_threads, Some(128));
        assert_eq!((environment.min_teams, environment.max_teams), (None, None));
        assert_eq!(environment.reduction_bytes, 8192);
        let unknown = Configuration { mode: 9, ..read };
        assert_eq!(KernelEnvironment::parse(&unknown), None);
    }
}
