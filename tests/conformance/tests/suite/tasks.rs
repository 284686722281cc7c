//! Tasks with dependencies.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Barrier, Mutex, mpsc};
use std::time::Duration;

use conformance::Target;
use conformance::process::threads;
use revoff_host::task::{self, Options, Resolve, TaskError};
use revoff_host::{DeviceBuffer, Error, Grid, Kernel};

use crate::gate::Gate;
use crate::session::{Session, acting_or, read};
use crate::{Test, test};

pub(crate) const TESTS: &[Test] = &[
    test!(a_chain_never_comes_back_to_the_host),
    test!(a_chain_that_the_host_resolves),
    test!(fan_out_and_in),
    test!(a_stencil_with_halos),
    test!(exclusive_updates_do_not_overlap),
    test!(host_tasks_between_kernels),
    test!(kernels_that_call_the_host),
    test!(scopes_in_host_functions).only(|target| target.is_parallel()),
    test!(copies),
    test!(a_fault_fails_what_depends_on_it).only(|target| target.survives_faults()),
    test!(a_fault_takes_nothing_else_along).only(|target| target.survives_faults()),
    test!(a_lost_device_is_an_error_of_each_task)
        .alone()
        .only(Target::is_emu),
    test!(a_failed_call_fails_what_depends_on_it),
    test!(misuse_is_named),
    test!(parameters_are_asked_once),
    test!(a_scope_in_a_host_task),
    test!(a_deadline_begins_with_the_turn).only(Target::is_host),
    test!(a_deadline_takes_nothing_else_along).only(Target::is_host),
    test!(a_hundred_thousand_in_queues).only(Target::is_host),
    test!(queues_are_few).alone().only(Target::is_host),
];

pub(crate) const GRID: Grid = Grid {
    teams: 1,
    threads: 2,
};

/// Words of a block.
pub(crate) const WORDS: usize = 8;
const COUNT: u64 = WORDS as u64;

/// The kernels of tasks, on a target.
pub(crate) struct Kernels {
    session: Session,
    pub(crate) mix: Kernel,
    pub(crate) add_slowly: Kernel,
    mix_with_host: Kernel,
    mix_between_calls: Kernel,
    mix_and_trap: Kernel,
    stencil: Kernel,
}

impl Kernels {
    pub(crate) fn new(target: &Target) -> Self {
        Self::calling(Session::new(target, &acting_or(Ok)))
    }

    fn calling(session: Session) -> Self {
        let kernel = |name| session.program.kernel(name).unwrap();
        Self {
            mix: kernel("mix"),
            add_slowly: kernel("add_slowly"),
            mix_with_host: kernel("mix_with_host"),
            mix_between_calls: kernel("mix_between_calls"),
            mix_and_trap: kernel("mix_and_trap"),
            stencil: kernel("stencil"),
            session,
        }
    }

    pub(crate) fn block(&self, first: u64) -> DeviceBuffer {
        self.session.filled(&block(first))
    }
}

pub(crate) fn block(first: u64) -> Vec<u64> {
    (first..first + COUNT).collect()
}

/// The computation of the kernel `mix`.
pub(crate) fn mixed(to: &mut [u64], from: &[u64], add: u64) {
    for (to, from) in to.iter_mut().zip(from) {
        *to = to.wrapping_mul(3).wrapping_add(from.wrapping_add(add));
    }
}

/// Spawns `mix`, or a kernel with the same parameters.
macro_rules! mix {
    ($tasks:expr, $kernel:expr, $to:expr, $from:expr, $add:expr) => {
        // SAFETY: the kernel takes these, and blocks have `COUNT` words; the task declares its
        // accesses.
        unsafe { $tasks.target($kernel, GRID, ($to, $from, COUNT, $add as u64)) }
            .reads($from)
            .updates($to)
    };
}

