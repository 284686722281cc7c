//! AMD GPUs.
//!
//! LLVM lowers the compiler's own atomics, at system scope, to sequences of waits, write-backs and
//! invalidations, which are correct except for one (see [`release`]). rustc has neither narrower
//! scopes nor inline assembly for this target: `scoped.ll` has the accesses that need them.

mod scoped;

use core::arch::amdgpu;
use core::cell::UnsafeCell;
use core::intrinsics::gpu::amdgpu_dispatch_ptr;
use core::panic::Location;
use core::sync::atomic::{Ordering, compiler_fence, fence};

use shared_abi::wire::WireKind;
use shared_abi::words::{Coherent, Load, Store, SystemWords, TicketWord};

use super::{Context, Space};
use crate::host_written::PANIC;
use crate::panic_record;

unsafe extern "C" {
    #[link_name = "llvm.amdgcn.is.shared"]
    safe fn is_shared(address: *const u8) -> bool;
    #[link_name = "llvm.amdgcn.is.private"]
    safe fn is_private(address: *const u8) -> bool;
    #[cfg(not(revoff_waits_for_write_back))]
    #[link_name = "llvm.amdgcn.s.waitcnt"]
    fn s_waitcnt(counters: u32);
    #[link_name = "llvm.trap"]
    safe fn llvm_trap() -> !;
    #[link_name = "llvm.readsteadycounter"]
    safe fn steady_counter() -> i64;
}

pub use scoped::{DeviceMemory, device_memory};

/// Mapped memory.
#[derive(Clone, Copy, Debug)]
pub struct Mapped(Coherent);

/// The mapped memory at a device address.
///
/// # Safety
/// As for [`Coherent::new`].
#[inline(always)]
#[must_use]
pub unsafe fn mapped(address: u64) -> Mapped {
    // SAFETY: the caller's promise is what `Coherent::new` asks for.
    Mapped(unsafe { Coherent::new(address as *mut u8) })
}

/// The part of a release before its store: earlier stores reach memory, where the host and its
/// copies read.
///
/// LLVM's own release includes this. Up to LLVM 22 it omits the wait for the write-back on some
/// processors if it knows of no access in flight: column `waits_for_write_back` of `targets`.
/// Claims do not need it: the words that they protect are written through.
#[inline(always)]
fn release() {
    fence(Ordering::Release);
    #[cfg(not(revoff_waits_for_write_back))]
    // SAFETY: waits for all counters, and does nothing else.
    unsafe {
        s_waitcnt(0);
    }
}

impl SystemWords for Mapped {
    #[inline(always)]
    fn at_offset(&self, at: usize) -> Self {
        Self(self.0.at_offset(at))
    }

    #[inline(always)]
    fn load32(&self, at: usize, order: Load) -> u32 {
        SystemWords::load32(&self.0, at, order)
    }

    #[inline(always)]
    fn store32(&self, at: usize, value: u32, order: Store) {
        if order == Store::Release {
            release();
        }
        // Relaxed: after `release` it is a release.
        SystemWords::store32(&self.0, at, value, Store::Relaxed);
    }

    #[inline(always)]
    fn load64(&self, at: usize, order: Load) -> u64 {
        self.0.load64(at, order)
    }

    #[inline(always)]
    fn store64(&self, at: usize, value: u64, order: Store) {
        if order == Store::Release {
            release();
        }
        // Relaxed: after `release` it is a release.
        self.0.store64(at, value, Store::Relaxed);
    }

    #[inline(always)]
    fn join_loads(pair: [u64; 2]) -> [u64; 2] {
        scoped::join_loads(pair)
    }

    #[cfg(revoff_stores_without_scope)]
    #[inline(always)]
    fn store_pair(&self, at: usize, pair: [u64; 2]) {
        // SAFETY: `mapped`'s caller vouches for `at`, and ours for its alignment.
        unsafe { scoped::store_pair(self.0.address(at), pair) };
    }

