//! A GPU that dies at a random moment, from its opening on: whatever the host does with it then ends with an error, soon,
//! and another GPU goes on.

use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use conformance::{Target, emulated, process};
use conformance_calls::Outcome;
use revoff_host::KernelArg;
use revoff_host::shared_abi::wire::WireKind;

use crate::image::image;
use crate::random::{Random, rounds};
use crate::session::{Session, acting};
use crate::{Test, test};

pub(crate) const TESTS: &[Test] = &[test!(dead_gpus_are_reported)
    .alone()
    .only(|target| target.is_emu() && target.wire == WireKind::NATIVE)];

/// The time in which a death must be known. It is far more than it takes, as machines may be slow.
const PATIENCE: Duration = Duration::from_secs(30);

/// How many more GPUs die, at most, if all have died before they were of use.
const MORE_ROUNDS: u64 = 8;

const GRID: (u32, u32) = (2, 4);

#[expect(clippy::print_stdout, reason = "the figure of a long run")]
fn dead_gpus_are_reported(target: &Target) {
    let rounds = rounds(10);
    // The first of its kind.
    let start = Instant::now();
    let bystander = Session::new(target, &acting(|what| what));
    bystander.works();
    // By then, most others have been used for a while.
    let mut latest = 3 * start.elapsed();
    let (is_over, calls) = (AtomicBool::new(false), Arc::<AtomicU64>::default());
    let (died, slowest) = thread::scope(|scope| {
        let goes_on = scope.spawn(|| {
            // Relaxed: a flag and nothing else.
            while !is_over.load(Ordering::Relaxed) {
                bystander.works();
            }
        });
        // Also after a panic, which the scope would hold back until then.
        let over = Over(&is_over);
        let mut random = Random(1);
        let (mut died, mut slowest) = (0, Duration::ZERO);
        // Relaxed: all that have counted have ended.
        let is_used = || calls.load(Ordering::Relaxed) > 0;
        while died < rounds || (!is_used() && died < rounds + MORE_ROUNDS) {
            if died >= rounds {
                // The machine has become slower since the time was measured.
                latest *= 2;
            }
            died += 1;
            let at = Duration::from_micros(random.below(latest.as_micros() as u64));
            slowest = slowest.max(die(target, died as u32, at, &calls));
        }
        drop(over);
        goes_on.join().expect("it does not notice");
        (died, slowest)
    });
    drop(bystander);
    assert_eq!(process::settle(emulated::unfreed, 0), 0);
    // Relaxed: all others have ended.
    let calls = calls.load(Ordering::Relaxed);
    assert!(calls > 0, "all died before they were of use");
    println!("{died} GPUs died, after {calls} calls; the slowest report took {slowest:?}");
}

/// Sets a flag when it is dropped.
struct Over<'a>(&'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        // Relaxed: a flag and nothing else.
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Uses a GPU, the `number`th of this process, that dies after some time. Returns how long the host took to find out.
fn die(target: &Target, number: u32, at: Duration, calls: &Arc<AtomicU64>) -> Duration {
    let (ends, end) = mpsc::channel();
    thread::scope(|scope| {
        scope.spawn(move || {
            let error = use_it(target, calls).expect_err("it ends with the GPU");
            // All waits have ended, too, and everything is freed.
            ends.send(error.to_string()).expect("the test waits");
        });
        thread::sleep(at);
        let mut death = None;
        let error = loop {
            // It stays dead, and may have to be opened first.
            if emulated::lose(target, number) {
                death.get_or_insert_with(Instant::now);
            }
            match end.recv_timeout(Duration::from_millis(1)) {
                Ok(error) => break error,
                Err(RecvTimeoutError::Timeout) => assert!(
                    death.is_none_or(|death| death.elapsed() < PATIENCE),
                    "GPU {number} died after {at:?}, and nobody knows"
                ),
                Err(RecvTimeoutError::Disconnected) => panic!("the user of GPU {number} panics"),
            }
        };
        assert!(is_about_the_death(&error), "GPU {number}: {error}");
        death.expect("nothing failed before").elapsed()
    })
}

/// Whether a user learns from this error what has happened.
fn is_about_the_death(error: &str) -> bool {
    ["is lost", "CUDA_ERROR_LAUNCH_FAILED"]
        .iter()
        .any(|text| error.contains(text))
}

/// Opens a GPU, and uses it in all ways until something fails. Counts its kernels' calls.
fn use_it(target: &Target, calls: &Arc<AtomicU64>) -> Result<(), Box<dyn Error>> {
    let runtime = target.builder().build()?;
    let other = runtime.clone();
    let calls = Arc::clone(calls);
    let functions = acting(move |what| {
        // Relaxed: a number and nothing else.
        calls.fetch_add(1, Ordering::Relaxed);
        // A host function that uses the GPU, too. Its caller does not live longer than that works.
        let copied = other.alloc_from(&[what; 100]).and_then(|data| {
            let mut back = [0u64; 1];
            data.read(0, &mut back).map(|()| back[0])
        });
        copied.unwrap_or(what)
    });
    let program = runtime.load(&image(target), &functions)?;
    let kernel = program.kernel("call_act")?;
    loop {
        let outcomes = runtime.alloc((GRID.0 * GRID.1) as u64 * size_of::<Outcome>() as u64)?;
        let args: [&dyn KernelArg; 4] = [&3u64, &0u64, &20u32, &outcomes];
        let grid = revoff_host::Grid {
            teams: GRID.0,
            threads: GRID.1,
        };
        let mut queue = runtime.queue()?;
        let mut back = vec![Outcome::default(); (GRID.0 * GRID.1) as usize];
        // SAFETY: the parameters are those of `call_act`, with an outcome for each thread, allocated until the launch has
        // been waited for.
        let queued = unsafe { kernel.enqueue(&mut *queue, grid, &args) }?;
        // SAFETY: as above.
        let launch = unsafe { kernel.launch(grid, &args) };
        // SAFETY: `back` is left alone until the queue has been synchronised, or is gone.
        let copied = unsafe {
            let (to, len) = (back.as_mut_ptr().cast(), size_of_val(&*back));
            queue.copy_from_device(to, outcomes.address(), len)
        };
        let event = queue.record_event();
        // In this order: each ends, whatever has happened to those before.
        let ends = [
            copied.map_err(Into::into),
            event.sync().map_err(Into::into),
            queue.synchronize().map_err(Into::into),
            launch
                .and_then(|launch| Ok(launch.wait().map(drop)?))
                .map_err(Into::into),
            queued.wait().map(drop).map_err(Into::into),
        ];
        drop(queue);
        ends.into_iter().collect::<Result<(), Box<dyn Error>>>()?;
        outcomes.read(0, &mut back)?;
        assert!(back.iter().all(|outcome| outcome.ok == 20));
    }
}