fn chain(target: &Target, resolve: Resolve, length: u64) -> u64 {
    let kernels = Kernels::new(target);
    let (x, y) = (kernels.block(1), kernels.block(100));
    let gate = Gate::default();
    let waits = Options::default().resolve(resolve).scope(|tasks| {
        // Nothing has ended when the last task is spawned.
        tasks.host(|| gate.pass()).writes(&x).spawn()?;
        for add in 0..length {
            mix!(tasks, &kernels.mix, &y, &x, add).spawn()?;
            mix!(tasks, &kernels.mix, &x, &y, add).spawn()?;
        }
        let before = tasks.stats();
        assert_eq!(before.pending, 2 * length + 1);
        gate.open();
        tasks.wait()?;
        let stats = tasks.stats();
        assert_eq!((stats.pending, stats.queued), (0, 0));
        assert_eq!(stats.done, 2 * length + 1);
        Ok(stats.host_waits)
    });
    let (mut expected_x, mut expected_y) = (block(1), block(100));
    for add in 0..length {
        mixed(&mut expected_y, &expected_x, add);
        mixed(&mut expected_x, &expected_y, add);
    }
    assert_eq!(read::<u64>(&x), expected_x);
    assert_eq!(read::<u64>(&y), expected_y);
    waits.unwrap()
}

fn a_chain_never_comes_back_to_the_host(target: &Target) {
    assert_eq!(chain(target, Resolve::OnDevice, 500), 0);
}

fn a_chain_that_the_host_resolves(target: &Target) {
    assert!(chain(target, Resolve::OnHost, 50) >= 99);
}

fn fan_out_and_in(target: &Target) {
    let kernels = Kernels::new(target);
    let from = kernels.block(1);
    let blocks: Vec<_> = (0..100).map(|n| kernels.block(n)).collect();
    let sum = kernels.block(0);
    let stats = task::scope(|tasks| {
        for round in 0..3 {
            mix!(tasks, &kernels.mix, &from, &blocks[0], round).spawn()?;
            for block in &blocks {
                mix!(tasks, &kernels.mix, block, &from, round).spawn()?;
            }
            for block in &blocks {
                mix!(tasks, &kernels.mix, &sum, block, round).spawn()?;
            }
        }
        tasks.wait()?;
        Ok(tasks.stats())
    });
    let stats = stats.unwrap();
    assert_eq!(stats.host_waits, 0);
    assert!(stats.queues <= 8, "{stats:?}");
    let mut expected_from = block(1);
    let mut expected: Vec<_> = (0..100).map(block).collect();
    let mut expected_sum = block(0);
    for round in 0..3 {
        mixed(&mut expected_from, &expected[0], round);
        for block in &mut expected {
            mixed(block, &expected_from, round);
        }
        for block in &expected {
            mixed(&mut expected_sum, block, round);
        }
    }
    assert_eq!(read::<u64>(&sum), expected_sum);
}

fn a_stencil_with_halos(target: &Target) {
    const ROWS: usize = 6;
    let kernels = Kernels::new(target);
    let rows = |first: u64| (0..ROWS as u64).map(move |n| first + n * COUNT);
    let states: [Vec<_>; 2] = [
        rows(1).map(|n| kernels.block(n)).collect(),
        rows(0).map(|_| kernels.block(0)).collect(),
    ];
    let host_waits = task::scope(|tasks| {
        for step in 0..10 {
            let (from, to) = (&states[step % 2], &states[1 - step % 2]);
            for row in 0..ROWS {
                let before = &from[(row + ROWS - 1) % ROWS];
                let after = &from[(row + 1) % ROWS];
                let args = (&to[row], before, &from[row], after, COUNT);
                // SAFETY: the kernel takes these, and the task declares its accesses.
                unsafe { tasks.target(&kernels.stencil, GRID, args) }
                    .reads(before)
                    .reads(&from[row])
                    .reads(after)
                    .writes(&to[row])
                    .spawn()?;
            }
        }
        tasks.wait()?;
        Ok(tasks.stats().host_waits)
    });
    assert_eq!(host_waits.unwrap(), 0);
    let mut expected: Vec<u64> = rows(1).flat_map(block).collect();
    let len = expected.len();
    for _ in 0..10 {
        expected = (0..len)
            .map(|i| {
                let beside = expected[(i + len - 1) % len].wrapping_add(expected[(i + 1) % len]);
                beside.wrapping_add(expected[i])
            })
            .collect();
    }
    let found: Vec<u64> = states[0].iter().flat_map(read::<u64>).collect();
    assert_eq!(found, expected);
}

