//! The thread whose instructions `REVOFF_EMU_TRACE` prints.

use std::io::{Write, stderr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Once, OnceLock};

use crate::process::{SettingError, at_exit, is_forked, value};

const TRACE: &str = "REVOFF_EMU_TRACE";

/// A thread in a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Traced {
    /// Its block.
    pub block: u32,
    /// The thread in the block.
    pub thread: u32,
}

/// The thread, once a GPU traces it.
static TRACED: OnceLock<Traced> = OnceLock::new();
static WAS_FOUND: AtomicBool = AtomicBool::new(false);

impl Traced {
    /// The thread that the environment names, if it does.
    ///
    /// # Errors
    /// It is invalid.
    pub fn from_environment() -> Result<Option<Self>, SettingError> {
        let read = |text: &str| {
            let (block, thread) = text.split_once('.')?;
            let (block, thread) = (block.parse().ok()?, thread.parse().ok()?);
            Some(Some(Self { block, thread }))
        };
        value(TRACE, None, "a block and a thread (as 0.31)", read)
    }

    /// The function that prints its instructions. If there were none when the process exits, a message says so.
    pub fn sink(self, print: fn(&str)) -> impl Fn(&str) + Send + Sync + 'static {
        static ONCE: Once = Once::new();
        TRACED.get_or_init(|| self);
        at_exit(&ONCE, end);
        move |line| {
            // Relaxed: read at the end.
            WAS_FOUND.store(true, Ordering::Relaxed);
            print(line);
        }
    }
}

extern "C" fn end() {
    if let Some(Traced { block, thread }) = TRACED.get()
        && !WAS_FOUND.load(Ordering::Relaxed)
        && !is_forked()
    {
        // A closed standard error is the program's business.
        let _ = writeln!(
            stderr(),
            "emulated GPU: {TRACE}={block}.{thread}: no kernel has had this thread"
        );
    }
}
