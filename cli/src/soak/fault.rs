//! What is made to fail.

use std::panic::resume_unwind;
use std::thread;
use std::time::Duration;

use anyhow::bail;
use revoff_host::{CallError, Launch, LaunchError};

/// A fault of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    None,
    /// The host function panics, once for each device thread.
    Panic,
    /// The launch is aborted, while a host function stalls.
    Abort,
}

/// The message with which a host function fails.
const AT: u64 = 100;

/// How long a host function stalls: its launch is aborted before.
const STALL: Duration = Duration::from_millis(200);

/// The time after which a launch is aborted.
const PATIENCE: Duration = Duration::from_millis(20);

impl Fault {
    /// That of a launch: every other one has none.
    pub(super) fn of(launch: u64) -> Self {
        match launch % 4 {
            1 => Self::Panic,
            3 => Self::Abort,
            _ => Self::None,
        }
    }

    /// Happens in the host function, with message `number` of the launch's thread `thread`.
    pub(super) fn happen(self, thread: u32, number: u64) {
        match self {
            // Without the message of a panic.
            Self::Panic if number == AT => resume_unwind(Box::new("planned")),
            Self::Abort if number == AT && thread == 0 => thread::sleep(STALL),
            _ => {}
        }
    }

    /// Waits for the launch, which must end as the fault makes it.
    pub(super) fn wait(self, launch: &Launch) -> anyhow::Result<()> {
        let result = match self {
            Self::Abort => {
                thread::sleep(PATIENCE);
                launch.abort();
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
                Self::Abort,
                Err(LaunchError::Call {
                    first: CallError::Aborted { .. },
                    ..
                }),
            ) => Ok(()),
            (_, Err(error)) => bail!("it was made to fail with another error: {error}"),
            (_, Ok(_)) => bail!("it has not failed"),
        }
    }
}