fn exclusive_updates_do_not_overlap(target: &Target) {
    let kernels = Kernels::new(target);
    let sums = [kernels.block(0), kernels.block(0)];
    let inside = [AtomicBool::new(false), AtomicBool::new(false)];
    let seen = AtomicU64::new(0);
    task::scope(|tasks| {
        for add in 0..60u64 {
            let at = (add % 2) as usize;
            let sum = &sums[at];
            if add % 3 == 0 {
                let (inside, seen) = (&inside[at], &seen);
                let task = tasks.host(move || {
                    assert!(!inside.swap(true, Ordering::SeqCst), "one at a time");
                    let mut words = [0u64; WORDS];
                    sum.read(0, &mut words).unwrap();
                    let words = words.map(|word| word + add);
                    sum.write(0, &words).unwrap();
                    seen.fetch_add(1, Ordering::SeqCst);
                    inside.store(false, Ordering::SeqCst);
                });
                task.updates_exclusively(sum).spawn()?;
            } else {
                // SAFETY: the kernel takes these.
                unsafe { tasks.target(&kernels.add_slowly, GRID, (sum, COUNT, add)) }
                    .updates_exclusively(sum)
                    .spawn()?;
            }
        }
        Ok(())
    })
    .unwrap();
    assert_eq!(seen.into_inner(), 20);
    for (at, sum) in sums.iter().enumerate() {
        let added: u64 = (0..60).filter(|add| add % 2 == at as u64).sum();
        let expected: Vec<u64> = block(0).iter().map(|word| word + added).collect();
        assert_eq!(read::<u64>(sum), expected);
    }
}

fn host_tasks_between_kernels(target: &Target) {
    let kernels = Kernels::new(target);
    let (x, y) = (kernels.block(1), kernels.block(2));
    let sums = Mutex::new(Vec::new());
    let last = task::scope(|tasks| {
        for round in 0..5u64 {
            mix!(tasks, &kernels.mix, &y, &x, round).spawn()?;
            let sum = tasks.try_host(|| {
                let sum = read::<u64>(&y).into_iter().fold(0, u64::wrapping_add);
                y.write(0, &[sum])?;
                sums.lock().unwrap().push(sum);
                Ok::<u64, Error>(sum)
            });
            let handle = sum.updates(&y).named("sum").spawn()?;
            if round == 4 {
                return Ok(handle.wait()?);
            }
        }
        unreachable!()
    });
    let mut expected_y = block(2);
    let mut expected = Vec::new();
    for round in 0..5 {
        mixed(&mut expected_y, &block(1), round);
        expected_y[0] = expected_y
            .iter()
            .fold(0, |sum, word| sum.wrapping_add(*word));
        expected.push(expected_y[0]);
    }
    assert_eq!(last.unwrap(), expected[4]);
    assert_eq!(sums.into_inner().unwrap(), expected);
}

