//! Launches that do not end in time.

use std::sync::Mutex;
use std::sync::mpsc::channel;
use std::time::Duration;

use conformance::Target;
use revoff_host::{Functions, Launch, LaunchError, Runtime};

use crate::abort::until_ended;
use crate::image::image;
use crate::session::{Session, acting};
use crate::{Test, test};

pub(crate) const TESTS: &[Test] = &[
    // Resources of such a launch are never freed.
    test!(a_kernel_that_does_not_end_is_named).alone(),
    test!(what_a_late_kernel_knows_of_is_kept).alone(),
    test!(calls_under_way_are_named).alone(),
    test!(a_kernel_in_time_notices_nothing),
    test!(the_environment_sets_a_deadline).alone_with(&[("REVOFF_DEADLINE", "1")]),
];

const DEADLINE: Duration = Duration::from_millis(200);

fn deadline_of(error: LaunchError) -> (String, Duration, Vec<String>) {
    match error {
        LaunchError::Deadline {
            kernel,
            after,
            pending,
            has_ended: _,
        } => (kernel, after, pending),
        other => panic!("{other}"),
    }
}

/// Waits for a kernel that ends: on a busy machine this may take longer than the short deadlines
/// here.
fn in_the_end(launch: &Launch) {
    loop {
        match launch.wait() {
            Err(LaunchError::Deadline { .. }) => {}
            other => {
                other.expect("the kernel ends after all");
                return;
            }
        }
    }
}

fn a_kernel_that_does_not_end_is_named(target: &Target) {
    let session = Session::build(
        target,
        target.builder().deadline(DEADLINE),
        &Functions::new(),
    );
    let flag = session.zeroed::<u32>(1);
    let launch = session.start("wait_for", (1, 1), &[&flag]);
    let error = launch.wait().expect_err("nobody writes the flag");
    let text = error.to_string();
    assert_eq!(
        deadline_of(error),
        ("wait_for".to_owned(), DEADLINE, Vec::new())
    );
    assert!(text.contains("REVOFF_DEADLINE"), "{text}");
    // The device works on; so does the kernel, whose flag still exists.
    let set = session.filled(&[1u32]);
    in_the_end(&session.start("wait_for", (1, 1), &[&set]));
    flag.write(0, &[1u32]).expect("a word");
    in_the_end(&launch);
    // A launch without a deadline continues.
    let never = session.zeroed::<u32>(1);
    let launch = session.start("wait_for", (1, 1), &[&never]);
    launch.wait().expect_err("nobody writes that flag");
    drop((launch, never));
    in_the_end(&session.start("wait_for", (1, 1), &[&set]));
}

/// A kernel past its deadline may use resources that existed then, but no newer ones.
fn what_a_late_kernel_knows_of_is_kept(target: &Target) {
    let builder = target.builder().deadline(DEADLINE);
    let session = Session::build(target, builder, &Functions::new());
    let used = || session.runtime.memory().used;
    let (flag, before) = (session.zeroed::<u32>(1), session.zeroed::<u8>(1 << 16));
    let launch = session.start("wait_for", (1, 1), &[&flag]);
    launch.wait().expect_err("nobody writes the flag");
    let now = used();
    drop(before);
    assert_eq!(used(), now, "the kernel may use it");
    for _ in 0..3 {
        drop(session.zeroed::<u8>(1 << 16));
        assert_eq!(used(), now, "the kernel cannot know of it");
    }
    let (kept, now) = (session.zeroed::<u8>(1 << 16), used());
    flag.write(0, &[1u32]).expect("a word");
    in_the_end(&launch);
    drop(kept);
    assert!(used() < now, "the kernel has ended");
}

fn calls_under_way_are_named(target: &Target) {
    let (release, wait) = channel::<()>();
    let (entered, call) = channel();
    let wait = Mutex::new(wait);
    let functions = acting(move |what| {
        entered.send(()).expect("the test waits for it");
        // Ends with the sender.
        let _ = wait.lock().expect("nobody panics").recv();
        what
    });
    let session = Session::build(target, target.builder().deadline(DEADLINE), &functions);
    let acting = session.start_act((1, 1), 1, 0, 1);
    call.recv().expect("the kernel calls");
    let error = acting.launch.wait().expect_err("the function waits");
    let (kernel, _, pending) = deadline_of(error);
    assert_eq!(kernel, "call_act");
    assert_eq!(pending, ["`act`"]);
    drop(release);
    until_ended(&acting.launch);
    let error = acting.launch.wait().expect_err("its call was aborted");
    assert!(matches!(error, LaunchError::Call { .. }), "{error}");
}

fn a_kernel_in_time_notices_nothing(target: &Target) {
    let hour = Duration::from_secs(3600);
    let session = Session::build(
        target,
        target.builder().deadline(hour),
        &acting(|what| what),
    );
    session.works();
}

fn the_environment_sets_a_deadline(target: &Target) {
    let runtime = Runtime::builder(target.device)
        .wire(target.wire)
        .build()
        .expect("a device that could be opened before");
    let session = Session::on(&runtime, &image(target), &Functions::new());
    let flag = session.zeroed::<u32>(1);
    let launch = session.start("wait_for", (1, 1), &[&flag]);
    let (_, after, _) = deadline_of(launch.wait().expect_err("nobody writes the flag"));
    assert_eq!(after, Duration::from_secs(1));
}
