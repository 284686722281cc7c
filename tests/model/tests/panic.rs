//! The panic record: a host that reads its state sees the complete location.

use core::mem::offset_of;

use model::Access::{Load, Store};
use model::Side::{Device, Host};
use model::{Memory, Runs, Weak, explore, pause};
use revoff_device::panic_record::fill;
use revoff_host::model::panic::place;
use shared_abi::image::PanicRecord;

/// A thread panics, in a file with an empty name, while the host reads the record.
fn run(weak: Option<Weak>) {
    let (system, host) = Memory::new(weak)
        .flag32(offset_of!(PanicRecord, state), "state", 0)
        .data32(offset_of!(PanicRecord, line), "line", 0)
        .data32(offset_of!(PanicRecord, column), "column", 0)
        .data32(offset_of!(PanicRecord, file_len), "file_len", 0)
        .share();
    let (claim, _) = Memory::new(weak).flag32(0, "claim", 0).share();
    let device = loom::thread::spawn(move || fill(&claim, &system, ("", 7, 5), || pause(1)));
    if let Some(place) = place(&host) {
        assert_eq!(place, ":7:5");
    }
    if device.join().is_err() {
        panic!("the device thread failed");
    }
    assert_eq!(place(&host).as_deref(), Some(":7:5"));
}

#[test]
fn a_panic_while_the_host_reads() {
    explore("panic record", Runs::All, || run(None));
}

/// Explores a model without an order.
fn weak(weak: Weak) {
    explore("panic record, weakened", Runs::All, move || run(Some(weak)));
}

#[test]
#[should_panic(expected = "Causality violation")]
fn p1_without_device_release() {
    weak(Weak(Device, Store, "state"));
}

#[test]
#[should_panic(expected = "Causality violation")]
fn p1_without_host_acquire() {
    weak(Weak(Host, Load, "state"));
}
