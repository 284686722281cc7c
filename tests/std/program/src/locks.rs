//! Synchronisation between threads.

use std::sync::atomic::{AtomicBool, AtomicU8, AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, Condvar, LazyLock, Mutex, Once, OnceLock, RwLock};
use std::thread;
use std::time::Duration;

static LAZY: LazyLock<Vec<u32>> = LazyLock::new(|| (0..10).collect());
static CELL: OnceLock<usize> = OnceLock::new();
static ONCE: Once = Once::new();
static CALLS: AtomicUsize = AtomicUsize::new(0);

const THREADS: usize = 4;

pub fn check() {
    let count = Mutex::new(0_u64);
    let table = RwLock::new(vec![0_u32; THREADS]);
    let barrier = Barrier::new(THREADS);
    let leaders = AtomicUsize::new(0);
    let bytes = [const { AtomicU8::new(0) }; 4];
    thread::scope(|scope| {
        for n in 0..THREADS {
            let (count, table, barrier, leaders, bytes) =
                (&count, &table, &barrier, &leaders, &bytes);
            scope.spawn(move || {
                for round in 0..50 {
                    *count.lock().expect("locked") += 1;
                    if round % 10 == n {
                        table.write().expect("locked")[n] += 1;
                    } else {
                        assert!(table.read().expect("locked")[n] <= 5);
                    }
                    bytes[round % 4].fetch_add(1, Ordering::AcqRel);
                }
                leaders.fetch_add(barrier.wait().is_leader().into(), Ordering::Relaxed);
                ONCE.call_once(|| {
                    CALLS.fetch_add(1, Ordering::Relaxed);
                });
                CELL.get_or_init(|| CALLS.fetch_add(1, Ordering::Relaxed));
                assert_eq!(LAZY.len(), 10);
            });
        }
    });
    println!(
        "{} {:?}",
        count.into_inner().expect("unlocked"),
        table.into_inner().expect("unlocked")
    );
    println!("{} {}", leaders.into_inner(), CALLS.load(Ordering::Relaxed));
    println!("{:?}", bytes.map(AtomicU8::into_inner));

    let pair = Arc::new((Mutex::new(Vec::new()), Condvar::new()));
    let others = Arc::clone(&pair);
    let consumer = thread::spawn(move || {
        let (queue, changed) = &*others;
        let mut sum = 0;
        let mut queue = queue.lock().expect("locked");
        while sum < 4950 {
            queue = changed
                .wait_while(queue, |queue| queue.is_empty())
                .expect("waited");
            sum += queue.drain(..).sum::<i32>();
        }
        sum
    });
    for n in 0..100 {
        pair.0.lock().expect("locked").push(n);
        pair.1.notify_one();
    }
    println!("{}", consumer.join().expect("joined"));
    let (queue, timeout) = pair
        .1
        .wait_timeout_while(
            pair.0.lock().expect("locked"),
            Duration::from_millis(10),
            |_| true,
        )
        .expect("waited");
    println!("{} {}", queue.len(), timeout.timed_out());

    // The last owner sees what the others have written.
    let dropped = Arc::new(AtomicBool::new(false));
    struct Last(Arc<AtomicBool>);
    impl Drop for Last {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Relaxed);
        }
    }
    let shared = Arc::new(Last(Arc::clone(&dropped)));
    let threads: Vec<_> = (0..THREADS)
        .map(|_| {
            let shared = Arc::clone(&shared);
            thread::spawn(move || drop(shared))
        })
        .collect();
    drop(shared);
    threads
        .into_iter()
        .for_each(|thread| thread.join().expect("joined"));
    println!("{}", dropped.load(Ordering::Relaxed));
}
