//! Tasks on the host, which need no device.

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Barrier, Mutex, mpsc};
use std::time::Duration;

use revoff_host::Error;
use revoff_host::task::{self, Options, TaskError, Tasks};

fn fib<'scope>(tasks: &'scope Tasks<'scope, '_>, n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let one = tasks.host(move || fib(tasks, n - 1)).spawn().unwrap();
    let two = tasks.host(move || fib(tasks, n - 2)).spawn().unwrap();
    one.wait().unwrap() + two.wait().unwrap()
}

#[test]
fn tasks_that_wait_for_their_own() {
    for threads in [1, 2, 8] {
        let found = Options::default()
            .threads(threads)
            .scope(|tasks| Ok(fib(tasks, 16)));
        assert_eq!(found.unwrap(), 987);
    }
}

/// Tasks that wait for tasks other than their children get further threads.
#[test]
fn tasks_that_wait_for_others() {
    Options::default()
        .threads(1)
        .scope(|tasks| {
            let (send, receive) = mpsc::channel();
            let waits = tasks.host(move || {
                let other = receive.recv().unwrap();
                let handle: task::TaskHandle<'_, u64> = other;
                handle.wait().unwrap()
            });
            let waits = waits.spawn()?;
            let other = tasks.host(|| 5).spawn()?;
            send.send(other).unwrap();
            assert_eq!(waits.wait()?, 5);
            Ok(())
        })
        .unwrap();
}

#[test]
fn a_hundred_thousand_pending_tasks() {
    const TASKS: u64 = 100_000;
    let (gate, place) = (Barrier::new(2), 0u8);
    let ran = AtomicU64::new(0);
    task::scope(|tasks| {
        tasks.host(|| gate.wait()).writes(&place).spawn()?;
        for n in 0..TASKS {
            let (ran, place) = (&ran, &place);
            let task = tasks.host(move || {
                // Relaxed: tasks that update one place are ordered.
                assert_eq!(ran.fetch_add(1, Ordering::Relaxed), n);
            });
            task.updates(place).spawn()?;
        }
        assert_eq!(tasks.stats().pending, TASKS + 1);
        gate.wait();
        tasks.wait()?;
        assert_eq!(tasks.stats().done, TASKS + 1);
        Ok(())
    })
    .unwrap();
}

#[test]
fn errors_and_panics_travel() {
    let (a, b, c) = (1u8, 2u8, 3u8);
    let fine = AtomicBool::new(false);
    let result = task::scope(|tasks| {
        let bad = tasks.try_host(|| Err::<(), _>("no file")).writes(&a);
        let bad = bad.named("load").spawn()?;
        let next = tasks.host(|| 7).reads(&a).writes(&b).named("use").spawn()?;
        let text = next.wait().unwrap_err().to_string();
        assert_eq!(text, "task `use` was given up: task `load` failed: no file");
        assert_eq!(
            bad.wait().unwrap_err().to_string(),
            "task `load` failed: no file"
        );
        let panics = tasks.host(|| panic!("{}", "oh")).writes(&c).spawn()?;
        let error: TaskError = panics.wait().unwrap_err();
        assert_eq!(error.to_string(), "task 2 panicked: oh");
        tasks.host(|| fine.store(true, Ordering::SeqCst)).spawn()?;
        Ok(())
    });
    let Err(Error::Task(error)) = result else {
        panic!("the first error");
    };
    assert_eq!(error.task().to_string(), "task `load`");
    assert!(fine.into_inner());
}

