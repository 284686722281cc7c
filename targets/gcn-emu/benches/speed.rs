//! Lane instructions per second of one core, with full waves and with one lane. The seconds are those
//! for which processors worked, on which other programs have less influence.
//!
//! ```console
//! $ cargo bench -p revoff-gcn-emu --bench speed [ARCH] [KERNEL]
//! ```
#![expect(clippy::print_stdout, reason = "the benchmark prints its figures")]

#[path = "../tests/execution/device.rs"]
#[expect(dead_code, reason = "tests use the rest")]
mod device;

use std::time::Duration;

use device::{Device, Shape, compile};
use gcn_emu::Arch;
use rustix::time::{ClockId, clock_gettime};

/// The kernels: their names and what they do in a loop.
const KERNELS: [(&str, &str); 4] = [
    ("arithmetic", "integer arithmetic as in hashes"),
    ("dot", "a dot product of floats in global memory"),
    ("stack", "loads and stores of private memory"),
    ("calls", "calls of a function with two arguments"),
];

const SOURCE: &str = include_str!("speed.c");

/// The minimum time of a measurement.
const TIME: Duration = Duration::from_millis(200);

fn main() {
    let arguments = std::env::args().skip(1).filter(|it| !it.starts_with('-'));
    let (archs, kernels): (Vec<_>, Vec<_>) = arguments.partition(|it| it.starts_with("gfx"));
    let has = |chosen: &[String], name| chosen.is_empty() || chosen.iter().any(|it| it == name);
    for arch in [Arch::Gfx90a, Arch::Gfx1100] {
        if !has(&archs, arch.name()) {
            continue;
        }
        let Some(object) = compile(arch, "c", SOURCE, &["-std=c23"]) else {
            return;
        };
        for (kernel, what) in KERNELS.into_iter().filter(|(it, _)| has(&kernels, it)) {
            let lanes = if arch == Arch::Gfx90a { 64 } else { 32 };
            let rates = [lanes, 1].map(|lanes| rate(arch, &object, kernel, lanes));
            let [full, one] = rates.map(|rate| rate / 1e6);
            println!(
                "{arch} {kernel}: {full:.0} million lane instructions/s with {lanes} lanes, \
                 {one:.0} with one: {what}"
            );
        }
    }
}

/// Instructions per second of one core, for waves with `lanes` lanes, each counted for all of them.
fn rate(arch: Arch, object: &[u8], kernel: &str, lanes: u32) -> f64 {
    let device = Device::new(arch);
    let kernel = device.load(object, kernel);
    let out = device.memory(&vec![1; 4096]);
    let shape = Shape {
        grid: 4 * lanes,
        private_bytes: 1024,
        ..Shape::lanes(lanes)
    };
    let rounds = if lanes == 1 { 50_000 } else { 10_000 };
    let (start, mut count) = (processor_time(), 0);
    while processor_time() - start < TIME {
        let ran = device.run(&kernel, shape, &[out, rounds]);
        count += ran.expect("no fault");
    }
    count as f64 * f64::from(lanes) / (processor_time() - start).as_secs_f64()
}

/// For how long processors worked for this process.
fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::try_from(time).expect("is not negative")
}
