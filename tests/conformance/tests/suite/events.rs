//! Queues that wait for each other by events, without the host.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use conformance::{Target, emulated, process};
use conformance_calls::Outcome;
use revoff_host::device::{
    self, BlockShape, DeviceAddr, Event, EventState, Fill, LaunchContext, Queue,
};
use revoff_host::env::Env;
use revoff_host::{DeviceBuffer, Functions, Grid, KernelArg, Launch, LaunchError};

use crate::image::image;
use crate::session::{Session, acting, read};
use crate::{Test, test};

pub(crate) const TESTS: &[Test] = &[
    test!(an_event_is_pending_and_then_done),
    test!(a_queue_waits_for_another),
    test!(a_diamond),
    test!(a_failure_travels).alone(),
    test!(a_queue_works_after_a_failure).only(Target::survives_faults),
    test!(a_copy_fails_in_its_turn).only(Target::survives_faults),
    test!(a_copy_that_is_refused_is_not_queued),
    test!(a_thousand_in_a_chain).alone(),
    test!(ten_thousand_in_a_hundred_queues),
    test!(queues_that_are_dropped),
    test!(a_device_that_is_dropped).alone(),
    test!(a_chain_calls_the_host),
    test!(a_function_waits_for_a_chain),
    test!(copies_behind_a_caller_hold_up_no_call).alone(),
    test!(launches_from_several_threads),
    test!(streams_are_few).alone().only(Target::is_emu),
    test!(busy_streams_keep_no_idle_ones_from_use)
        .alone()
        .only(Target::is_emu),
    test!(small_launches_take_no_new_threads)
        .alone()
        .only(Target::is_host),
];

fn quiet(target: &Target) -> Session {
    Session::new(target, &Functions::new())
}

fn new_queue(session: &Session) -> Box<dyn Queue> {
    session.runtime.queue().expect("a queue")
}

/// A kernel that keeps a queue busy until it is released. Check observations only after it is
/// opened, because a panic before that would wait for it.
struct Gate {
    launch: Launch,
    flag: DeviceBuffer,
}

impl Gate {
    fn close(session: &Session, queue: &mut dyn Queue) -> Self {
        let flag = session.zeroed::<u32>(1);
        let launch = session.enqueue(queue, "wait_for", (1, 1), &[&flag]);
        Self { launch, flag }
    }

    fn open(self) {
        self.flag.write(0, &[1u32]).expect("the flag");
        self.launch.wait().expect("it ends");
    }
}

fn is_pending(event: &Arc<dyn Event>) -> bool {
    event.check() == EventState::Pending
}

fn an_event_is_pending_and_then_done(target: &Target) {
    let session = quiet(target);
    let words = session.filled(&[5u32, 6]);
    let mut queue = new_queue(&session);
    assert_eq!(
        queue.record_event().check(),
        EventState::Done,
        "nothing is before"
    );
    let gate = Gate::close(&session, &mut *queue);
    let before = queue.record_event();
    let mut copied = [0u32; 2];
    // SAFETY: the words are left alone until the event behind the copy is reached.
    unsafe { queue.copy_from_device(copied.as_mut_ptr().cast(), words.address(), 8) }.unwrap();
    let new = [7u32, 8];
    // SAFETY: the words are left alone until the event after the copy is reached.
    unsafe { queue.copy_to_device(words.address(), new.as_ptr().cast(), 8) }.unwrap();
    queue.store_word(words.address() + 4, 9).unwrap();
    let behind = queue.record_event();
    let pending = [&before, &behind].map(is_pending);
    gate.open();
    assert_eq!(pending, [true; 2]);
    behind.sync().unwrap();
    assert_eq!(behind.check(), EventState::Done);
    assert_eq!(before.check(), EventState::Done);
    assert_eq!(copied, [5, 6], "read before it is written");
    assert_eq!(read::<u32>(&words), [7, 9]);
    queue.synchronize().unwrap();
}