#[test]
fn a_long_chain_fails_without_running() {
    let place = 0u8;
    let gate = Barrier::new(2);
    let result = task::scope(|tasks| {
        let bad = tasks.try_host(|| {
            gate.wait();
            Err::<(), _>("early")
        });
        bad.writes(&place).named("first").spawn()?;
        for _ in 0..100_000 {
            tasks.host(|| unreachable!()).updates(&place).spawn()?;
        }
        gate.wait();
        let error = tasks.wait().unwrap_err();
        assert_eq!(error.task().to_string(), "task `first`");
        assert_eq!(tasks.stats().failed, 100_001);
        let late = tasks.host(|| ()).reads(&place).spawn()?.wait().unwrap_err();
        assert!(late.to_string().contains("99992 more"), "{late}");
        Ok(())
    });
    assert!(result.is_err());
}

#[test]
fn a_panic_of_the_body_waits_for_the_tasks() {
    let ran = AtomicU64::new(0);
    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        task::scope(|tasks| -> revoff_host::Result<()> {
            for _ in 0..100 {
                tasks.host(|| ran.fetch_add(1, Ordering::SeqCst)).spawn()?;
            }
            panic!("the body")
        })
    }));
    assert!(panicked.is_err());
    assert_eq!(ran.into_inner(), 100);
}

#[test]
fn groups_wait_for_all_descendants() {
    let ran = AtomicU64::new(0);
    task::scope(|tasks| {
        let ran = &ran;
        let grandchild = move || {
            std::thread::yield_now();
            ran.fetch_add(1, Ordering::SeqCst);
        };
        tasks.group(|_| {
            for _ in 0..20 {
                let child = tasks.host(move || {
                    for _ in 0..5 {
                        tasks.host(grandchild).spawn().unwrap();
                    }
                });
                child.spawn()?;
            }
            Ok(())
        })?;
        assert_eq!(ran.load(Ordering::SeqCst), 100);
        Ok(())
    })
    .unwrap();
}

#[test]
fn what_has_not_started_can_be_cancelled() {
    let (place, other) = (0u8, 0u16);
    let gate = Barrier::new(2);
    let ran = Mutex::new(Vec::new());
    let run = |n| {
        let ran = &ran;
        move || ran.lock().unwrap().push(n)
    };
    task::scope(|tasks| {
        tasks.group(|group| {
            let holds = tasks.host(|| {
                gate.wait();
                gate.wait();
            });
            holds.writes(&place).spawn()?;
            gate.wait();
            let never = tasks.host(run(1)).reads(&place).spawn()?;
            let inner = tasks.group(|_| {
                let inner = tasks.host(run(2)).reads(&place).writes(&other).spawn()?;
                group.cancel();
                let late = tasks.host(run(3)).named("too late").spawn();
                let Err(error @ TaskError::Cancelled { .. }) = late else {
                    panic!("spawned in a cancelled group");
                };
                assert_eq!(error.task().to_string(), "task `too late`");
                gate.wait();
                assert!(matches!(inner.wait(), Err(TaskError::Cancelled { .. })));
                Ok(())
            });
            inner?;
            assert!(matches!(never.wait(), Err(TaskError::Cancelled { .. })));
            Ok(())
        })?;
        // Other tasks continue, except those that depend on them.
        tasks.host(run(4)).reads(&place).spawn()?;
        let needs = tasks.host(run(5)).reads(&other).spawn()?;
        let text = needs.wait().unwrap_err().to_string();
        assert!(text.contains("cancelled with its group"), "{text}");
        Ok(())
    })
    .unwrap_err();
    assert_eq!(ran.into_inner().unwrap(), [4]);
}

/// Children of different tasks are not siblings, so nothing orders them.
#[test]
fn dependencies_are_among_siblings() {
    let place = 0u8;
    let barrier = Barrier::new(2);
    Options::default()
        .threads(2)
        .scope(|tasks| {
            let (place, barrier) = (&place, &barrier);
            for _ in 0..2 {
                let parent = tasks.host(move || {
                    tasks.host(|| barrier.wait()).writes(place).spawn().unwrap();
                });
                parent.spawn()?;
            }
            Ok(())
        })
        .unwrap();
}

