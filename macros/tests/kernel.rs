//! Kernels as the `host` device sees them.

// What the macro generates refers to `::device_rt`, of which it needs this much.
extern crate self as device_rt;
pub use shared_abi;

use std::ffi::c_void;
use std::ptr;

use revoff_macros::kernel;

/// Doubles a value, in place. The parameters are named to be in the way.
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

/// Of every width that has to be read unaligned.
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
    let params = [
        parameter(&(&raw mut value)),
        parameter(&3_u32),
        parameter(&2.0_f64),
    ];
    // SAFETY: one pointer for each parameter, each to a value of its type.
    unsafe { double(params.as_ptr()) };
    assert_eq!(value, 42.0);
}

#[test]
fn parameters_need_no_alignment() {
    let mut out = 0_i64;
    let mut packed = vec![0_u8];
    let mut offsets = Vec::new();
    let mut push = |bytes: &[u8]| {
        offsets.push(packed.len());
        packed.extend_from_slice(bytes);
    };
    push(&1_u8.to_ne_bytes());
    push(&(-2_i16).to_ne_bytes());
    push(&3_u32.to_ne_bytes());
    push(&4_i64.to_ne_bytes());
    push(&5.0_f32.to_ne_bytes());
    push(&6_usize.to_ne_bytes());
    // Exposed, since a pointer loses its origin on the way through bytes.
    push(&(&raw mut out).expose_provenance().to_ne_bytes());
    push(&0_usize.to_ne_bytes());
    let params: Vec<*const c_void> = offsets
        .iter()
        .map(|offset| packed[*offset..].as_ptr().cast())
        .collect();
    // SAFETY: one pointer for each parameter, each to the bytes of its type; `out`
    // is writable.
    unsafe { sum(params.as_ptr()) };
    assert_eq!(out, 17);
}

#[test]
fn no_parameters() {
    // SAFETY: there is nothing to read.
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

/// The hash that `host_fn::signature::of_kernel` gives, frozen there too.
#[test]
fn frozen_signature() {
    /// As a digest kernel might be.
    #[kernel]
    pub fn digest(_files: u32, _buffers: *mut u8, _scale: f64) {}
    assert_eq!(__revoff_kernel_digest.signature, 0xaa12_2db3_2f6c_47c7);
}
