//! Instructions below `sm_70`: volatile accesses, ordered by `membar` alone. Below `sm_60`,
//! read-modify-writes have device scope only.
//!
//! PTX ISA, "membar" and "ld.volatile". The state space is `.global` throughout;
//! `words` makes such addresses.

use core::arch::asm;

use shared_abi::words::{Load, Store};

macro_rules! load {
    ($name:ident, $value:ty, $suffix:literal, $class:ident, $fence:literal) => {
        /// # Safety
        /// `at` is a valid, aligned address of the `.global` state space.
        #[inline(always)]
        pub(super) unsafe fn $name(at: u64, order: Load) -> $value {
            let value;
            // SAFETY: the caller's promise.
            unsafe {
                match order {
                    Load::Relaxed => asm!(
                        concat!("ld.volatile.global.", $suffix, " {}, [{}];"),
                        out($class) value, in(reg64) at, options(nostack)
                    ),
                    Load::Acquire => asm!(
                        concat!("ld.volatile.global.", $suffix, " {}, [{}];"),
                        $fence,
                        out($class) value, in(reg64) at, options(nostack)
                    ),
                }
            }
            value
        }
    };
}

macro_rules! store {
    ($name:ident, $value:ty, $suffix:literal, $class:ident, $fence:literal) => {
        /// # Safety
        /// `at` is a valid, aligned address of the `.global` state space.
        #[inline(always)]
        pub(super) unsafe fn $name(at: u64, value: $value, order: Store) {
            // SAFETY: the caller's promise.
            unsafe {
                match order {
                    Store::Relaxed => asm!(
                        concat!("st.volatile.global.", $suffix, " [{}], {};"),
                        in(reg64) at, in($class) value, options(nostack)
                    ),
                    Store::Release => asm!(
                        $fence,
                        concat!("st.volatile.global.", $suffix, " [{}], {};"),
                        in(reg64) at, in($class) value, options(nostack)
                    ),
                }
            }
        }
    };
}

load!(system_load32, u32, "u32", reg32, "membar.sys;");
load!(system_load64, u64, "u64", reg64, "membar.sys;");
store!(system_store32, u32, "u32", reg32, "membar.sys;");
store!(system_store64, u64, "u64", reg64, "membar.sys;");
load!(device_load32, u32, "u32", reg32, "membar.gl;");
store!(device_store32, u32, "u32", reg32, "membar.gl;");

/// # Safety
/// `at` is a valid address of the `.global` state space.
#[inline(always)]
pub(super) unsafe fn system_load8(at: u64) -> u8 {
    let value: u32;
    // SAFETY: the caller's promise.
    unsafe {
        asm!("ld.volatile.global.u8 {}, [{}];", out(reg32) value, in(reg64) at, options(nostack));
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
            "st.volatile.global.u8 [{}], {};",
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
            "ld.volatile.global.v2.u64 {{{}, {}}}, [{}];",
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
            "st.volatile.global.v2.u64 [{}], {{{}, {}}};",
            in(reg64) at, in(reg64) first, in(reg64) second, options(nostack)
        );
    }
}

/// Orders everything before with later stores, and earlier loads with everything after, at system
/// scope.
#[inline(always)]
pub(super) fn system_fence_acq_rel() {
    // SAFETY: touches no memory itself.
    unsafe { asm!("membar.sys;", options(nostack)) };
}

/// Orders everything before with everything after, at system scope.
#[inline(always)]
pub(super) fn system_fence_sc() {
    // SAFETY: touches no memory itself.
    unsafe { asm!("membar.sys;", options(nostack)) };
}

/// A read-modify-write at device scope, between two other instructions or none.
macro_rules! read_modify_write {
    ($name:ident, $before:literal, $operation:literal, $after:literal) => {
        /// # Safety
        /// `at` is a valid, aligned address of the `.global` state space.
        #[inline(always)]
        pub(super) unsafe fn $name(at: u64, operand: u32) -> u32 {
            let before;
            // SAFETY: the caller's promise.
            unsafe {
                #[cfg(target_feature = "sm_60")]
                asm!(
                    $before,
                    concat!("atom.gpu.global.", $operation, " {}, [{}], {};"),
                    $after,
                    out(reg32) before, in(reg64) at, in(reg32) operand, options(nostack)
                );
                #[cfg(not(target_feature = "sm_60"))]
                asm!(
                    $before,
                    concat!("atom.global.", $operation, " {}, [{}], {};"),
                    $after,
                    out(reg32) before, in(reg64) at, in(reg32) operand, options(nostack)
                );
            }
            before
        }
    };
}

read_modify_write!(device_or_acquire, "", "or.b32", "membar.gl;");
read_modify_write!(device_and_release, "membar.gl;", "and.b32", "");
read_modify_write!(device_add_relaxed, "", "add.u32", "");

/// Waits a little, longer the larger `attempt` is, by reading the clock: there is no instruction to
/// sleep.
pub fn pause(attempt: u32) {
    for _ in 0..1_u32 << attempt.min(5) {
        // SAFETY: reads a special register.
        unsafe {
            asm!("mov.u32 {}, %clock;", out(reg32) _, options(nomem, nostack));
        }
    }
}