fn a_queue_waits_for_another(target: &Target) {
    let session = quiet(target);
    let (from, to) = (session.filled(&[5u32]), session.zeroed::<u32>(1));
    let (mut one, mut other) = (new_queue(&session), new_queue(&session));
    let gate = Gate::close(&session, &mut *one);
    let event = one.record_event();
    assert!(other.can_wait_for(&*event));
    other.wait_event(&event);
    // Empty places wait, too.
    let place = other.record_event();
    other
        .copy_on_device(to.address(), from.address(), 4)
        .unwrap();
    let behind = other.record_event();
    let pending = [&place, &behind].map(is_pending);
    gate.open();
    assert_eq!(pending, [true; 2]);
    other.synchronize().unwrap();
    assert_eq!(place.check(), EventState::Done);
    assert_eq!(behind.check(), EventState::Done);
    assert_eq!(read::<u32>(&to), [5]);
}

/// A function that records its arguments, in order.
fn noting() -> (Functions, Arc<Mutex<Vec<u64>>>) {
    let asked = Arc::<Mutex<Vec<u64>>>::default();
    let note = Arc::clone(&asked);
    let functions = acting(move |what| {
        note.lock().unwrap().push(what);
        what
    });
    (functions, asked)
}

fn enqueue_act(session: &Session, queue: &mut dyn Queue, what: u64) -> (Launch, DeviceBuffer) {
    let outcomes = session.zeroed::<Outcome>(1);
    let args: [&dyn KernelArg; 4] = [&what, &0u64, &1u32, &outcomes];
    (session.enqueue(queue, "call_act", (1, 1), &args), outcomes)
}

fn a_diamond(target: &Target) {
    let (functions, asked) = noting();
    let session = Session::new(target, &functions);
    let mut queues = [(); 4].map(|()| new_queue(&session));
    let gate = Gate::close(&session, &mut *queues[0]);
    let mut launches = vec![enqueue_act(&session, &mut *queues[0], 1)];
    let first = queues[0].record_event();
    for what in [2, 3] {
        let queue = &mut *queues[what as usize - 1];
        queue.wait_event(&first);
        launches.push(enqueue_act(&session, queue, what));
    }
    for middle in [1, 2] {
        let event = queues[middle].record_event();
        queues[3].wait_event(&event);
    }
    launches.push(enqueue_act(&session, &mut *queues[3], 4));
    let pending = launches.iter().all(|(launch, _)| !launch.is_done());
    gate.open();
    assert!(pending);
    for (launch, _) in &launches {
        launch.wait().unwrap();
    }
    let mut asked = asked.lock().unwrap().clone();
    asked[1..3].sort_unstable();
    assert_eq!(asked, [1, 2, 3, 4]);
}

/// Operations that wait, directly or not, for a kernel that traps; and one that begins to wait for
/// it afterwards.
fn a_failure_travels(target: &Target) {
    let (trap, trapping) = channel::<()>();
    let trapping = Mutex::new(trapping);
    let asked = Arc::<Mutex<Vec<u64>>>::default();
    let note = Arc::clone(&asked);
    let functions = acting(move |what| {
        note.lock().unwrap().push(what);
        if what == 1 {
            let _ = trapping.lock().unwrap().recv();
        }
        what
    });
    let session = Session::new(target, &functions);
    let words = session.filled(&[5u32]);
    let mut queues = [(); 3].map(|()| new_queue(&session));
    let outcomes = session.zeroed::<Outcome>(1);
    let args: [&dyn KernelArg; 3] = [&1u64, &0u32, &outcomes];
    let launch = session.enqueue(&mut *queues[0], "call_and_trap", (1, 1), &args);
    let event = queues[0].record_event();
    queues[1].wait_event(&event);
    let later = enqueue_act(&session, &mut *queues[1], 2);
    let mut copied = 0u32;
    // SAFETY: the word is left alone until the event behind the copy is reached.
    unsafe { queues[1].copy_from_device((&raw mut copied).cast(), words.address(), 4) }.unwrap();
    let behind = queues[1].record_event();
    let pending = [&event, &behind].map(is_pending);
    trap.send(()).unwrap();
    let not_run = behind.sync().unwrap_err();
    assert_eq!(pending, [true; 2]);
    assert_eq!(behind.check(), EventState::Failed(not_run.clone()));
    let EventState::Failed(cause) = event.check() else {
        panic!("{:?}", event.check())
    };
    if target.survives_faults() {
        assert_eq!(not_run, cause.not_run());
    }
    let fault = |launch: &Launch| match launch.wait() {
        Err(LaunchError::Fault { fault, .. }) => fault,
        other => panic!("{other:?}"),
    };
    // The launch alone may know where the kernel has panicked.
    let told = fault(&launch).to_string();
    assert!(told.ends_with(&cause.to_string()), "{told}: {cause}");
    fault(&later.0);
    assert_eq!(copied, 0, "what failed is not copied");
    queues[0].synchronize().unwrap_err();
    queues[1].synchronize().unwrap_err();
    if target.survives_faults() {
        queues[2].wait_event(&event);
        let late = enqueue_act(&session, &mut *queues[2], 3);
        assert_eq!(fault(&late.0), cause.not_run());
        // SAFETY: the word is left alone until the event after the copy is reached.
        unsafe { queues[2].copy_from_device((&raw mut copied).cast(), outcomes.address(), 4) }
            .unwrap_err();
    }
    assert_eq!(*asked.lock().unwrap(), [1], "nobody else has run");
}

