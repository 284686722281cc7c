//! Planned faults of launches.

use std::fmt;
use std::fs::File;
use std::hint::black_box;
use std::io::{self, Write};
use std::panic::resume_unwind;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use anyhow::bail;
use revoff_host::{CallError, Launch, LaunchError};

/// A fault of a launch.
#[derive(Clone, Debug)]
pub(super) enum Fault {
    None,
    /// The host function panics, once for each device thread.
    Panic,
    /// The launch is aborted, while a host function stalls.
    Abort(Arc<Stall>),
    /// The host function writes to a full disk.
    Disk,
    /// The host function asks for more memory than there is.
    Memory,
}

/// The message with which a host function fails.
const AT: u64 = 100;

/// How long either side of a stall waits for the other: longer, and it does not come.
const LIMIT: Duration = Duration::from_secs(60);

/// A host function that stalls until its launch is aborted.
#[derive(Default)]
pub(super) struct Stall {
    phase: Mutex<Phase>,
    changed: Condvar,
}

#[derive(Clone, Copy, Default, PartialEq, PartialOrd)]
enum Phase {
    #[default]
    Before,
    Stalled,
    Over,
}

impl Stall {
    fn begin(&self, phase: Phase) {
        *self.phase.lock().unwrap_or_else(PoisonError::into_inner) = phase;
        self.changed.notify_all();
    }

    /// Waits until a phase has begun. Returns whether it has.
    fn wait_for(&self, phase: Phase) -> bool {
        let now = self.phase.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self
            .changed
            .wait_timeout_while(now, LIMIT, |now| *now < phase);
        !waited.unwrap_or_else(PoisonError::into_inner).1.timed_out()
    }
}

impl fmt::Debug for Stall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("stall")
    }
}

impl Fault {
    /// That of a runtime's launch, by its number: every other one has none.
    pub(super) fn of(launch: u64) -> Self {
        match launch {
            1 => Self::Panic,
            3 => Self::Abort(Arc::default()),
            5 => Self::Disk,
            7 => Self::Memory,
            _ => Self::None,
        }
    }

    /// Happens in the host function, with message `number` of the launch's thread `thread`.
    pub(super) fn happen(&self, thread: u32, number: u64) -> io::Result<()> {
        match self {
            Self::Disk if number == AT => return File::create("/dev/full")?.write_all(&[0]),
            Self::Memory if number == AT => {
                let mut memory = Vec::<u8>::new();
                memory.try_reserve_exact(isize::MAX.cast_unsigned())?;
                // Without a use, the compiler may leave it out.
                black_box(&mut memory);
            }
            // Without the message of a panic.
            Self::Panic if number == AT => resume_unwind(Box::new("planned")),
            Self::Abort(stall) if number == AT && thread == 0 => {
                stall.begin(Phase::Stalled);
                stall.wait_for(Phase::Over);
            }
            _ => {}
        }
        Ok(())
    }

    /// A part of its host function's error message.
    fn reason(&self) -> Option<&'static str> {
        match self {
            Self::Disk => Some("No space left"),
            Self::Memory => Some("memory"),
            _ => None,
        }
    }

    /// Waits for the launch, which must end as the fault makes it.
    pub(super) fn wait(&self, launch: &Launch) -> anyhow::Result<()> {
        let result = match self {
            Self::Abort(stall) => {
                if !stall.wait_for(Phase::Stalled) {
                    bail!("no function has stalled for {LIMIT:?}");
                }
                launch.abort();
                stall.begin(Phase::Over);
                launch.wait()
            }
            _ => launch.wait(),
        };
        match (self, result) {
            (Self::None, Ok(_)) => Ok(()),
            (Self::None, Err(error)) => Err(error.into()),
            (
                Self::Panic,
                Err(LaunchError::Call {
                    first: CallError::Panicked { .. },
                    ..
                }),
            )
            | (
                Self::Abort(_),
                Err(LaunchError::Call {
                    first: CallError::Aborted { .. },
                    ..
                }),
            ) => Ok(()),
            (
                _,
                Err(LaunchError::Call {
                    first: CallError::Failed { message, .. },
                    ..
                }),
            ) if self.reason().is_some_and(|reason| message.contains(reason)) => Ok(()),
            (_, Err(error)) => bail!("it was made to fail with another error: {error}"),
            (_, Ok(_)) => bail!("it has not failed"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_exhausted_is_an_error() {
        for fault in [Fault::Disk, Fault::Memory] {
            let error = fault.happen(0, AT).expect_err("none is left").to_string();
            assert!(
                fault.reason().is_some_and(|reason| error.contains(reason)),
                "{error}"
            );
            fault.happen(0, AT + 1).expect("another message");
        }
    }
}