fn kernels_that_call_the_host(target: &Target) {
    let kernels = Kernels::calling(Session::new(target, &acting_or(|what| Ok(what * 2))));
    let grid = Grid {
        teams: 1,
        threads: 1,
    };
    let blocks: Vec<_> = (0..4).map(|n| kernels.block(n)).collect();
    let from = kernels.block(5);
    task::scope(|tasks| {
        for add in 0..10u64 {
            for block in &blocks {
                let kernel = if add % 2 == 0 {
                    &kernels.mix
                } else {
                    &kernels.mix_with_host
                };
                // SAFETY: the kernels take these, and the task declares its accesses.
                unsafe { tasks.target(kernel, grid, (block, &from, COUNT, add)) }
                    .reads(&from)
                    .updates(block)
                    .spawn()?;
            }
        }
        Ok(())
    })
    .unwrap();
    for (n, found) in blocks.iter().enumerate() {
        let mut expected = block(n as u64);
        for add in 0..10 {
            mixed(&mut expected, &block(5), add * (1 + add % 2));
        }
        assert_eq!(read::<u64>(found), expected);
    }
}

/// A kernel whose host function opens a scope with such a kernel.
fn scopes_in_host_functions(target: &Target) {
    for threads in [1, 2, 8] {
        let inner: Arc<Mutex<Option<Arc<Kernels>>>> = Arc::default();
        let launcher = Arc::clone(&inner);
        let functions = acting_or(move |what| {
            if what == 0 {
                return Ok(1);
            }
            let kernels = launcher.lock().unwrap().clone().expect("set before");
            let block = kernels.block(0);
            let from = kernels.block(1);
            let grid = Grid {
                teams: 1,
                threads: 1,
            };
            let sum = task::scope(|tasks| {
                for _ in 0..2 {
                    let args = (&block, &from, COUNT, what - 1);
                    // SAFETY: the kernel takes these.
                    unsafe { tasks.target(&kernels.mix_with_host, grid, args) }
                        .reads(&from)
                        .updates(&block)
                        .spawn()?;
                }
                let sum = tasks.host(|| {
                    // A task that waits itself, for its own children.
                    let children = tasks.group(|_| {
                        let one = tasks.host(|| 1).spawn()?;
                        let two = tasks.host(|| 2).spawn()?;
                        Ok(one.wait()? + two.wait()?)
                    });
                    assert_eq!(children.unwrap(), 3);
                    read::<u64>(&block)[0]
                });
                Ok(sum.reads(&block).spawn()?.wait()?)
            });
            sum.map_err(|error| error.to_string())
        });
        let builder = target.builder().threads(threads);
        let kernels = Kernels::calling(Session::build(target, builder, &functions));
        let kernels = Arc::new(kernels);
        *inner.lock().unwrap() = Some(Arc::clone(&kernels));
        let result = kernels.session.act((1, 2), 2, 0, 1);
        inner.lock().unwrap().take();
        result.1.unwrap();
        let deep = |add: u64| (1 + add) + (1 + add) * 3;
        for outcome in result.0 {
            assert_eq!(outcome.sum, deep(deep(1)), "{threads} threads");
        }
    }
}

fn copies(target: &Target) {
    let kernels = Kernels::new(target);
    let (x, y) = (kernels.block(0), kernels.block(2));
    let data = block(40);
    let mut back = vec![0u64; WORDS];
    task::scope(|tasks| {
        tasks.write(&x, 0, &data).writes(&x).spawn()?;
        mix!(tasks, &kernels.mix, &y, &x, 7).spawn()?;
        tasks.read(&y, 0, &mut back).reads(&y).spawn()?;
        assert_eq!(tasks.stats().host_waits, 0);
        let handle = tasks
            .write(&x, 8, &data)
            .named("too much")
            .writes(&x)
            .spawn()?;
        let error = handle.wait().unwrap_err().to_string();
        assert!(
            error.contains("`too much`") && error.contains("the buffer has 64 bytes"),
            "{error}"
        );
        Ok(())
    })
    .unwrap_err();
    let mut expected = block(2);
    mixed(&mut expected, &data, 7);
    assert_eq!(back, expected);
}

