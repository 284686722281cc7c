//! Calls that are not made to the host.

use conformance::Target;
use conformance_calls::RawCall;
use revoff_host::shared_abi::gomp::{GOMP_DEVICE_HOST_FALLBACK, REVOFF_FLAG_STATUS};
use revoff_host::shared_abi::map_kind::MapKind;
use revoff_host::shared_abi::status::Status;

use crate::maps::probing;
use crate::raw::{Done, Form, NOT_WRITTEN, Where, perform_as, words};
use crate::session::Session;
use crate::{Test, test};

pub(crate) const TESTS: &[Test] = &[
    test!(other_devices),
    test!(a_null_function),
    test!(a_status_that_nobody_asks_for),
];

fn call(session: &Session, func: u64, device: i32, flags: u32) -> Done {
    let call = RawCall {
        func,
        device,
        flags,
        ..RawCall::default()
    };
    let data = session.filled(&[7u8; 16]);
    let forms = [Form::at(0, 16, MapKind::FROM)];
    let done = perform_as(session, Where::Memory, &data, &forms, call);
    done.result.as_ref().unwrap();
    done
}

fn other_devices(target: &Target) {
    let (session, notes) = probing(target, |_| Ok(()));
    let probe = words(&session).probe;
    for device in [0, 1, -1, -3, i32::MIN, i32::MAX] {
        let done = call(&session, probe, device, REVOFF_FLAG_STATUS);
        assert_eq!(done.status, Status::NOT_OFFLOADED, "device {device}");
        assert_eq!(done.data, [7; 16]);
    }
    assert!(notes.lock().unwrap().is_empty());
    assert_eq!(session.runtime.requests(), 0);
}

fn a_null_function(target: &Target) {
    let (session, _) = probing(target, |_| Ok(()));
    let done = call(&session, 0, GOMP_DEVICE_HOST_FALLBACK, REVOFF_FLAG_STATUS);
    assert_eq!(done.status, Status::NOT_OFFLOADED);
    assert_eq!(session.runtime.requests(), 0);
}

fn a_status_that_nobody_asks_for(target: &Target) {
    let (session, notes) = probing(target, |_| Ok(()));
    let probe = words(&session).probe;
    // Bits that GCC sets do not change anything.
    for flags in [0, 1, 0x3ff] {
        let done = call(&session, probe, GOMP_DEVICE_HOST_FALLBACK, flags);
        assert_eq!(done.status, Status(NOT_WRITTEN));
        assert_eq!(notes.lock().unwrap().drain(..).count(), 1, "it was called");
    }
}