#[test]
fn threads_may_spawn() {
    let sum = AtomicU64::new(0);
    task::scope(|tasks| {
        std::thread::scope(|threads| {
            for n in 0..4u64 {
                let sum = &sum;
                threads.spawn(move || {
                    for _ in 0..100 {
                        let task = tasks.host(move || sum.fetch_add(n, Ordering::SeqCst));
                        task.spawn().unwrap();
                    }
                });
            }
        });
        Ok(())
    })
    .unwrap();
    assert_eq!(sum.into_inner(), 600);
}

/// An error whose formatting panics.
struct NoWords;

impl fmt::Display for NoWords {
    fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        panic!("no words")
    }
}

/// A result whose drop panics.
struct NoEnd;

impl Drop for NoEnd {
    fn drop(&mut self) {
        panic!("no end")
    }
}

#[test]
fn an_error_that_panics_as_it_is_displayed() {
    let result = task::scope(|tasks| {
        let failed = tasks.try_host(|| Err::<(), _>(NoWords)).spawn()?;
        failed.wait()?;
        Ok(())
    });
    assert_eq!(result.unwrap_err().to_string(), "task 0 panicked: no words");
}

#[test]
fn a_result_that_panics_as_it_is_dropped() {
    let result = task::scope(|tasks| {
        let (go, gone) = mpsc::channel();
        // The handle is dropped before, so that the task drops the result.
        tasks
            .host(move || {
                gone.recv().unwrap();
                NoEnd
            })
            .spawn()?;
        go.send(()).unwrap();
        Ok(())
    });
    assert_eq!(result.unwrap_err().to_string(), "task 0 panicked: no end");
}

/// The scope's own thread runs the task that panics.
#[test]
fn no_panic_leaves_a_scope_whose_tasks_run() {
    static LEFT: AtomicBool = AtomicBool::new(false);
    static SEEN: AtomicBool = AtomicBool::new(false);
    let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let both = Barrier::new(2);
        Options::default().threads(1).scope(|tasks| {
            tasks
                .host(|| {
                    both.wait();
                    // Long enough for a wrong early return of the scope.
                    for _ in 0..20 {
                        std::thread::sleep(Duration::from_millis(5));
                        SEEN.fetch_or(LEFT.load(Ordering::SeqCst), Ordering::SeqCst);
                    }
                })
                .spawn()?;
            // The only thread of the pool runs the other one.
            both.wait();
            tasks.try_host(|| Err::<(), _>(NoWords)).spawn()?;
            Ok(())
        })
    }));
    LEFT.store(true, Ordering::SeqCst);
    std::thread::sleep(Duration::from_millis(20));
    assert!(!SEEN.load(Ordering::SeqCst));
}

#[test]
fn a_group_that_is_over_stays_cancelled() {
    task::scope(|tasks| {
        let mut known = Vec::new();
        tasks.group(|outer| {
            tasks.group(|inner| {
                known.push(inner.clone());
                outer.cancel();
                Ok(())
            })?;
            known.push(outer.clone());
            Ok(())
        })?;
        tasks.group(|other| {
            assert!(known.iter().all(task::Group::is_cancelled));
            assert!(!other.is_cancelled());
            Ok(())
        })
    })
    .unwrap();
}

#[test]
fn a_group_is_cancelled_from_inside() {
    let parts = [0, 1, 2, 3];
    let looked_at = AtomicU64::new(0);
    Options::default()
        .threads(1)
        .scope(|tasks| {
            tasks.group(|group| {
                for part in &parts {
                    let group = group.clone();
                    let looked_at = &looked_at;
                    let search = tasks.host(move || {
                        looked_at.fetch_add(1, Ordering::SeqCst);
                        if *part == 1 {
                            group.cancel();
                        }
                    });
                    match search.updates(&parts).spawn() {
                        Err(TaskError::Cancelled { .. }) => break,
                        spawned => spawned?,
                    };
                }
                Ok(())
            })
        })
        .unwrap();
    assert_eq!(looked_at.into_inner(), 2);
}
