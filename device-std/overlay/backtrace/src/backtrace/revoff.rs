//! The frames of a device thread, which `device-std` finds.

use core::ffi::c_void;
use core::ptr;

use crate::sys::device::std_trace;

#[inline(always)]
pub unsafe fn trace(visit: &mut dyn FnMut(&super::Frame) -> bool) {
    std_trace(&mut |offset| visit(&super::Frame { inner: Frame { offset } }));
}

/// A call.
#[derive(Clone)]
pub struct Frame {
    /// Its return address, as an offset in the image.
    offset: usize,
}

impl Frame {
    pub fn ip(&self) -> *mut c_void {
        ptr::without_provenance_mut(self.offset)
    }

    pub fn sp(&self) -> *mut c_void {
        ptr::null_mut()
    }

    pub fn symbol_address(&self) -> *mut c_void {
        self.ip()
    }

    pub fn module_base_address(&self) -> Option<*mut c_void> {
        None
    }
}