fn a_fault_fails_what_depends_on_it(target: &Target) {
    let kernels = Kernels::new(target);
    let (x, y, z) = (kernels.block(1), kernels.block(2), kernels.block(3));
    let other = kernels.block(4);
    let ran = AtomicBool::new(false);
    let result = task::scope(|tasks| {
        mix!(tasks, &kernels.mix, &other, &z, 1).spawn()?;
        let first = mix!(tasks, &kernels.mix_and_trap, &y, &x, 1)
            .named("first")
            .spawn()?;
        let second = mix!(tasks, &kernels.mix, &z, &y, 1)
            .named("second")
            .spawn()?;
        let third = tasks.host(|| ran.store(true, Ordering::SeqCst)).reads(&z);
        let third = third.named("third").spawn()?;
        let fine = mix!(tasks, &kernels.mix, &other, &x, 2).spawn()?;
        let error = first.wait().unwrap_err();
        assert!(matches!(error, TaskError::Device { .. }), "{error}");
        let error = second.wait().unwrap_err();
        assert!(matches!(error, TaskError::Dependency { .. }), "{error}");
        let error = third.wait().unwrap_err();
        assert_eq!(error.first_cause().task().to_string(), "task `first`");
        let text = error.to_string();
        for part in [
            "`third`",
            "`second`",
            "`first`",
            &target.words_of_panic("mixed enough", "src/tasks.rs"),
        ] {
            assert!(text.contains(part), "no {part} in: {text}");
        }
        fine.wait()?;
        // A dependent task fails even if it is spawned when all have ended.
        let late = mix!(tasks, &kernels.mix, &x, &y, 1).named("late").spawn()?;
        assert!(late.wait().unwrap_err().to_string().contains("`late`"));
        Ok(())
    });
    let error = result.unwrap_err().to_string();
    assert!(error.contains("task `first`"), "{error}");
    assert!(!ran.into_inner());
    let mut expected = block(4);
    mixed(&mut expected, &block(3), 1);
    mixed(&mut expected, &block(1), 2);
    assert_eq!(read::<u64>(&other), expected);
    kernels.session.works_without_calls();
}

/// Kernels, and a gate that those with a call wait for.
fn gated(target: &Target) -> (Kernels, Arc<Gate>) {
    let gate = Arc::new(Gate::default());
    let pass = Arc::clone(&gate);
    let functions = acting_or(move |what| {
        pass.pass();
        Ok(what)
    });
    (Kernels::calling(Session::new(target, &functions)), gate)
}

/// All of them are on the device while the first one runs.
fn a_hundred_thousand_in_queues(target: &Target) {
    const TASKS: u64 = 100_000;
    let (kernels, gate) = gated(target);
    let (x, y) = (kernels.block(1), kernels.block(2));
    let stats = task::scope(|tasks| {
        mix!(tasks, &kernels.mix_with_host, &y, &x, 0).spawn()?;
        for add in 1..TASKS {
            mix!(tasks, &kernels.mix, &y, &x, add).spawn()?;
        }
        let stats = tasks.stats();
        gate.open();
        Ok(stats)
    });
    let stats = stats.unwrap();
    assert_eq!((stats.pending, stats.queued), (TASKS, TASKS));
    assert_eq!(stats.host_waits, 0);
    let mut expected = block(2);
    for add in 0..TASKS {
        mixed(&mut expected, &block(1), add);
    }
    assert_eq!(read::<u64>(&y), expected);
}

