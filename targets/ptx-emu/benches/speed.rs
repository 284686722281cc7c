//! Lane instructions per second of one core, with full warps, a part of the lanes, and one lane.
//!
//! ```console
//! $ cargo bench -p revoff-ptx-emu --bench speed [KERNEL]
//! ```
#![expect(clippy::print_stdout, reason = "the benchmark prints its figures")]

use std::time::{Duration, Instant};

use ptx_emu::{Grid, Machine, Options, Part};

/// The kernels: their names and what they do in a loop.
const KERNELS: [(&str, &str); 4] = [
    ("arithmetic", "integer arithmetic as in hashes"),
    ("dot", "a dot product of floats in global memory"),
    ("stack", "generic loads and stores of local memory"),
    ("calls", "calls of a function with two arguments"),
];

const TEXT: &str = include_str!("speed.ptx");

/// The minimum time of a measurement.
const TIME: Duration = Duration::from_millis(200);

fn main() {
    let chosen = std::env::args().skip(1).find(|it| !it.starts_with('-'));
    for (kernel, what) in KERNELS {
        if chosen.as_ref().is_none_or(|chosen| chosen == kernel) {
            let rates = [32, 20, 1].map(|lanes| rate(kernel, lanes));
            let [full, part, one] = rates.map(|rate| rate / 1e6);
            println!(
                "{kernel}: {full:.0} million lane instructions/s with 32 lanes, {part:.0} with \
                 20, {one:.0} with one: {what}"
            );
        }
    }
}

/// Instructions per second of one core, for warps with `lanes` lanes.
fn rate(kernel: &str, lanes: u32) -> f64 {
    let options = Options {
        processors: 1,
        ..Options::default()
    };
    let machine = Machine::new(options).expect("addresses");
    let part = Part {
        name: "speed.ptx",
        text: TEXT,
    };
    let module = machine.load(&[part]).expect("good PTX");
    let kernel = module.kernel(kernel).expect("is there");
    let out = machine.memory().alloc(1 << 20).expect("room");
    let count = if lanes == 1 { 100_000u32 } else { 20_000 };
    let params = [out.to_le_bytes().to_vec(), count.to_le_bytes().to_vec()];
    let grid = Grid {
        grid: [4, 1, 1],
        block: [lanes, 1, 1],
        shared: 0,
    };
    let (start, mut count) = (Instant::now(), 0);
    while start.elapsed() < TIME {
        let running = machine
            .launch(&module, kernel, grid, &params, Box::new(|_| {}))
            .expect("a good launch");
        running.wait(None).expect("no deadline").expect("no fault");
        count += running.instructions();
    }
    count as f64 / start.elapsed().as_secs_f64()
}
