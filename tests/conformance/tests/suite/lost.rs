//! A kernel that faults loses its device, on devices with that behaviour. All resources of the
//! device must be dropped before it works again; other devices are not affected.

use conformance::{Target, emulated, process};
use conformance_calls::Outcome;
use revoff_host::device::{DeviceError, Fault};
use revoff_host::{KernelArg, LaunchError, Runtime, RuntimeError};

use crate::session::{Session, acting, read};
use crate::{Test, test};

pub(crate) const TESTS: &[Test] = &[
    test!(a_fault_loses_the_device)
        .alone()
        .only(Target::is_lost_by_faults),
    test!(everything_on_it_is_lost)
        .alone()
        .only(Target::is_lost_by_faults),
    // There are any number of emulated GPUs.
    test!(another_device_goes_on).alone().only(Target::is_emu),
];

fn fault(session: &Session) {
    let outcomes = session.zeroed::<Outcome>(4);
    let args: [&dyn KernelArg; 3] = [&1u64, &3u32, &outcomes];
    match session.run("call_and_trap", (1, 4), &args) {
        Err(LaunchError::Fault {
            kernel,
            fault: Fault::Lost(message),
            ..
        }) => {
            assert_eq!(kernel, "call_and_trap");
            assert!(message.contains("open it again"), "{message}");
        }
        other => panic!("{other:?}"),
    }
}

fn is_lost<T>(result: Result<T, RuntimeError>) {
    match result {
        Err(RuntimeError::Device(DeviceError::Lost { .. })) => {}
        // The image could not be loaded.
        Err(RuntimeError::Image(error)) if error.to_string().contains("is lost: ") => {}
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("it works"),
    }
}

/// A device must have freed everything when it is dropped.
fn nothing_is_left() {
    // The last owner may be a thread of the device, which is about to end.
    assert_eq!(process::settle(emulated::unfreed, 0), 0);
}

fn a_fault_loses_the_device(target: &Target) {
    for _ in 0..3 {
        let session = Session::new(target, &acting(|what| what));
        session.works();
        fault(&session);
        is_lost(session.runtime.alloc(8));
        // Nor does it work for others as long as this exists. Another emulated GPU is another device.
        assert!(target.is_emu() || target.builder().build().is_err());
        drop(session);
        nothing_is_left();
    }
    Session::new(target, &acting(|what| what)).works();
    nothing_is_left();
}

/// Including a correct kernel with its calls.
fn everything_on_it_is_lost(target: &Target) {
    let session = Session::new(target, &acting(|what| what));
    let memory = session.filled(&[1u32]);
    let other = session.start_act((4, 4), 1, 0, u32::MAX);
    while session.runtime.requests() < 100 {
        std::thread::yield_now();
    }
    fault(&session);
    match other.launch.wait() {
        Err(LaunchError::Fault {
            fault: Fault::Lost(_),
            ..
        }) => {}
        other => panic!("{other:?}"),
    }
    is_lost(memory.read(0, &mut [0u32]));
    is_lost(
        session
            .runtime
            .load(session.program.image(), &acting(|_| 0)),
    );
    drop((other, memory, session));
    nothing_is_left();
    Session::new(target, &acting(|what| what)).works();
}

fn another_device_goes_on(target: &Target) {
    let broken = Session::new(target, &acting(|what| what));
    let builder = Runtime::builder(target.device).wire(target.wire);
    let session = Session::build(target, builder, &acting(|what| what));
    let acting = session.start_act((2, 2), 1, 0, 2000);
    fault(&broken);
    acting.launch.wait().unwrap();
    for outcome in read::<Outcome>(&acting.outcomes) {
        assert_eq!((outcome.ok, outcome.failed), (2000, 0));
    }
    drop(acting);
    session.works();
    drop((session, broken));
    nothing_is_left();
}