fn a_queue_works_after_a_failure(target: &Target) {
    let session = Session::new(target, &acting(|what| what));
    let mut queue = new_queue(&session);
    let outcomes = session.zeroed::<Outcome>(1);
    let args: [&dyn KernelArg; 3] = [&1u64, &0u32, &outcomes];
    let launch = session.enqueue(&mut *queue, "call_and_trap", (1, 1), &args);
    launch.wait().unwrap_err();
    queue.synchronize().unwrap_err();
    queue.synchronize().unwrap();
    let (launch, _outcome) = enqueue_act(&session, &mut *queue, 1);
    launch.wait().unwrap();
    assert_eq!(queue.record_event().check(), EventState::Done);
    session.works();
}

/// A copy to memory that is freed too early; drivers may free it later than requested.
fn a_copy_fails_in_its_turn(target: &Target) {
    let session = quiet(target);
    let gone = session.zeroed::<u32>(64);
    let mut queue = new_queue(&session);
    let gate = Gate::close(&session, &mut *queue);
    let bytes = [1u8; 64];
    // SAFETY: the bytes are left alone until the event behind the copy has failed.
    unsafe { queue.copy_to_device(gone.address(), bytes.as_ptr(), 64) }.unwrap();
    let event = queue.record_event();
    drop(gone);
    gate.open();
    let words = event.sync().unwrap_err();
    assert_eq!(event.check(), EventState::Failed(words));
    queue.synchronize().unwrap_err();
}

fn a_copy_that_is_refused_is_not_queued(target: &Target) {
    let session = quiet(target);
    let mut queue = new_queue(&session);
    let mut byte = 0u8;
    let here = &raw mut byte;
    // SAFETY: the byte is left alone until `synchronize`.
    unsafe { queue.copy_from_device(here, DeviceAddr(here.addr() as u64), 1) }.unwrap_err();
    let gate = Gate::close(&session, &mut *queue);
    // SAFETY: the byte is left alone until `synchronize`.
    unsafe { queue.copy_from_device(here, DeviceAddr(here.addr() as u64), 1) }.unwrap_err();
    gate.open();
    assert_eq!(queue.record_event().sync(), Ok(()));
    queue.synchronize().unwrap();
}

fn a_thousand_in_a_chain(target: &Target) {
    let session = quiet(target);
    let count = session.zeroed::<u32>(1);
    let mut queue = new_queue(&session);
    let gate = Gate::close(&session, &mut *queue);
    let before = process::threads();
    let launches: Vec<_> = (0..1000)
        .map(|_| session.enqueue(&mut *queue, "add_one", (1, 1), &[&count]))
        .collect();
    let waiting = process::threads();
    gate.open();
    // The threads of the gate and of a driver may have been late.
    assert!(waiting < before + 10, "no thread waits");
    launches.last().unwrap().wait().unwrap();
    assert_eq!(queue.record_event().sync(), Ok(()));
    assert!(process::threads() < before + 10, "one after the other");
    assert_eq!(read::<u32>(&count), [1000]);
}

