//! Measures what staying in the kernel saves.

use std::io::{Write, stdout};
use std::time::Instant;

use mpi::topology::SimpleCommunicator;
use mpi::traits::CommunicatorCollectives;
use revoff_mpi::Mpi;

use crate::part::Part;

/// Prints the times of steps in one kernel and of steps with a kernel each, `rounds` times in turn.
pub(crate) fn compare(mpi: &Mpi, part: &mut Part, steps: u64, rounds: u32) -> anyhow::Result<()> {
    let world = SimpleCommunicator::world();
    for round in 1..=rounds {
        let mut time = |leave: bool| {
            world.barrier();
            let start = Instant::now();
            if leave {
                part.leave(steps)?;
            } else {
                part.stay(steps)?;
            }
            Ok::<_, anyhow::Error>(start.elapsed().as_secs_f64() * 1e6 / steps as f64)
        };
        let (stay, leave) = (time(false)?, time(true)?);
        if mpi.rank() == 0 {
            let ratio = leave / stay;
            writeln!(
                stdout(),
                "round {round}: a step takes {stay:.2} us, leaving the kernel {leave:.2} us: {ratio:.2} times as long"
            )?;
        }
    }
    Ok(())
}
