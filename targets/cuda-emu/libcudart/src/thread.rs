//! State of each thread: the chosen device, the last error and the pending launches.

use std::cell::{Cell, RefCell};
use std::mem::ManuallyDrop;

/// A `dim3`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Dim3 {
    pub x: u32,
    pub y: u32,
    pub z: u32,
}

/// The configuration of a launch, between `<<<` and `>>>`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Configuration {
    pub(crate) grid: Dim3,
    pub(crate) block: Dim3,
    pub(crate) shared: usize,
    pub(crate) stream: u64,
}

thread_local! {
    static LAST: Cell<u32> = const { Cell::new(0) };
    static DEVICE: Cell<i32> = const { Cell::new(0) };
    /// Never dropped: programs call the runtime while they exit, too.
    static PENDING: RefCell<ManuallyDrop<Vec<Configuration>>> =
        const { RefCell::new(ManuallyDrop::new(Vec::new())) };
}

pub(crate) fn last_error() -> u32 {
    LAST.get()
}

pub(crate) fn set_last_error(error: u32) {
    LAST.set(error);
}

pub(crate) fn chosen_device() -> i32 {
    DEVICE.get()
}

pub(crate) fn choose_device(device: i32) {
    DEVICE.set(device);
}

pub(crate) fn push(configuration: Configuration) {
    PENDING.with_borrow_mut(|pending| pending.push(configuration));
}

pub(crate) fn pop() -> Option<Configuration> {
    PENDING.with_borrow_mut(|pending| pending.pop())
}