/// For any number that a program requests, and has work for.
fn queues_are_few(target: &Target) {
    const TASKS: u64 = 2000;
    const MAX_QUEUES: usize = 128;
    let (kernels, gate) = gated(target);
    let (x, y) = (kernels.block(1), kernels.block(2));
    let others: Vec<_> = (0..TASKS).map(|n| kernels.block(n)).collect();
    let before = threads();
    Options::default()
        .queues(100_000)
        .scope(|tasks| {
            mix!(tasks, &kernels.mix_with_host, &y, &x, 0).spawn()?;
            for other in &others {
                mix!(tasks, &kernels.mix, other, &y, 1).spawn()?;
            }
            let (stats, during) = (tasks.stats(), threads());
            gate.open();
            assert_eq!((stats.queued, stats.queues), (TASKS + 1, MAX_QUEUES));
            // Besides those for the queues, there are device threads and those that serve calls.
            assert!(
                during < before + MAX_QUEUES + 16,
                "{during}, {before} before"
            );
            Ok(())
        })
        .unwrap();
    let mut from = block(2);
    mixed(&mut from, &block(1), 0);
    for (n, other) in (0..).zip(&others) {
        let mut expected = block(n);
        mixed(&mut expected, &from, 1);
        assert_eq!(read::<u64>(other), expected);
    }
}

/// Unrelated tasks in the same queue.
fn a_fault_takes_nothing_else_along(target: &Target) {
    let gate = Arc::new(Gate::default());
    let entered = Arc::new(Barrier::new(2));
    let (pass, enter) = (Arc::clone(&gate), Arc::clone(&entered));
    let functions = acting_or(move |what| {
        enter.wait();
        pass.pass();
        Ok(what)
    });
    let kernels = Kernels::calling(Session::new(target, &functions));
    let (x, y) = (kernels.block(1), kernels.block(2));
    let others = [kernels.block(3), kernels.block(4)];
    let held = kernels.block(5);
    let grid = Grid {
        teams: 1,
        threads: 1,
    };
    let stats = Options::default().queues(1).scope(|tasks| {
        // SAFETY: the kernel takes these, and the task declares its accesses.
        unsafe { tasks.target(&kernels.mix_with_host, grid, (&held, &x, COUNT, 1u64)) }
            .reads(&x)
            .updates(&held)
            .spawn()?;
        entered.wait();
        let bad = mix!(tasks, &kernels.mix_and_trap, &y, &x, 1).spawn()?;
        let (one, two) = (&others[0], &others[1]);
        mix!(tasks, &kernels.mix, one, &x, 1).spawn()?;
        mix!(tasks, &kernels.mix, two, one, 2).spawn()?;
        let bad_too = mix!(tasks, &kernels.mix, one, &y, 3).spawn()?;
        gate.open();
        assert!(matches!(bad.wait(), Err(TaskError::Device { .. })));
        assert!(matches!(bad_too.wait(), Err(TaskError::Dependency { .. })));
        let _ = tasks.wait();
        assert_eq!(read::<u64>(two)[0], 3 * 4 + (3 * 3 + 1 + 1) + 2);
        let stats = tasks.stats();
        assert_eq!((stats.done, stats.failed), (3, 2));
        assert_eq!(
            stats.repeated, 2,
            "they were behind the fault in their queue"
        );
        Ok(())
    });
    assert!(stats.unwrap_err().to_string().contains("mix_and_trap"));
}

fn a_lost_device_is_an_error_of_each_task(target: &Target) {
    let kernels = Kernels::new(target);
    let (x, y, z) = (kernels.block(1), kernels.block(2), kernels.block(3));
    let done = AtomicBool::new(false);
    let result = task::scope(|tasks| {
        mix!(tasks, &kernels.mix_and_trap, &y, &x, 1).spawn()?;
        for _ in 0..49 {
            mix!(tasks, &kernels.mix, &y, &x, 1).spawn()?;
        }
        let last = mix!(tasks, &kernels.mix, &y, &x, 1).named("last").spawn()?;
        let text = last.wait().unwrap_err().to_string();
        assert!(text.contains("task `last`"), "{text}");
        // One that depends on none of them.
        let other = mix!(tasks, &kernels.mix, &z, &x, 1)
            .named("other")
            .spawn()?;
        let text = other.wait().unwrap_err().to_string();
        assert!(text.starts_with("task `other`: "), "{text}");
        // A task without a device runs.
        tasks.host(|| done.store(true, Ordering::SeqCst)).spawn()?;
        assert!(tasks.wait().is_err());
        assert_eq!(tasks.stats().failed, 52);
        Ok(())
    });
    assert!(matches!(result, Err(Error::Task(_))));
    assert!(done.into_inner());
}

