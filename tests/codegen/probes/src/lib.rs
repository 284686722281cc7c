//! One function for each primitive of [`revoff_device::arch`], to inspect its compiled form.
#![no_std]

use revoff_device::arch::{self, Context, Space, Spaces};
use revoff_device::claims::claim;
use revoff_device::lanes::Lanes;
use revoff_device::shared_abi::wire::gcn_queue::{GcnCall, SLOTS};
use revoff_device::shared_abi::words::{DeviceWords, Load, Store, SystemWords, TicketWord};
use revoff_device::wire::gcn_queue::publish_call;

revoff_device::image!();

/// A function for each access to the word at `at`.
macro_rules! probes {
    ($($name:ident($($arg:ident: $type:ty)?) $(-> $result:ty)? =
        $words:ident::$access:ident($memory:ident $(, $operand:expr)*);)*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(at: u64 $(, $arg: $type)?) $(-> $result)? {
            // SAFETY: the caller vouches for the word.
            let memory = unsafe { arch::$memory(at) };
            $words::$access(&memory $(, $operand)*)
        }
    )*};
}

probes! {
    probe_system_load32_relaxed() -> u32 = SystemWords::load32(mapped, 0, Load::Relaxed);
    probe_system_load32_acquire() -> u32 = SystemWords::load32(mapped, 0, Load::Acquire);
    probe_system_load64_relaxed() -> u64 = SystemWords::load64(mapped, 0, Load::Relaxed);
    probe_system_load64_acquire() -> u64 = SystemWords::load64(mapped, 0, Load::Acquire);
    probe_system_load8() -> u8 = SystemWords::load8(mapped, 0);
    probe_system_store32_relaxed(v: u32) = SystemWords::store32(mapped, 0, v, Store::Relaxed);
    probe_system_store32_release(v: u32) = SystemWords::store32(mapped, 0, v, Store::Release);
    probe_system_store64_relaxed(v: u64) = SystemWords::store64(mapped, 0, v, Store::Relaxed);
    probe_system_store64_release(v: u64) = SystemWords::store64(mapped, 0, v, Store::Release);
    probe_system_store8(v: u8) = SystemWords::store8(mapped, 0, v);
    probe_system_release_fence() = SystemWords::release_fence(mapped);
    probe_system_acquire_fence() = SystemWords::acquire_fence(mapped);
    probe_system_fence() = SystemWords::fence(mapped);
    probe_ticket_add_relaxed(n: u32) -> u32 = TicketWord::fetch_add_relaxed(mapped, 0, n);
    probe_device_load32_relaxed() -> u32 = DeviceWords::load32(device_memory, 0, Load::Relaxed);
    probe_device_load32_acquire() -> u32 = DeviceWords::load32(device_memory, 0, Load::Acquire);
    probe_device_store32_relaxed(v: u32) = DeviceWords::store32(device_memory, 0, v, Store::Relaxed);
    probe_device_or_acquire(v: u32) -> u32 = DeviceWords::fetch_or_acquire(device_memory, 0, v);
    probe_device_and_release(v: u32) -> u32 = DeviceWords::fetch_and_release(device_memory, 0, v);
}

#[unsafe(no_mangle)]
unsafe extern "C" fn probe_system_load_pair(at: u64) -> u64 {
    // SAFETY: the caller vouches for the words.
    let [first, second] = unsafe { arch::mapped(at) }.load_pair(0);
    first ^ second
}

#[unsafe(no_mangle)]
unsafe extern "C" fn probe_system_store_pair(at: u64, first: u64, second: u64) {
    // SAFETY: the caller vouches for the words.
    unsafe { arch::mapped(at) }.store_pair(0, [first, second]);
}

#[unsafe(no_mangle)]
extern "C" fn probe_fence() {
    arch::system_fence();
}

#[unsafe(no_mangle)]
extern "C" fn probe_space_of(address: u64) -> u32 {
    match Spaces::current().of(address) {
        Space::Global => 0,
        Space::Local => 1,
        Space::Shared => 2,
    }
}

#[unsafe(no_mangle)]
extern "C" fn probe_pause_first() {
    arch::pause(0);
}

#[unsafe(no_mangle)]
extern "C" fn probe_pause_late() {
    arch::pause(1000);
}

#[unsafe(no_mangle)]
extern "C" fn probe_pause(attempt: u32) {
    arch::pause(attempt);
}

#[unsafe(no_mangle)]
extern "C" fn probe_clock() -> u64 {
    arch::clock()
}

#[unsafe(no_mangle)]
extern "C" fn probe_ticks() -> u64 {
    arch::ticks()
}

#[unsafe(no_mangle)]
extern "C" fn probe_lane() -> u32 {
    arch::lane()
}

#[unsafe(no_mangle)]
extern "C" fn probe_active_lanes() -> u64 {
    arch::active_lanes()
}

#[unsafe(no_mangle)]
unsafe extern "C" fn probe_first(lanes: u64, value: u32) -> u32 {
    // SAFETY: the caller's promise.
    unsafe { arch::first(lanes, value) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn probe_any(lanes: u64, vote: bool) -> bool {
    // SAFETY: the caller's promise.
    unsafe { arch::any(lanes, vote) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn probe_ballot(lanes: u64, vote: bool) -> u64 {
    // SAFETY: the caller's promise.
    unsafe { arch::ballot(lanes, vote) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn probe_converge(lanes: u64) {
    // SAFETY: the caller's promise.
    unsafe { arch::converge(lanes) }
}

#[unsafe(no_mangle)]
extern "C" fn probe_warp_size() -> u32 {
    arch::warp_size()
}

/// A slot of `native` for the active lanes.
#[unsafe(no_mangle)]
unsafe extern "C" fn probe_claim(at: u64, slots: u32, hint: u32) -> u64 {
    // SAFETY: the caller vouches for the claims, and these are the active lanes.
    let claim = unsafe {
        let device = arch::device_memory(at);
        claim(&device, slots, hint, Lanes::active_lanes(), arch::pause)
    };
    u64::from(claim.slot) << 32 | u64::from(claim.seq)
}

/// A message of `gcn-queue`: every word by itself, in order.
#[unsafe(no_mangle)]
unsafe extern "C" fn probe_gcn_publish(at: u64, func: u64, sizes: u64, signal: u64) {
    let call = GcnCall {
        func,
        mapnum: 1,
        addrs: at,
        sizes,
        kinds: sizes,
        dev_num: 0,
        signal,
    };
    // SAFETY: the caller vouches for the wire.
    publish_call(&unsafe { arch::mapped(at) }, SLOTS, 0, &call);
}

#[unsafe(no_mangle)]
extern "C" fn probe_trap() -> ! {
    arch::trap("")
}

#[unsafe(no_mangle)]
extern "C" fn probe_context(to: &mut Context) {
    *to = arch::context();
}
