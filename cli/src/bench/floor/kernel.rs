//! The floor of a device: a kernel of one thread writes a word in mapped memory, a
//! thread of this machine writes it back to another.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, anyhow};
use bench_calls::{FLAGS, PING, PONG, buckets};
use revoff_host::device::{
    BlockShape, Device, DeviceAddr, Fill, LaunchContext, MappedMemory, Params, Running,
};
use revoff_host::shared_abi::words::{Coherent, Load, Store, SystemWords};

use super::Round;
use crate::bench::context::Bench;
use crate::bench::latency::{Latency, tick_ns};
use crate::bench::os_threads;
use crate::bench::sample_size::enough;
use crate::bench::session::WARM_UP;
use crate::bench::shape::Shape;

/// Polls after which the kernel assumes that the host is gone: some seconds at the rate of a GPU's
/// reads across the bus, and of a processor's.
const KERNEL_POLLS: [u64; 2] = [1 << 24, 1 << 34];

/// Polls after which the answering thread checks whether the kernel has ended, and yields: many more
/// than until a word arrives.
const HOST_POLLS: u32 = 1 << 12;

/// Device memory that is freed with its owner.
struct Memory<'a> {
    device: &'a dyn Device,
    address: DeviceAddr,
    bytes: usize,
}

impl<'a> Memory<'a> {
    fn new(device: &'a dyn Device, bytes: usize) -> anyhow::Result<Self> {
        let address = device.alloc(bytes as u64, Fill::Zeros)?;
        Ok(Self {
            device,
            address,
            bytes,
        })
    }

    /// The words in the memory.
    fn read(&self) -> anyhow::Result<Vec<u32>> {
        let mut words = vec![0u32; self.bytes / size_of::<u32>()];
        let mut queue = self.device.queue()?;
        // SAFETY: `words` has as many bytes as the memory, and is not moved or freed until
        // `synchronize` returns.
        unsafe { queue.copy_from_device(words.as_mut_ptr().cast(), self.address, self.bytes)? };
        queue.synchronize()?;
        Ok(words)
    }
}

/// The `index`th word of 64 bits.
fn long(words: &[u32], index: usize) -> u64 {
    u64::from(words[2 * index]) | u64::from(words[2 * index + 1]) << 32
}

impl Drop for Memory<'_> {
    fn drop(&mut self) {
        self.device.free(self.address);
    }
}

pub(super) fn measure(bench: &Bench, time: Duration) -> anyhow::Result<Round> {
    let device = &*bench.device;
    let mut pinned = true;
    let (trips, time) = enough(time, "counted", |time| {
        let count = Memory::new(device, 8)?;
        pinned &= run(bench, "ping_count", time, &[&count])?;
        let trips = long(&count.read()?, 0);
        Ok((trips, (trips, time)))
    })?;
    let latency = enough(time, "timed", |time| {
        let (times, span) = (
            Memory::new(device, buckets::COUNT * 4)?,
            Memory::new(device, 16)?,
        );
        pinned &= run(bench, "ping_time", time, &[&times, &span])?;
        let span = span.read()?;
        let mut latency = Latency::new()?;
        let tick_ns = tick_ns(&[[long(&span, 0), long(&span, 1)]])?;
        latency.add_buckets(&times.read()?, tick_ns);
        Ok((latency.len(), latency))
    })?;
    Ok(Round {
        rate: trips as f64 / time.as_secs_f64(),
        latency,
        pinned,
    })
}

/// Runs a kernel for `time`, with `results` as its last parameters, and answers it. Returns whether
/// both ran on their cores.
fn run(bench: &Bench, name: &str, time: Duration, results: &[&Memory<'_>]) -> anyhow::Result<bool> {
    bench.watchdog.alive();
    let device = &bench.device;
    let module = device.load(&bench.image)?;
    let kernel = module
        .kernel(name)?
        .with_context(|| format!("{} has no kernel `{name}`", bench.image.name()))?;
    let flags = device.alloc_mapped(FLAGS)?;
    let polls = KERNEL_POLLS[usize::from(bench.is_host())];
    let nanoseconds = [WARM_UP, time].map(|time| time.as_nanos() as u64);
    let params: Params = [flags.device.0, polls, nanoseconds[0], nanoseconds[1]]
        .into_iter()
        .chain(results.iter().map(|memory| memory.address.0))
        .map(u64::to_ne_bytes)
        .collect();
    let context = LaunchContext {
        block: BlockShape::default(),
        key: 1,
        calls_host: false,
        wake_host: Arc::new(|| ()),
        ended: Arc::new(|| ()),
    };
    let mut queue = device.queue()?;
    // SAFETY: the parameters are the kernel's, all of 8 bytes; the memory that they
    // name lives until the kernel has ended, for which `answer` waits.
    let running = unsafe { queue.launch(&module, kernel, Shape::ONE.into(), &params, context)? };
    // A thread of its own, so that pinning does not affect others.
    let pinned = std::thread::scope(|scope| {
        let answering = scope.spawn(|| {
            let pinned = bench
                .cores
                .is_some_and(|[_, core]| os_threads::pin_this(core));
            answer(&flags, &*running);
            pinned
        });
        let asks = bench
            .cores
            .is_some_and(|[core, _]| os_threads::pin(os_threads::DEVICE, core));
        answering.join().map(|answers| asks && answers)
    })
    .map_err(|_| anyhow!("the thread that answers the floor panicked"));
    if let Some(Err(fault)) = running.wait(None) {
        anyhow::bail!("the kernel of the floor: {fault}");
    }
    pinned
}

/// Writes the kernel's words back until the kernel has ended.
fn answer(flags: &MappedMemory, running: &dyn Running) {
    // SAFETY: mapped memory that outlives this, aligned for words of 8 bytes; both sides access
    // these words only by the methods of `Coherent` and its device counterparts.
    let words = unsafe { Coherent::new(flags.host.as_ptr()) };
    let (mut last, mut polls) = (0, 0u32);
    loop {
        // Relaxed, as is the store: the words carry no other data.
        let word = words.load32(PING, Load::Relaxed);
        if word != last {
            words.store32(PONG, word, Store::Relaxed);
            (last, polls) = (word, 0);
            continue;
        }
        polls += 1;
        if polls < HOST_POLLS {
            std::hint::spin_loop();
        } else if running.is_done() {
            return;
        } else {
            polls = 0;
            std::thread::yield_now();
        }
    }
}
