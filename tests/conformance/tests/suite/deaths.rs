//! A GPU that dies at a random moment, from its opening on: whatever the host does with it then ends with an error, soon,
//! and another GPU goes on.

use std::error::Error;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use conformance::{Target, emulated, process};
use conformance_calls::Outcome;
use revoff_host::KernelArg;

use crate::image::image;
use crate::random::{Random, rounds};
use crate::session::{Session, acting, read};
use crate::{Test, test};

pub(crate) const TESTS: &[Test] = &[test!(dead_gpus_are_reported).alone().only(Target::is_emu)];

/// The latest moment, counted from the opening. By then, a GPU has done everything some times.
const LATEST: Duration = Duration::from_millis(40);

/// The time in which a death must be known. It is far more than it takes, as machines may be slow.
const PATIENCE: Duration = Duration::from_secs(30);

const GRID: (u32, u32) = (2, 4);

fn dead_gpus_are_reported(target: &Target) {
    let rounds = rounds(20);
    // The first of its kind.
    let bystander = Session::new(target, &acting(|what| what));
    let is_over = AtomicBool::new(false);
    let slowest = thread::scope(|scope| {
        let goes_on = scope.spawn(|| {
            // Relaxed: a flag and nothing else.
            while !is_over.load(Ordering::Relaxed) {
                bystander.works();
            }
        });
        let mut random = Random(1);
        let mut slowest = Duration::ZERO;
        for number in 1..=rounds {
            let at = Duration::from_nanos(random.below(LATEST.as_nanos() as u64));
            slowest = slowest.max(die(target, number as u32, at));
        }
        is_over.store(true, Ordering::Relaxed);
        goes_on.join().expect("it does not notice");
        slowest
    });
    drop(bystander);
    assert_eq!(process::settle(emulated::unfreed, 0), 0);
    println!("{rounds} GPUs died; the slowest report took {slowest:?}");
}

/// Uses a GPU, the `number`th of this process, that dies after some time. Returns how long the host took to find out.
fn die(target: &Target, number: u32, at: Duration) -> Duration {
    let (ends, end) = mpsc::channel();
    thread::scope(|scope| {
        scope.spawn(move || {
            let error = use_it(target).expect_err("it ends with the GPU");
            // What has waited has ended, too, and all is freed.
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
                Err(_) => assert!(
                    death.is_none_or(|death| death.elapsed() < PATIENCE),
                    "GPU {number} died after {at:?}, and nobody knows"
                ),
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

/// Opens a GPU, and uses it in all ways until something fails.
fn use_it(target: &Target) -> Result<(), Box<dyn Error>> {
    let runtime = target.builder().build()?;
    let other = runtime.clone();
    let functions = acting(move |what| {
        // A host function that uses the GPU, too. Its caller does not live longer than that works.
        let copied = other.alloc_from(&[what; 100]).and_then(|data| {
            let mut back = [0u64; 1];
            data.read(0, &mut back).map(|()| back[0])
        });
        copied.unwrap_or(what)
    });
    loop {
        let program = runtime.load(&image(target), &functions)?;
        let kernel = program.kernel("call_act")?;
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
        assert!(
            read::<Outcome>(&outcomes)
                .iter()
                .all(|outcome| outcome.ok == 20)
        );
    }
}
