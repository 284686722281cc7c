//! An image in C, and a host function in C's form.

use std::ffi::c_void;

use conformance::Target;
use revoff_host::Functions;
use revoff_host::shared_abi::status::Status;

use crate::image::{c_calls, c_panics};
use crate::session::{Session, read};
use crate::{Test, test};

pub(crate) const TESTS: &[Test] = &[
    test!(a_c_kernel_calls).only(Target::is_host),
    test!(strays_of_a_c_kernel).only(Target::is_host),
    test!(a_kernel_leaves_the_place_of_its_panic)
        .alone()
        .only(Target::is_host),
    test!(a_kernel_lies_about_its_panic)
        .alone()
        .only(Target::is_host),
    test!(a_fault_is_no_panic).alone().only(Target::is_host),
];

/// Adds 1000 to a number, and the sum of two words to a third.
pub(crate) unsafe extern "C" fn lookup(args: *mut *mut c_void) {
    // SAFETY: called only by `translate` and in words.c, which send a number, three words or more,
    // both writable and aligned, and a value.
    unsafe {
        let (number, own) = ((*args).cast::<u64>(), (*args.add(1)).cast::<u64>());
        let me = (*args.add(2)).addr() as u64;
        *number += 1000;
        *own.add(2) = *own + *own.add(1) + me;
    }
}

fn open_session(target: &Target) -> Session {
    let mut functions = Functions::new();
    // SAFETY: the image is the suite's own, whose kernels send the arguments that `lookup` takes.
    unsafe { functions.add_raw("lookup", lookup).unwrap() };
    let runtime = target.builder().build().unwrap();
    Session::on(&runtime, &c_calls(), &functions)
}

fn a_c_kernel_calls(target: &Target) {
    let session = open_session(target);
    let (teams, threads) = (20, 16);
    let count = teams * threads;
    let numbers = session.filled(&(0..count).collect::<Vec<u64>>());
    let results = session.zeroed::<u64>(count as usize);
    let statuses = session.filled(&vec![77u32; count as usize]);
    let grid = (teams as u32, threads as u32);
    session
        .run("translate", grid, &[&numbers, &results, &statuses])
        .unwrap();
    let expected: Vec<u64> = (1000..1000 + count).collect();
    assert_eq!(read::<u64>(&numbers), expected);
    let expected: Vec<u64> = (0..count).map(|me| 2 * me + teams).collect();
    assert_eq!(read::<u64>(&results), expected);
    let status = if target.reports_status() {
        Status::DONE
    } else {
        Status::NONE
    };
    assert_eq!(read::<u32>(&statuses), vec![status.0; count as usize]);
}

fn strays_of_a_c_kernel(target: &Target) {
    let session = open_session(target);
    let statuses = session.filled(&[77u32; 4]);
    let error = session
        .run("strays", (1, 1), &[&statuses])
        .unwrap_err()
        .to_string();
    assert!(error.contains("(`unknown`)"), "{error}");
    let last = if target.reports_status() {
        Status::NO_SUCH_FUNCTION
    } else {
        Status::NONE
    };
    let not = Status::NOT_OFFLOADED.0;
    assert_eq!(read::<u32>(&statuses), [not, not, 77, last.0]);
    assert_eq!(session.runtime.requests(), 1);
}

/// The error of a launch of a panicking kernel of the image.
fn fault_of(target: &Target, kernel: &str, param: u64) -> String {
    let runtime = target.builder().build().unwrap();
    let session = Session::on(&runtime, &c_panics(), &Functions::new());
    let error = session.run(kernel, (1, 1), &[&param]).unwrap_err();
    error.to_string()
}

fn a_kernel_leaves_the_place_of_its_panic(target: &Target) {
    let error = fault_of(target, "panics", 1);
    assert!(error.contains("panicked at src/sort.rs:21:9: "), "{error}");
}

/// A device may write anything.
fn a_kernel_lies_about_its_panic(target: &Target) {
    let error = fault_of(target, "lies", u64::MAX);
    let place = "panicked at a\\u{1b}[31m\u{fffd}\\0\\0";
    assert!(error.contains(place), "{error}");
    assert!(error.contains(r"\0:1:0: "), "{error}");
    assert!(error.len() < 1000, "{error}");
}

fn a_fault_is_no_panic(target: &Target) {
    let error = fault_of(target, "panics", 0);
    assert!(!error.contains("panicked at"), "{error}");
}
