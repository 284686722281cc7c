//! Instructions from `sm_70` on, which have an order and a scope.
//!
//! PTX ISA, "Memory Consistency Model". The state space is `.global` throughout;
//! `words` makes such addresses.

use core::arch::asm;

use shared_abi::words::{Load, Store};

/// `load(name, type, register, scope)`: a load in each order.
macro_rules! load {
    ($name:ident, $value:ty, $suffix:literal, $class:ident, $scope:literal) => {
        /// # Safety
        /// `at` is a valid, aligned address of the `.global` state space.
        #[inline(always)]
        pub(super) unsafe fn $name(at: u64, order: Load) -> $value {
            let value;
            // SAFETY: the caller's promise.
            unsafe {
                match order {
                    Load::Relaxed => asm!(
                        concat!("ld.relaxed.", $scope, ".global.", $suffix, " {}, [{}];"),
                        out($class) value, in(reg64) at, options(nostack)
                    ),
                    Load::Acquire => asm!(
                        concat!("ld.acquire.", $scope, ".global.", $suffix, " {}, [{}];"),
                        out($class) value, in(reg64) at, options(nostack)
                    ),
                }
            }
            value
        }
    };
}

/// The same for stores.
macro_rules! store {
    ($name:ident, $value:ty, $suffix:literal, $class:ident, $scope:literal) => {
        /// # Safety
        /// `at` is a valid, aligned address of the `.global` state space.
        #[inline(always)]
        pub(super) unsafe fn $name(at: u64, value: $value, order: Store) {
            // SAFETY: the caller's promise.
            unsafe {
                match order {
                    Store::Relaxed => asm!(
                        concat!("st.relaxed.", $scope, ".global.", $suffix, " [{}], {};"),
                        in(reg64) at, in($class) value, options(nostack)
                    ),
                    Store::Release => asm!(
                        concat!("st.release.", $scope, ".global.", $suffix, " [{}], {};"),
                        in(reg64) at, in($class) value, options(nostack)
                    ),
                }
            }
        }
    };
}

load!(system_load32, u32, "u32", reg32, "sys");
load!(system_load64, u64, "u64", reg64, "sys");
store!(system_store32, u32, "u32", reg32, "sys");
store!(system_store64, u64, "u64", reg64, "sys");
load!(device_load32, u32, "u32", reg32, "gpu");
store!(device_store32, u32, "u32", reg32, "gpu");

/// # Safety
/// `at` is a valid address of the `.global` state space.
#[inline(always)]
pub(super) unsafe fn system_load8(at: u64) -> u8 {
    let value: u32;
    // SAFETY: the caller's promise.
    unsafe {
        asm!("ld.relaxed.sys.global.u8 {}, [{}];", out(reg32) value, in(reg64) at, options(nostack));
    }
    value as u8
}

/// # Safety
/// `at` is a valid address of the `.global` state space.
#[inline(always)]
pub(super) unsafe fn system_store8(at: u64, value: u8) {
    // SAFETY: the caller's promise.
    unsafe {
        asm!(
            "st.relaxed.sys.global.u8 [{}], {};",
            in(reg64) at, in(reg32) u32::from(value), options(nostack)
        );
    }
}

/// # Safety
/// `at` is a valid address of the `.global` state space, a multiple of 16.
#[inline(always)]
pub(super) unsafe fn system_load_pair(at: u64) -> [u64; 2] {
    let (first, second);
    // SAFETY: the caller's promise.
    unsafe {
        asm!(
            "ld.relaxed.sys.global.v2.u64 {{{}, {}}}, [{}];",
            out(reg64) first, out(reg64) second, in(reg64) at, options(nostack)
        );
    }
    [first, second]
}

/// # Safety
/// `at` is a valid address of the `.global` state space, a multiple of 16.
#[inline(always)]
pub(super) unsafe fn system_store_pair(at: u64, [first, second]: [u64; 2]) {
    // SAFETY: the caller's promise.
    unsafe {
        asm!(
            "st.relaxed.sys.global.v2.u64 [{}], {{{}, {}}};",
            in(reg64) at, in(reg64) first, in(reg64) second, options(nostack)
        );
    }
}

/// Orders everything before with later stores, and earlier loads with everything after, at system
/// scope.
#[inline(always)]
pub(super) fn system_fence_acq_rel() {
    // SAFETY: touches no memory itself.
    unsafe { asm!("fence.acq_rel.sys;", options(nostack)) };
}

/// Orders everything before with everything after, at system scope.
#[inline(always)]
pub(super) fn system_fence_sc() {
    // SAFETY: touches no memory itself.
    unsafe { asm!("fence.sc.sys;", options(nostack)) };
}

/// A read-modify-write at device scope.
macro_rules! read_modify_write {
    ($name:ident, $instruction:literal) => {
        /// # Safety
        /// `at` is a valid, aligned address of the `.global` state space.
        #[inline(always)]
        pub(super) unsafe fn $name(at: u64, operand: u32) -> u32 {
            let before;
            // SAFETY: the caller's promise.
            unsafe {
                asm!(
                    concat!($instruction, " {}, [{}], {};"),
                    out(reg32) before, in(reg64) at, in(reg32) operand, options(nostack)
                );
            }
            before
        }
    };
}

read_modify_write!(device_or_acquire, "atom.acquire.gpu.global.or.b32");
read_modify_write!(device_and_release, "atom.release.gpu.global.and.b32");
read_modify_write!(device_add_relaxed, "atom.relaxed.gpu.global.add.u32");

/// Waits a little, longer the larger `attempt` is: at most about a microsecond, so that a reply is
/// not noticed much later than it arrives.
pub fn pause(attempt: u32) {
    let nanoseconds = 32_u32 << attempt.min(5);
    // SAFETY: touches no memory.
    unsafe { asm!("nanosleep.u32 {};", in(reg32) nanoseconds, options(nomem, nostack)) };
}