fn ten_thousand_in_a_hundred_queues(target: &Target) {
    let session = quiet(target);
    let mut first = new_queue(&session);
    let gate = Gate::close(&session, &mut *first);
    let open = first.record_event();
    let mut queues: Vec<_> = (0..100)
        .map(|_| {
            let mut queue = new_queue(&session);
            queue.wait_event(&open);
            (queue, session.zeroed::<u32>(1))
        })
        .collect();
    let mut launches = Vec::new();
    for _ in 0..100 {
        for (queue, count) in &mut queues {
            launches.push(session.enqueue(&mut **queue, "add_one", (1, 1), &[count]));
        }
    }
    gate.open();
    for (queue, count) in &mut queues {
        queue.synchronize().unwrap();
        assert_eq!(read::<u32>(count), [100]);
    }
    assert!(launches.iter().all(Launch::is_done));
}

fn queues_that_are_dropped(target: &Target) {
    let session = quiet(target);
    let count = session.zeroed::<u32>(1);
    let mut first = new_queue(&session);
    let gate = Gate::close(&session, &mut *first);
    let mut event = first.record_event();
    drop(first);
    let mut launches = Vec::new();
    for _ in 0..10 {
        let mut queue = session.runtime.shared_queue().unwrap();
        queue.wait_event(&event);
        launches.push(session.enqueue(&mut *queue, "add_one", (1, 1), &[&count]));
        event = queue.record_event();
    }
    let pending = is_pending(&event);
    gate.open();
    event.sync().unwrap();
    assert!(pending);
    assert_eq!(read::<u32>(&count), [10]);
    for launch in launches {
        launch.wait().unwrap();
    }
}

/// Only pending operations own the device any more.
fn a_device_that_is_dropped(target: &Target) {
    quiet(target).works_without_calls();
    // The threads of what ran until now end. The test sees less if they take longer.
    std::thread::sleep(Duration::from_millis(200));
    let threads = process::threads();
    let device = device::open(target.device, &Env::default()).unwrap();
    let module = device.load(&image(target)).unwrap();
    let kernel = |name| module.kernel(name).unwrap().expect("the kernel");
    let flag = device.alloc_mapped(128).unwrap();
    let count = device.alloc(256, Fill::Zeros).unwrap();
    let ended = Arc::new(AtomicU32::new(0));
    let mut copied = 0u32;
    let mut queue = device.queue().unwrap();
    let mut launch = |kernel, param: DeviceAddr| {
        let count = Arc::clone(&ended);
        let context = LaunchContext {
            block: BlockShape::default(),
            key: 1,
            calls_host: false,
            wake_host: Arc::new(|| ()),
            ended: Arc::new(move || {
                count.fetch_add(1, Ordering::Relaxed);
            }),
        };
        let grid = Grid {
            teams: 1,
            threads: 1,
        };
        let params = [param.0.to_ne_bytes()].iter().collect();
        // SAFETY: the kernels take the address of a word, whose memory lives as long as the device,
        // or, mapped, until everything has been waited for.
        unsafe { queue.launch(&module, kernel, grid, &params, context) }.unwrap()
    };
    let running = [
        launch(kernel("wait_for"), flag.device),
        launch(kernel("add_one"), count),
        launch(kernel("add_one"), count),
    ];
    // SAFETY: the word is left alone until the event behind the copy is reached.
    unsafe { queue.copy_from_device((&raw mut copied).cast(), count, 4) }.unwrap();
    let event = queue.record_event();
    drop((queue, module, device));
    assert!(is_pending(&event));
    // SAFETY: the word is aligned, and the kernel only reads it.
    unsafe { flag.host.cast::<AtomicU32>().as_ref() }.store(1, Ordering::Release);
    event.sync().unwrap();
    assert_eq!(copied, 2);
    for running in running {
        running.wait(None).unwrap().unwrap();
    }
    assert_eq!(ended.load(Ordering::Relaxed), 3);
    drop((event, flag));
    assert!(process::settle(process::threads, threads) <= threads);
}

