//! The serving threads with the poller: callers, followers, nested launches, shutdown and aborts, in
//! random schedules. A lost wake-up is a deadlock, which shuttle reports.

use std::sync::Arc;

use schedules::base::sync::{AtomicBool, Ordering, fail_spawns, without_timeouts, yield_now};
use schedules::serve::{Kernel, Server, Waiting};
use schedules::wire::{Call, Status};
use schedules::{Error, chance, explore, pause, task, up_to};

/// A server with at most `limit` threads, and a device that may be unable to wake the host.
fn server(limit: usize) -> Arc<Server> {
    let waiting = match chance(8) {
        true => Waiting::Sleep,
        false => Waiting::Adaptive,
    };
    Server::new(limit, chance(2), waiting)
}

fn quick() -> Arc<Call> {
    Call::new(chance(2), || (0..up_to(2)).for_each(|_| pause()))
}

/// The calls of up to `threads` device threads. A function may wait for a call of an earlier thread, so that the first
/// thread waits for nobody.
fn calls(threads: usize) -> Vec<Vec<Arc<Call>>> {
    let mut all: Vec<Vec<Arc<Call>>> = Vec::new();
    for _ in 0..threads {
        let one = || {
            if all.is_empty() || chance(2) {
                return quick();
            }
            let others = &all[up_to(all.len())];
            let other = Arc::clone(&others[up_to(others.len())]);
            Call::new(chance(2), move || {
                other.wait();
            })
        };
        let calls = (0..1 + up_to(3)).map(|_| one()).collect();
        all.push(calls);
    }
    all
}

/// Starts a device thread for each list of calls.
fn start(kernel: &Kernel, calls: &[Vec<Arc<Call>>]) {
    for calls in calls {
        let calls = calls.clone();
        kernel.thread(move |device| {
            for call in &calls {
                device.call(call);
                // Calls come together, or later than the host sleeps.
                (0..up_to(4)).for_each(|_| pause());
            }
        });
    }
}

fn assert_served(calls: &[Vec<Arc<Call>>]) {
    for call in calls.iter().flatten() {
        assert_eq!((call.status(), call.runs()), (Some(Status::Done), 1));
    }
}

#[test]
fn functions_that_wait_for_each_other_are_served_once() {
    explore("calls", 1000, || {
        let threads = 1 + up_to(4);
        // As many as may be stuck, and one.
        let server = server(threads);
        let calls = calls(threads);
        let kernel = server.begin();
        start(&kernel, &calls);
        if chance(2) {
            server.hold_token();
        }
        kernel.wait();
        server.stop();
        assert_served(&calls);
        assert_eq!(server.requests(), calls.iter().flatten().count() as u64);
    });
}

#[test]
fn a_follower_is_called_without_a_tick() {
    explore("slow calls, no ticks", 1000, || {
        without_timeouts(true);
        let server = server(2);
        for _ in 0..2 {
            // In the first round the call of the slow function creates a thread, which takes the other request. That
            // is the evidence by which the second round calls it.
            let behind = quick();
            let awaited = Arc::clone(&behind);
            let slow = Call::new(true, move || {
                awaited.wait();
            });
            let kernel = server.begin();
            start(&kernel, &[vec![Arc::clone(&slow)]]);
            let (call, is_first) = (Arc::clone(&behind), Arc::clone(&slow));
            kernel.thread(move |device| {
                while is_first.runs() == 0 {
                    yield_now();
                }
                device.call(&call);
            });
            kernel.wait();
            assert_served(&[vec![slow, behind]]);
        }
        server.stop();
    });
}

#[test]
fn work_after_idle_phases_is_noticed() {
    explore("idle phases", 1000, || {
        let server = server(1 + up_to(3));
        let launches = 2 + up_to(2);
        for _ in 0..launches {
            let kernel = server.begin();
            let calls = [vec![quick()], vec![quick(), quick()]];
            start(&kernel, &calls);
            kernel.wait();
            assert_served(&calls);
            // The poller may fall asleep.
            (0..up_to(40)).for_each(|_| pause());
            if chance(4) {
                server.hold_token();
            }
        }
        server.stop();
        assert!(server.retired_wires() <= launches);
        drop(server);
    });
}

#[test]
fn launches_run_at_the_same_time() {
    explore("launches", 1000, || {
        let server = server(1 + up_to(2));
        let all: Vec<_> = (0..3).map(|_| [vec![quick()], vec![quick()]]).collect();
        let kernels: Vec<_> = all
            .iter()
            .map(|calls| {
                let kernel = server.begin();
                start(&kernel, calls);
                kernel
            })
            .collect();
        kernels.into_iter().for_each(Kernel::wait);
        server.stop();
        all.iter().for_each(|calls| assert_served(calls));
    });
}

