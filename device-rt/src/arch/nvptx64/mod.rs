//! NVIDIA GPUs.
//!
//! Words are accessed by inline assembly only, not by the compiler's own atomics: LLVM 22 lowers
//! an ordered read-modify-write to a bare `atom` (relaxed, device scope), and rejects acquire and
//! release below `sm_70`.

#[cfg_attr(target_feature = "sm_70", path = "ordered.rs")]
#[cfg_attr(not(target_feature = "sm_70"), path = "membar.rs")]
mod instructions;
mod lanes;
mod words;

pub use instructions::pause;
pub use lanes::{active_lanes, any, ballot, converge, first, independent_lanes, lane, warp_size};
pub use words::{DeviceMemory, Mapped, device_memory, mapped};

use core::arch::asm;
use core::arch::nvptx::{
    _block_dim_x, _block_dim_y, _block_dim_z, _block_idx_x, _block_idx_y, _block_idx_z,
    _grid_dim_x, _grid_dim_y, _grid_dim_z, _thread_idx_x, _thread_idx_y, _thread_idx_z,
};

use core::ffi::c_char;
use core::panic::Location;

use shared_abi::image::PANIC_ASSERTION;
use shared_abi::wire::WireKind;

use super::{Context, Space};

unsafe extern "C" {
    fn __assertfail(
        condition: *const c_char,
        file: *const c_char,
        line: u32,
        function: *const c_char,
        char_bytes: usize,
    ) -> !;
    #[link_name = "llvm.nvvm.isspacep.global"]
    safe fn is_global(address: *const u8) -> bool;
    #[link_name = "llvm.nvvm.isspacep.shared"]
    safe fn is_shared(address: *const u8) -> bool;
}

/// Determines the kind of memory of an address.
#[derive(Clone, Copy, Debug)]
pub struct Spaces;

impl Spaces {
    /// The calling thread's view.
    #[must_use]
    pub fn current() -> Self {
        Self
    }

    /// The kind of memory at `addr`. Memory that is neither global nor shared is local, or a constant or a
    /// parameter: this thread has to marshal it.
    #[must_use]
    pub fn of(&self, addr: u64) -> Space {
        let addr = addr as *const u8;
        if is_global(addr) {
            Space::Global
        } else if is_shared(addr) {
            Space::Shared
        } else {
            Space::Local
        }
    }
}

/// The calling thread's indices. Grids and blocks of several dimensions are counted x first.
#[must_use]
pub fn context() -> Context {
    // SAFETY: special registers, readable by every thread at any time.
    unsafe {
        let (dim_x, dim_y) = (_block_dim_x(), _block_dim_y());
        let (grid_x, grid_y) = (_grid_dim_x(), _grid_dim_y());
        Context {
            team: _block_idx_x() + grid_x * (_block_idx_y() + grid_y * _block_idx_z()),
            teams: grid_x * grid_y * _grid_dim_z(),
            thread: _thread_idx_x() + dim_x * (_thread_idx_y() + dim_y * _thread_idx_z()),
            threads: dim_x * dim_y * _block_dim_z(),
            launch: 0,
        }
    }
}

/// Nanoseconds since some fixed moment, in steps that depend on the GPU.
#[must_use]
pub fn clock() -> u64 {
    let time;
    // SAFETY: reads a special register.
    unsafe { asm!("mov.u64 {}, %globaltimer;", out(reg64) time, options(nomem, nostack)) };
    time
}

/// Cycles of this thread's multiprocessor: a step of [`clock`] may be longer than a call.
#[must_use]
pub fn ticks() -> u64 {
    let cycles;
    // SAFETY: reads a special register.
    unsafe { asm!("mov.u64 {}, %clock64;", out(reg64) cycles, options(nomem, nostack)) };
    cycles
}

/// The multiprocessor that runs this thread now.
#[must_use]
pub fn multiprocessor() -> u32 {
    let id;
    // SAFETY: reads a special register.
    unsafe { asm!("mov.u32 {}, %smid;", out(reg32) id, options(nomem, nostack)) };
    id
}

/// Orders all earlier accesses to memory with all later ones, at system scope, except a store with a
/// later load.
#[inline(always)]
pub fn system_fence() {
    instructions::system_fence_acq_rel();
}

/// The bits of the wires that NVIDIA's GPUs use.
pub const WIRES: u32 = WireKind::NATIVE.bit() | WireKind::GCC_RING.bit() | WireKind::GCC_SLOT.bit();

/// Whether plain loads and stores of words need not be aligned.
pub const HAS_UNALIGNED: bool = false;

/// A GPU cannot wake the host.
pub const CAN_WAKE: bool = false;

/// See [`CAN_WAKE`].
pub fn wake_host() {}

/// Messages do not reach the host, but [`trap_at`] reports a location to the driver.
pub const HAS_MESSAGES: bool = false;

/// [`PANIC_ASSERTION`] with a NUL at its end.
static ASSERTION: [u8; PANIC_ASSERTION.len() + 1] = {
    let mut text = [0; PANIC_ASSERTION.len() + 1];
    let (without_nul, _) = text.split_at_mut(PANIC_ASSERTION.len());
    without_nul.copy_from_slice(PANIC_ASSERTION.as_bytes());
    text
};

/// Ends the launch and destroys the context. CUDA's driver prints the location, as for C's
/// `assert`.
#[inline(always)]
pub fn trap_at(place: Option<&Location<'_>>) -> ! {
    if let Some(place) = place {
        let file = place.file_as_c_str().as_ptr();
        // SAFETY: NVIDIA's "PTX Writer's Guide to Interoperability", "System Calls", has this
        // signature. All three texts are static and end with a NUL, in characters of a byte.
        unsafe {
            __assertfail(
                ASSERTION.as_ptr().cast(),
                file,
                place.line(),
                c"".as_ptr(),
                1,
            )
        }
    }
    trap("")
}

/// Ends the launch and destroys the context.
pub fn trap(_message: &str) -> ! {
    // SAFETY: does not return.
    unsafe { asm!("trap;", "exit;", options(noreturn, nomem, nostack)) }
}
