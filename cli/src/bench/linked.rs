//! The cost of the runtime in the image for a kernel without calls.

use std::time::Duration;

use revoff_host::{Functions, Image, Kernel, Runtime};

use super::context::Bench;
use super::report::Linked;
use super::shape::Shape;

/// The minimum run time of a kernel, and the number of runs of each of the two.
const FULL: (Duration, usize) = (Duration::from_millis(5), 50);
const QUICK: (Duration, usize) = (Duration::from_millis(1), 10);

/// The initial number of steps; doubled until the kernel runs long enough.
const STEPS: u64 = 1 << 12;

/// More than a device runs in a few milliseconds.
const MAX_STEPS: u64 = 1 << 32;

/// Times both kernels in turn with this grid; `None` without an image without the runtime.
pub(crate) fn measure(bench: &Bench, grid: Shape, quick: bool) -> anyhow::Result<Option<Linked>> {
    let Some(quiet) = &bench.quiet else {
        return Ok(None);
    };
    bench.watchdog.at("a kernel that makes no call");
    let runtime = Runtime::open(bench.name())?;
    let kernel = |image: &Image| -> anyhow::Result<Kernel> {
        let program = runtime.load(image, &Functions::new())?;
        Ok(program.kernel("arithmetic")?)
    };
    let (with, without) = (kernel(&bench.image)?, kernel(quiet)?);
    let time = |kernel: &Kernel, steps: u64| -> anyhow::Result<u64> {
        bench.watchdog.alive();
        // SAFETY: the parameters are the kernel's, and the seed is not 0: it writes
        // nothing.
        let launch = unsafe { kernel.launch(grid.into(), &[&steps, &1u64, &0u64])? };
        // A thread that sleeps until a GPU is done wakes late. On the host, the kernel needs the
        // processor itself.
        while !bench.is_host() && !launch.is_done() {
            std::hint::spin_loop();
        }
        Ok(launch.wait()?.time.as_nanos() as u64)
    };
    let (least, runs) = if quick { QUICK } else { FULL };
    let mut steps = STEPS;
    while u128::from(time(&without, steps)?.min(time(&with, steps)?)) < least.as_nanos() {
        steps *= 2;
        anyhow::ensure!(steps < MAX_STEPS, "{steps} steps take the device no time");
    }
    let (mut linked, mut bare) = (Vec::new(), Vec::new());
    for _ in 0..runs {
        linked.push(time(&with, steps)?);
        bare.push(time(&without, steps)?);
    }
    Ok(Some(figures(grid, &linked, &bare)))
}

/// The figures of times that were measured in turn.
fn figures(grid: Shape, linked: &[u64], bare: &[u64]) -> Linked {
    let pairs = linked.iter().zip(bare);
    let ratios: Vec<f64> = pairs
        .map(|(&with, &without)| with as f64 / without as f64)
        .collect();
    let in_ns = |times: &[u64]| times.iter().map(|&time| time as f64).collect::<Vec<_>>();
    let (with, without) = (in_ns(linked), in_ns(bare));
    Linked {
        grid,
        runs: linked.len() as u32,
        linked_ns: quartile(&with, 2) as u64,
        unlinked_ns: quartile(&without, 2) as u64,
        ratio: quartile(&with, 2) / quartile(&without, 2),
        ratio_low: quartile(&ratios, 1),
        ratio_high: quartile(&ratios, 3),
    }
}

/// The value that `quarters` quarters of the values do not exceed.
fn quartile(values: &[f64], quarters: usize) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let index = sorted.len().saturating_sub(1) * quarters / 4;
    sorted.get(index).copied().unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ratio_is_that_of_the_medians_and_the_spread_that_of_the_pairs() {
        let figures = figures(Shape::ONE, &[11, 22, 33, 44, 100], &[10, 20, 30, 40, 50]);
        assert_eq!((figures.linked_ns, figures.unlinked_ns), (33, 30));
        assert!((figures.ratio - 1.1).abs() < 1e-9);
        assert!((figures.ratio_low - 1.1).abs() < 1e-9);
        assert!(
            (figures.ratio_high - 1.1).abs() < 1e-9,
            "one outlier of five"
        );
    }
}