fn a_chain_calls_the_host(target: &Target) {
    let (functions, asked) = noting();
    let session = Session::new(target, &functions);
    let other = session.start_act((2, 2), 1000, 0, 200);
    let mut queue = new_queue(&session);
    let launches: Vec<_> = (0..50)
        .map(|what| enqueue_act(&session, &mut *queue, what))
        .collect();
    for (launch, outcomes) in &launches {
        launch.wait().unwrap();
        assert_eq!(read::<Outcome>(outcomes)[0].ok, 1);
    }
    other.launch.wait().unwrap();
    let mut asked = asked.lock().unwrap().clone();
    asked.retain(|&what| what < 1000);
    assert_eq!(asked, (0..50).collect::<Vec<_>>());
}

/// A host function puts kernels that call the host into a queue and waits for an event.
fn a_function_waits_for_a_chain(target: &Target) {
    let inner = Arc::<Mutex<Option<Session>>>::default();
    let session = Arc::clone(&inner);
    let functions = acting(move |what| {
        if what != 1 {
            return what;
        }
        let session = session.lock().unwrap();
        let session = session.as_ref().expect("set before the launch");
        let mut queue = new_queue(session);
        let launches: Vec<_> = (2..6)
            .map(|what| enqueue_act(session, &mut *queue, what))
            .collect();
        queue.record_event().sync().unwrap();
        launches
            .iter()
            .map(|(_, outcomes)| read::<Outcome>(outcomes)[0].sum)
            .sum()
    });
    let runtime = target.builder().build().unwrap();
    *inner.lock().unwrap() = Some(Session::on(&runtime, &image(target), &functions));
    let outer = Session::on(&runtime, &image(target), &functions);
    if !target.is_parallel() {
        return;
    }
    let (outcomes, result) = outer.act((1, 1), 1, 0, 1);
    result.unwrap();
    assert_eq!(outcomes[0].sum, 2 + 3 + 4 + 5);
    *inner.lock().unwrap() = None;
}

/// The host answers the calls of a kernel by copies, while another copy waits for that kernel, and
/// further operations wait for this copy.
fn copies_behind_a_caller_hold_up_no_call(target: &Target) {
    let runtime = target.builder().build().unwrap();
    let other = runtime.clone();
    let functions = acting(move |what| {
        let data = other.alloc_from(&[what; 100]).expect("device memory");
        read::<u64>(&data).iter().sum()
    });
    let session = Session::on(&runtime, &image(target), &functions);
    let (mut first, mut second) = (new_queue(&session), new_queue(&session));
    let outcomes = [(); 2].map(|()| session.zeroed::<Outcome>(1));
    let mut copied = [Outcome::default(); 2];
    let [to_first, to_second] = copied.each_mut().map(|outcome| (&raw mut *outcome).cast());
    let len = size_of::<Outcome>();
    let args: [&dyn KernelArg; 4] = [&7u64, &0u64, &3u32, &outcomes[0]];
    let before = session.enqueue(&mut *first, "call_act", (1, 1), &args);
    // SAFETY: `copied` is left alone until both queues have been synchronised.
    unsafe { first.copy_from_device(to_first, outcomes[0].address(), len) }.unwrap();
    let args: [&dyn KernelArg; 4] = [&8u64, &0u64, &2u32, &outcomes[1]];
    let behind = session.enqueue(&mut *first, "call_act", (1, 1), &args);
    let event = first.record_event();
    second.wait_event(&event);
    // SAFETY: `copied` is left alone until both queues have been synchronised.
    unsafe { second.copy_from_device(to_second, outcomes[1].address(), len) }.unwrap();
    second.synchronize().unwrap();
    assert_eq!(event.check(), EventState::Done);
    before.wait().unwrap();
    behind.wait().unwrap();
    first.synchronize().unwrap();
    let results = copied.map(|outcome| (outcome.ok, outcome.sum));
    assert_eq!(results, [(3, 2100), (2, 1600)]);
}