    #[inline(always)]
    fn fence(&self) {
        release();
        self.0.fence();
    }

    #[inline(always)]
    fn release_fence(&self) {
        release();
    }

    #[inline(always)]
    fn acquire_fence(&self) {
        self.0.acquire_fence();
    }

    #[inline(always)]
    fn load8(&self, at: usize) -> u8 {
        self.0.load8(at)
    }

    #[inline(always)]
    fn store8(&self, at: usize, value: u8) {
        self.0.store8(at, value);
    }
}

impl TicketWord for Mapped {
    #[inline(always)]
    fn fetch_add_relaxed(&self, at: usize, n: u32) -> u32 {
        self.0.fetch_add_relaxed(at, n)
    }
}

/// The kind of memory of a flat address, by its aperture.
#[derive(Clone, Copy, Debug)]
pub struct Spaces;

impl Spaces {
    /// The calling thread's view.
    #[must_use]
    pub fn current() -> Self {
        Self
    }

    /// The kind of memory at `addr`.
    #[must_use]
    pub fn of(&self, addr: u64) -> Space {
        let addr = addr as *const u8;
        if is_private(addr) {
            Space::Local
        } else if is_shared(addr) {
            Space::Shared
        } else {
            Space::Global
        }
    }
}

/// The part of HSA's kernel dispatch packet with the size of the launch
/// (HSA System Architecture, "Kernel dispatch packet").
#[repr(C)]
struct DispatchPacket {
    header: u16,
    setup: u16,
    workgroup_size: [u16; 3],
    reserved: u16,
    grid_size: [u32; 3],
}

/// The calling thread's indices. Grids and groups of several dimensions are counted x first.
#[must_use]
pub fn context() -> Context {
    // SAFETY: the packet that started this kernel, which stays as it is while the
    // kernel runs.
    let packet = unsafe { &*amdgpu_dispatch_ptr().cast::<DispatchPacket>() };
    // No dimension is empty; a division by zero would be a panic.
    let [x, y, z] = packet.workgroup_size.map(|size| u32::from(size).max(1));
    let [grid_x, grid_y, grid_z] = packet.grid_size;
    // The last group of a dimension may be smaller than the others.
    let (teams_x, teams_y, teams_z) = (grid_x.div_ceil(x), grid_y.div_ceil(y), grid_z.div_ceil(z));
    Context {
        team: amdgpu::workgroup_id_x()
            + teams_x * (amdgpu::workgroup_id_y() + teams_y * amdgpu::workgroup_id_z()),
        teams: teams_x * teams_y * teams_z,
        thread: amdgpu::workitem_id_x()
            + x * (amdgpu::workitem_id_y() + y * amdgpu::workitem_id_z()),
        threads: x * y * z,
        launch: 0,
    }
}

/// Nanoseconds of a tick of the steady counter, assuming 100 MHz. Some processors count slower,
/// and only the host's driver knows.
const TICK: u64 = 10;

/// Nanoseconds since some fixed moment; see [`TICK`].
#[must_use]
pub fn clock() -> u64 {
    ticks().wrapping_mul(TICK)
}

/// Ticks of the steady counter.
#[must_use]
pub fn ticks() -> u64 {
    steady_counter() as u64
}

/// Waits a little, longer the larger `attempt` is, in steps of 64 cycles.
pub fn pause(attempt: u32) {
    match attempt {
        0..4 => amdgpu::s_sleep::<1>(),
        4..16 => amdgpu::s_sleep::<4>(),
        _ => amdgpu::s_sleep::<16>(),
    }
}

/// Orders all earlier accesses to memory with all later ones, at system scope, except a store with a
/// later load.
#[inline(always)]
pub fn system_fence() {
    release();
    fence(Ordering::Acquire);
}

/// Lanes of a wavefront: 64 or 32, as the processor or the compiler chose.
#[inline(always)]
#[must_use]
pub fn warp_size() -> u32 {
    amdgpu::wavefrontsize()
}

