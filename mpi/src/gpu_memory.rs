//! Which memory MPI accesses itself.

use std::env;
use std::ffi::c_int;
use std::sync::atomic::{AtomicBool, Ordering};

use libloading::os::unix::{Library, Symbol};
use revoff_host::DeviceCall;
use revoff_host::device::MemoryKind;

use crate::error::MpiError;

/// The variable with the setting.
const VARIABLE: &str = "REVOFF_MPI_GPU";

/// Minimum bytes of a message that is staged in device memory: copying fewer to the host takes less time than allocating
/// device memory. Estimated, not measured: an allocation and a copy on a GPU take some 10 microseconds each, in which a
/// bus moves about as many bytes.
const LARGE: usize = 256 << 10;

/// MPICH's numbers of kinds of GPUs.
const MPIX_GPU_SUPPORT_CUDA: c_int = 0;
const MPIX_GPU_SUPPORT_HIP: c_int = 2;

/// When messages may be staged in device memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Setting {
    /// Never.
    Off,
    /// If MPI accesses it, and copies there go on while kernels wait.
    Auto,
    /// If MPI accesses it.
    On,
}

impl Setting {
    /// Reads the environment variable.
    ///
    /// # Errors
    /// Its value is invalid.
    pub(crate) fn read() -> Result<Self, MpiError> {
        let value = env::var_os(VARIABLE).unwrap_or_default();
        match value.to_str() {
            Some("" | "auto") => Ok(Self::Auto),
            Some("0") => Ok(Self::Off),
            Some("1") => Ok(Self::On),
            _ => Err(MpiError::Setting {
                value: value.to_string_lossy().into_owned(),
            }),
        }
    }
}

/// The kinds of device memory that MPI accesses itself. Emulated GPUs have the host's memory, at other addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct GpuMemory {
    pub(crate) setting: Setting,
    pub(crate) cuda: bool,
    pub(crate) rocm: bool,
}

/// Where the messages of a device are staged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Staging {
    Device,
    Host,
    /// Unexpectedly in the host's memory, for this reason.
    HostBecause(&'static str),
}

impl GpuMemory {
    /// Asks MPI, which must have started.
    pub(crate) fn query(setting: Setting) -> Self {
        Self {
            setting,
            cuda: gpu_support(MPIX_GPU_SUPPORT_CUDA) || is_true("MPIX_Query_cuda_support"),
            rocm: gpu_support(MPIX_GPU_SUPPORT_HIP)
                || is_true("MPIX_Query_rocm_support")
                || is_true("MPIX_Query_hip_support"),
        }
    }

    /// Whether the message of a call is staged in device memory.
    pub(crate) fn stages(&self, call: &DeviceCall<'_>, bytes: usize) -> bool {
        if bytes < LARGE {
            return false;
        }
        match self.staging(call.memory_kind(), call.copies_beside_kernels()) {
            Staging::Device => true,
            Staging::Host => false,
            Staging::HostBecause(reason) => {
                static IS_LOGGED: AtomicBool = AtomicBool::new(false);
                // Relaxed: a flag alone.
                if !IS_LOGGED.swap(true, Ordering::Relaxed) {
                    tracing::info!("messages are staged in the host's memory, because {reason}");
                }
                false
            }
        }
    }

    fn staging(&self, memory: MemoryKind, copies_beside_kernels: bool) -> Staging {
        let is_accessible = match memory {
            MemoryKind::Emulated => true,
            MemoryKind::Cuda => self.cuda,
            MemoryKind::Rocm => self.rocm,
            // Device memory is the host's.
            _ => return Staging::Host,
        };
        match self.setting {
            Setting::Off => Staging::Host,
            _ if !is_accessible => Staging::HostBecause(
                "this MPI reports no support for this GPU's memory: a GPU-aware MPI accesses it itself",
            ),
            Setting::Auto if !copies_beside_kernels => Staging::HostBecause(
                "copies within this GPU may wait for kernels that wait for the host: if kernels leave room for others, \
                 set REVOFF_MPI_GPU=1",
            ),
            Setting::Auto | Setting::On => Staging::Device,
        }
    }
}

/// Asks MPICH 4 or later whether it accesses the memory of this kind of GPU.
fn gpu_support(gpu: c_int) -> bool {
    type Query = unsafe extern "C" fn(c_int, *mut c_int) -> c_int;
    let mut is_supported = 0;
    // SAFETY: only MPICH has a function of this name, and it has this type.
    let function = unsafe { find::<Query>("MPIX_GPU_query_support") };
    // SAFETY: MPI has started; it writes to the place.
    function.is_some_and(|function| unsafe { function(gpu, &mut is_supported) } == 0)
        && is_supported != 0
}

/// Calls a query that Open MPI defines, and MPICH too.
fn is_true(name: &str) -> bool {
    type Query = unsafe extern "C" fn() -> c_int;
    // SAFETY: a function of MPI of such a name has this type.
    let function = unsafe { find::<Query>(name) };
    // SAFETY: MPI has started.
    function.is_some_and(|function| unsafe { function() } != 0)
}

/// Looks a function up in the loaded libraries.
///
/// # Safety
/// If there is one of this name, `T` is its type.
unsafe fn find<T>(name: &str) -> Option<Symbol<T>> {
    // SAFETY: the caller's promise.
    unsafe { Library::this().get(name).ok() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_staged_where_mpi_and_the_user_allow_it() {
        let of = |setting, memory, copies_beside_kernels| {
            let mpi = GpuMemory {
                setting,
                cuda: true,
                rocm: false,
            };
            mpi.staging(memory, copies_beside_kernels)
        };
        for copies in [false, true] {
            for setting in [Setting::Off, Setting::Auto, Setting::On] {
                assert_eq!(of(setting, MemoryKind::Host, copies), Staging::Host);
            }
            for kind in [MemoryKind::Emulated, MemoryKind::Cuda, MemoryKind::Rocm] {
                assert_eq!(of(Setting::Off, kind, copies), Staging::Host);
            }
            assert_eq!(of(Setting::On, MemoryKind::Cuda, copies), Staging::Device);
            for setting in [Setting::Auto, Setting::On] {
                let rocm = of(setting, MemoryKind::Rocm, copies);
                assert!(matches!(rocm, Staging::HostBecause(why) if why.contains("no support")));
            }
        }
        for kind in [MemoryKind::Emulated, MemoryKind::Cuda] {
            assert_eq!(of(Setting::Auto, kind, true), Staging::Device);
        }
        let waits = of(Setting::Auto, MemoryKind::Cuda, false);
        assert!(matches!(waits, Staging::HostBecause(why) if why.contains(VARIABLE)));
    }
}