fn launches_from_several_threads(target: &Target) {
    let session = quiet(target);
    let counts: Vec<_> = (0..8).map(|_| session.zeroed::<u32>(4)).collect();
    let shared = session.zeroed::<u32>(1);
    let last = Mutex::new(None::<Arc<dyn Event>>);
    std::thread::scope(|scope| {
        for count in &counts {
            let (session, shared, last) = (&session, &shared, &last);
            scope.spawn(move || {
                let mut queue = new_queue(session);
                let mut launches = Vec::new();
                for _ in 0..50 {
                    launches.push(session.enqueue(&mut *queue, "add_one", (2, 2), &[count]));
                    // All kernels take turns at one word, in order.
                    let mut last = last.lock().unwrap();
                    if let Some(event) = &*last {
                        queue.wait_event(event);
                    }
                    let mine = session.enqueue(&mut *queue, "add_one", (1, 1), &[shared]);
                    *last = Some(queue.record_event());
                    launches.push(mine);
                }
                for launch in launches {
                    launch.wait().unwrap();
                }
            });
        }
    });
    assert_eq!(read::<u32>(&shared), [8 * 50]);
    for count in &counts {
        assert_eq!(read::<u32>(count), [50; 4]);
    }
}

/// Each stream of an emulated driver is a thread.
fn streams_are_few(target: &Target) {
    let session = quiet(target);
    let mut first = new_queue(&session);
    let gate = Gate::close(&session, &mut *first);
    let open = first.record_event();
    let before = process::threads();
    let count = session.zeroed::<u32>(1);
    let mut event = open;
    let mut launches = Vec::new();
    for _ in 0..1000 {
        let mut queue = session.runtime.shared_queue().unwrap();
        queue.wait_event(&event);
        launches.push(session.enqueue(&mut *queue, "add_one", (1, 1), &[&count]));
        event = queue.record_event();
    }
    let streams = process::threads() - before;
    gate.open();
    event.sync().unwrap();
    assert!((2..=130).contains(&streams), "{streams} streams");
    assert_eq!(read::<u32>(&count), [1000]);
    drop((event, first, launches, count));
    drop(session);
    assert_eq!(process::settle(emulated::unfreed, 0), 0);
}

fn busy_streams_keep_no_idle_ones_from_use(target: &Target) {
    let session = quiet(target);
    let mut first = new_queue(&session);
    let gate = Gate::close(&session, &mut *first);
    let open = first.record_event();
    let before = process::threads();
    // A word for each kernel, since they may run at the same time.
    let counts = session.zeroed::<u32>(160);
    let word = |at: u64| counts.address() + 4 * at;
    // Held at the same time, so that each has a stream, and returned before the others.
    let busy: Vec<_> = (0..10)
        .map(|at| {
            let mut queue = session.runtime.shared_queue().unwrap();
            queue.wait_event(&open);
            let launch = session.enqueue(&mut *queue, "add_one", (1, 1), &[&word(at)]);
            (queue, launch)
        })
        .collect();
    let launches: Vec<_> = busy.into_iter().map(|(_, launch)| launch).collect();
    for _ in 0..300 {
        drop(new_queue(&session));
    }
    let streams = process::threads() - before;
    // More than are kept, all of them busy when returned.
    let many: Vec<_> = (10..160)
        .map(|at| {
            let mut queue = new_queue(&session);
            queue.wait_event(&open);
            let launch = session.enqueue(&mut *queue, "add_one", (1, 1), &[&word(at)]);
            (queue, launch)
        })
        .collect();
    let more: Vec<_> = many.into_iter().map(|(_, launch)| launch).collect();
    gate.open();
    for launch in launches.into_iter().chain(more) {
        launch.wait().unwrap();
    }
    drop(new_queue(&session));
    let kept = process::settle(|| process::threads() - before, 128);
    assert!(streams <= 12, "{streams} streams");
    assert!(kept <= 128, "{kept} streams are kept");
    assert_eq!(read::<u32>(&counts), [1; 160]);
    drop((open, first, counts));
    drop(session);
    assert_eq!(process::settle(emulated::unfreed, 0), 0);
}

fn small_launches_take_no_new_threads(target: &Target) {
    const LAUNCHES: u32 = 200;
    let session = quiet(target);
    let count = session.zeroed::<u32>(1);
    for _ in 0..LAUNCHES {
        session.run("add_one", (1, 1), &[&count]).unwrap();
    }
    // Their numbers show how many there have been. Not one alone: a thread that has reported the end
    // of a launch may not have come back yet when the next one starts, and idle ones end.
    let newest = process::highest_number("device ");
    assert!(
        newest <= LAUNCHES / 10,
        "{newest} threads for one at a time"
    );
}