/// A function that launches a kernel, whose calls may do the same, and waits for it.
fn launching(server: &Arc<Server>, depth: usize, inner: &mut Vec<Arc<Call>>) -> Arc<Call> {
    let calls: Vec<_> = (0..1 + up_to(2))
        .map(|_| match depth > 0 && chance(2) {
            true => vec![launching(server, depth - 1, inner)],
            false => vec![quick()],
        })
        .collect();
    inner.extend(calls.iter().flatten().cloned());
    let server = Arc::downgrade(server);
    Call::new(chance(2), move || {
        let server = server.upgrade().expect("it serves this call");
        let kernel = server.begin();
        start(&kernel, &calls);
        kernel.wait();
    })
}

#[test]
fn nested_launches_are_served_by_any_number_of_threads() {
    explore("nested launches", 1000, || {
        let server = server(1 + up_to(3));
        let mut inner = Vec::new();
        let outer: Vec<_> = (0..1 + up_to(2))
            .map(|_| vec![launching(&server, 1, &mut inner)])
            .collect();
        let kernel = server.begin();
        start(&kernel, &outer);
        kernel.wait();
        server.stop();
        assert_served(&outer);
        assert_served(&[inner]);
    });
}

#[test]
fn tasks_of_a_host_function_serve_calls() {
    explore("tasks in a call", 500, || {
        let server = server(1 + up_to(2));
        let weak = Arc::downgrade(&server);
        let inner = quick();
        let call = Arc::clone(&inner);
        let outer = Call::new(chance(2), move || {
            let launch = || {
                let server = weak.upgrade().expect("it serves this call");
                let kernel = server.begin();
                start(&kernel, &[vec![Arc::clone(&call)]]);
                kernel.wait();
            };
            let result = task::Options::default().threads(1).scope(|tasks| {
                let handle = tasks.host(launch).spawn()?;
                handle.wait()?;
                Ok::<(), Error>(())
            });
            assert!(result.is_ok());
        });
        let calls = [vec![outer], vec![quick()]];
        let kernel = server.begin();
        start(&kernel, &calls);
        kernel.wait();
        server.stop();
        assert_served(&calls);
        assert_served(&[vec![inner]]);
    });
}

#[test]
fn reports_that_block_do_not_delay_calls() {
    explore("broken messages", 1000, || {
        let server = server(2);
        let call = quick();
        let awaited = Arc::clone(&call);
        let kernel = server.begin();
        kernel.thread(move |device| {
            // One thread reports those that a poll finds, 16 at most; only one can block.
            let is_first = AtomicBool::new(true);
            device.break_protocol(1 + up_to(18), move || {
                if is_first.swap(false, Ordering::Relaxed) {
                    awaited.wait();
                }
            });
        });
        start(&kernel, &[vec![Arc::clone(&call)]]);
        kernel.wait();
        server.stop();
        assert_served(&[vec![call]]);
    });
}

#[test]
fn threads_that_cannot_be_created_delay_calls_only() {
    explore("no threads", 500, || {
        let server = server(3);
        let kernel = server.begin();
        fail_spawns(true);
        let calls: Vec<_> = (0..3).map(|_| vec![quick(), quick()]).collect();
        start(&kernel, &calls);
        kernel.wait();
        server.stop();
        assert_served(&calls);
    });
}

#[test]
fn calls_are_answered_during_shutdown() {
    explore("shutdown", 1000, || {
        let server = server(1 + up_to(3));
        let calls: Vec<_> = (0..3).map(|_| vec![quick(), quick()]).collect();
        let kernel = server.begin();
        start(&kernel, &calls);
        (0..up_to(30)).for_each(|_| pause());
        server.refuse();
        kernel.wait();
        // This one may be left on the wire.
        let last = quick();
        let kernel = server.begin();
        let call = Arc::clone(&last);
        kernel.thread(move |device| device.publish(&call));
        server.stop();
        kernel.wait();
        for call in calls.iter().flatten() {
            match call.status() {
                Some(Status::Done) => assert_eq!(call.runs(), 1),
                Some(Status::ShuttingDown) => assert_eq!(call.runs(), 0),
                other => panic!("{other:?}"),
            }
        }
        assert_eq!(last.runs(), 0);
    });
}

#[test]
fn aborted_calls_are_completed_once() {
    explore("aborts", 1000, || {
        let server = server(3);
        let (first, second) = (server.begin(), server.begin());
        let key = first.key();
        let own: Vec<_> = (0..2).map(|_| vec![quick(), quick()]).collect();
        let others = [vec![quick(), quick()]];
        start(&first, &own);
        start(&second, &others);
        (0..up_to(30)).for_each(|_| pause());
        server.abort(key);
        first.wait();
        second.wait();
        server.stop();
        assert_served(&others);
        for call in own.iter().flatten() {
            match call.status() {
                Some(Status::Done) => assert_eq!(call.runs(), 1),
                Some(Status::Aborted) => assert!(call.runs() <= 1),
                other => panic!("{other:?}"),
            }
        }
    });
}