/// Lanes run in lock-step: a lane that waits for a neighbour never stops waiting.
#[inline(always)]
#[must_use]
pub fn independent_lanes() -> bool {
    false
}

/// This thread's lane.
#[inline(always)]
#[must_use]
pub fn lane() -> u32 {
    amdgpu::mbcnt_hi(u32::MAX, amdgpu::mbcnt_lo(u32::MAX, 0))
}

/// The lanes that run this together, as a mask.
#[inline(always)]
#[must_use]
pub fn active_lanes() -> u64 {
    amdgpu::ballot(true)
}

/// `value` in the lowest lane of `lanes`.
///
/// # Safety
/// Exactly the lanes of `lanes` call this, with the same `lanes`.
#[inline(always)]
#[must_use]
pub unsafe fn first(_lanes: u64, value: u32) -> u32 {
    amdgpu::readfirstlane_u32(value)
}

/// Whether `vote` is true in any lane of `lanes`.
///
/// # Safety
/// As for [`first`].
#[inline(always)]
#[must_use]
pub unsafe fn any(_lanes: u64, vote: bool) -> bool {
    amdgpu::ballot(vote) != 0
}

/// The lanes of `lanes` in which `vote` is true.
///
/// # Safety
/// As for [`first`].
#[inline(always)]
#[must_use]
pub unsafe fn ballot(_lanes: u64, vote: bool) -> u64 {
    amdgpu::ballot(vote)
}

/// Keeps the compiler from moving accesses across: lanes in lock-step need no more.
///
/// # Safety
/// As for [`first`].
#[inline(always)]
pub unsafe fn converge(_lanes: u64) {
    // LLVM's barrier holds lanes together, but it orders no memory.
    compiler_fence(Ordering::SeqCst);
    amdgpu::wave_barrier();
    compiler_fence(Ordering::SeqCst);
}

/// The bits of the wires that AMD's GPUs use.
pub const WIRES: u32 = WireKind::NATIVE.bit() | WireKind::GCN_QUEUE.bit();

/// Whether plain loads and stores of words need not be aligned.
pub const HAS_UNALIGNED: bool = false;

/// A GPU cannot wake the host.
pub const CAN_WAKE: bool = false;

/// See [`CAN_WAKE`].
pub fn wake_host() {}

/// Messages do not reach the host, but [`trap_at`] records a location.
pub const HAS_MESSAGES: bool = false;

/// Ends the launch, after recording the location for the host.
#[inline(always)]
pub fn trap_at(place: Option<&Location<'_>>) -> ! {
    match place {
        Some(place) => revoff_panic(place),
        None => revoff_trap(),
    }
}

/// Ends the launch.
pub fn trap(_message: &str) -> ! {
    revoff_trap()
}

/// Whether a thread of this image has panicked.
struct Claim(UnsafeCell<u64>);

// SAFETY: used through atomic words alone.
unsafe impl Sync for Claim {}

static CLAIM: Claim = Claim(UnsafeCell::new(0));

/// A separate function, like [`revoff_trap`], so that its code is not repeated at every panic.
#[unsafe(no_mangle)]
fn revoff_panic(place: &Location<'_>) -> ! {
    let address = PANIC.get();
    if address != 0 {
        // SAFETY: a static; the address of a record is valid as long as the image is loaded.
        let (claim, record) = unsafe { (Coherent::new(CLAIM.0.get().cast()), mapped(address)) };
        let place = (place.file(), place.line(), place.column());
        panic_record::fill(&claim, &record, place, || pause(u32::MAX));
    }
    revoff_trap()
}

/// A function with a name that the build tells LLVM not to inline: see `traps_in_place` in
/// `targets`. (rustc ignores `inline(never)` for this target.)
#[unsafe(no_mangle)]
extern "C" fn revoff_trap() -> ! {
    llvm_trap()
}
