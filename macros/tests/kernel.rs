//! Kernels as the `host` device calls them.

// The generated code refers to `::revoff_device`, of which it needs this much.
extern crate self as revoff_device;
pub use shared_abi;

use std::ffi::c_void;
use std::ptr;

use revoff_macros::kernel;

/// Doubles a value in place. The parameters have names that generated code might use.
#[kernel]
pub fn double(params: *mut f64, body: u32, scale: f64) {
    if body == 3 {
        // SAFETY: the test passes a pointer to a value of its own.
        unsafe { *params *= scale };
    }
}

/// Nothing to read.
#[kernel]
pub fn idle() {}

/// Parameters of every width, to be read unaligned.
///
/// # Safety
///
/// `out` is writable.
#[kernel]
#[allow(clippy::too_many_arguments, reason = "every width")]
pub unsafe fn sum(
    a: u8,
    b: i16,
    c: u32,
    d: i64,
    e: f32,
    f: usize,
    out: *mut i64,
    _g: *const c_void,
) {
    // SAFETY: the caller's promise.
    unsafe { *out = i64::from(a) + i64::from(b) + i64::from(c) + d + e as i64 + f as i64 };
}

fn parameter<T>(value: &T) -> *const c_void {
    ptr::from_ref(value).cast()
}

#[test]
fn parameters_arrive() {
    let mut value = 21.0_f64;
    let pointer = &raw mut value;
    let params = [parameter(&pointer), parameter(&3_u32), parameter(&2.0_f64)];
    // SAFETY: one pointer for each parameter, each to a value of its type.
    unsafe { double(params.as_ptr()) };
    assert_eq!(value, 42.0);
}

#[test]
fn parameters_need_no_alignment() {
    #[repr(C, packed)]
    struct Packed(u8, i16, u32, i64, f32, usize, *mut i64, *const c_void);
    #[repr(C, align(16))]
    struct Aligned(Packed);

    let mut out = 0_i64;
    let packed = Packed(1, -2, 3, 4, 5.0, 6, &raw mut out, ptr::null());
    let place = Aligned(packed);
    let packed = &place.0;
    let params: [*const c_void; 8] = [
        (&raw const packed.0).cast(),
        (&raw const packed.1).cast(),
        (&raw const packed.2).cast(),
        (&raw const packed.3).cast(),
        (&raw const packed.4).cast(),
        (&raw const packed.5).cast(),
        (&raw const packed.6).cast(),
        (&raw const packed.7).cast(),
    ];
    // A byte comes before all aligned parameters.
    assert!(
        params[1..]
            .iter()
            .all(|pointer| !pointer.addr().is_multiple_of(2))
    );
    // SAFETY: one pointer for each parameter, each to a value of its type; `out` is
    // writable.
    unsafe { sum(params.as_ptr()) };
    assert_eq!(out, 17);
}

#[test]
fn no_parameters() {
    // SAFETY: the kernel reads no parameters.
    unsafe { idle(ptr::null()) };
}

#[test]
fn information() {
    assert_eq!(__revoff_kernel_double.params, 3);
    assert_eq!(__revoff_kernel_double.bytes, 20);
    assert_eq!(__revoff_kernel_idle.params, 0);
    assert_eq!(__revoff_kernel_idle.bytes, 0);
    assert_eq!(__revoff_kernel_sum.params, 8);
    assert_eq!(__revoff_kernel_sum.bytes, 1 + 2 + 4 + 8 + 4 + 8 + 8 + 8);
    assert_ne!(
        __revoff_kernel_double.signature,
        __revoff_kernel_sum.signature
    );
}

/// The hash that `revoff_fn::signature::of_kernel` gives, frozen there too.
#[test]
fn frozen_signature() {
    /// As a digest kernel might be.
    #[kernel]
    pub fn digest(_files: u32, _buffers: *mut u8, _scale: f64) {}
    assert_eq!(__revoff_kernel_digest.signature, 0xaa12_2db3_2f6c_47c7);
}