fn a_failed_call_fails_what_depends_on_it(target: &Target) {
    let kernels = Kernels::calling(Session::new(
        target,
        &acting_or(|_| Err("not today".to_owned())),
    ));
    let (x, y, z) = (kernels.block(1), kernels.block(2), kernels.block(3));
    let result = task::scope(|tasks| {
        mix!(tasks, &kernels.mix_with_host, &y, &x, 1).spawn()?;
        let next = mix!(tasks, &kernels.mix, &z, &y, 1).spawn()?;
        let text = next.wait().unwrap_err().to_string();
        assert!(text.contains("not today"), "{text}");
        Ok(())
    });
    assert!(result.unwrap_err().to_string().contains("not today"));
}

fn misuse_is_named(target: &Target) {
    let (kernels, others) = (Kernels::new(target), Kernels::new(target));
    let (x, y) = (kernels.block(1), others.block(2));
    let empty: [u8; 0] = [];
    let result = task::scope(|tasks| {
        let mixed = mix!(tasks, &kernels.mix, &x, &y, 1)
            .named("mixed up")
            .spawn();
        let Err(error @ TaskError::BufferOfOtherRuntime { buffer, .. }) = mixed else {
            panic!("spawned with a buffer of another runtime");
        };
        assert_eq!(buffer, y.address());
        let text = error.to_string();
        assert!(text.contains("task `mixed up` cannot be spawned"), "{text}");
        let empty = tasks.host(|| ()).reads(&empty).named("of nothing").spawn();
        let Err(error @ TaskError::ZeroSizedDependency { .. }) = empty else {
            panic!("spawned with a dependency on nothing");
        };
        assert_eq!(error.task().to_string(), "task `of nothing`");
        // SAFETY: it is refused for its number of parameters.
        let wrong = unsafe { tasks.target(&kernels.mix, GRID, (&x, 1u64)) };
        let text = wrong
            .named("short")
            .spawn()?
            .wait()
            .unwrap_err()
            .to_string();
        assert!(
            text.contains("`short`") && text.contains("4 parameters"),
            "{text}"
        );
        Ok(())
    });
    result.unwrap_err();
    let (send, receive) = mpsc::channel();
    task::scope(|tasks| {
        tasks.host(move || send.send(1).unwrap()).spawn()?;
        Ok(())
    })
    .unwrap();
    assert_eq!(receive.recv(), Ok(1));
}

/// Parameters that panic if they are read again.
struct Once<'a>(&'a DeviceBuffer, AtomicBool);

impl task::TaskArgs for Once<'_> {
    fn each(&self, take: &mut dyn FnMut(&dyn task::TaskArg)) {
        assert!(!self.1.swap(true, Ordering::Relaxed), "asked once");
        take(&self.0);
        take(&self.0);
        take(&COUNT);
        take(&1u64);
    }
}

/// They are read where the task is built, and not while a queue is locked.
fn parameters_are_asked_once(target: &Target) {
    let kernels = Kernels::new(target);
    let x = kernels.block(1);
    task::scope(|tasks| {
        let args = Once(&x, AtomicBool::new(false));
        // SAFETY: these are what the kernel takes.
        unsafe { tasks.target(&kernels.mix, GRID, args) }.spawn()?;
        Ok(())
    })
    .unwrap();
}

/// Its threads are not those of the outer scope.
fn a_scope_in_a_host_task(target: &Target) {
    let functions = acting_or(|add| {
        // So that the waiter for the kernel sleeps.
        std::thread::sleep(Duration::from_millis(10));
        Ok(add)
    });
    let kernels = Kernels::calling(Session::new(target, &functions));
    let (x, y) = (kernels.block(1), kernels.block(2));
    let ran = AtomicBool::new(false);
    let (begin, begun) = mpsc::channel();
    task::scope(|outer| {
        outer
            .try_host(|| {
                begin.send(()).unwrap();
                task::scope(|inner| {
                    mix!(inner, &kernels.mix_with_host, &x, &y, 1).spawn()?;
                    let host = inner.host(|| ran.store(true, Ordering::Relaxed));
                    host.reads(&x).spawn()?;
                    Ok(())
                })
            })
            .spawn()?;
        // A thread of the pool runs it.
        begun.recv().unwrap();
        Ok(())
    })
    .unwrap();
    assert!(ran.into_inner());
}

/// A chain that takes longer than the deadline of each of its kernels, and two kernels after it.
fn a_deadline_begins_with_the_turn(target: &Target) {
    let functions = acting_or(|add| {
        std::thread::sleep(Duration::from_millis(500));
        Ok(add)
    });
    let builder = target.builder().deadline(Duration::from_millis(1400));
    let kernels = Kernels::calling(Session::build(target, builder, &functions));
    let [x, y, a, b] = [1, 2, 3, 4].map(|first| kernels.block(first));
    let one = Grid {
        teams: 1,
        threads: 1,
    };
    task::scope(|tasks| {
        for _ in 0..3 {
            // SAFETY: these are what the kernel takes.
            unsafe { tasks.target(&kernels.mix_with_host, one, (&x, &y, COUNT, 1u64)) }
                .updates(&x)
                .spawn()?;
        }
        for to in [&a, &b] {
            mix!(tasks, &kernels.mix, to, &x, 1).spawn()?;
        }
        Ok(())
    })
    .unwrap();
}

fn a_deadline_takes_nothing_else_along(target: &Target) {
    const LATE: u64 = 9;
    let gate = Arc::new(Gate::default());
    let calls = Arc::new(AtomicU32::new(0));
    let (passes, counted) = (Arc::clone(&gate), Arc::clone(&calls));
    let functions = acting_or(move |add| {
        passes.pass();
        // Release: orders this thread's earlier accesses.
        counted.fetch_add(1, Ordering::Release);
        Ok(add)
    });
    let builder = target.builder().deadline(Duration::from_secs(1));
    let kernels = Kernels::calling(Session::build(target, builder, &functions));
    let [x, y, a, b, c] = [1, 2, 3, 4, 5].map(|first| kernels.block(first));
    let blocks = || [&a, &b, &c].map(read::<u64>);
    for queues in [1, 4] {
        calls.store(0, Ordering::Relaxed);
        let mut expected = blocks();
        mixed(&mut expected[0], &block(2), 1);
        let mut late_x = read::<u64>(&x);
        mixed(&mut late_x, &block(2), LATE);
        let result = Options::default().queues(queues).scope(|tasks| {
            let late = mix!(tasks, &kernels.mix_between_calls, &x, &y, LATE).spawn()?;
            let free = mix!(tasks, &kernels.mix, &a, &y, 1).spawn()?;
            let behind = [&b, &c].map(|to| mix!(tasks, &kernels.mix, to, &x, 1).spawn());
            let is_late = |error: &TaskError| error.to_string().contains("deadline");
            assert!(late.wait().is_err_and(|error| is_late(&error)));
            free.wait()?;
            for behind in behind {
                let error = behind?.wait().unwrap_err();
                assert!(matches!(error, TaskError::Dependency(_)), "{error}");
            }
            Ok(())
        });
        result.unwrap_err();
        assert_eq!(blocks(), expected);
        gate.open();
        // Before it mixes, and after.
        while calls.load(Ordering::Acquire) < 2 * GRID.threads {
            std::thread::yield_now();
        }
        assert_eq!(read::<u64>(&x), late_x, "what is late has its memory");
        assert_eq!(blocks(), expected, "nothing runs when the scope is over");
        gate.close();
    }
}
