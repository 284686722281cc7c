//! Runs of targets, which must end, and whose memory is limited if they only read. The last input is in a file, also if it ends the process.

mod memory;

use std::cell::Cell;
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread;
use std::time::Duration;

/// How long a run may take: longer, and it hangs.
const LONG: Duration = Duration::from_secs(120);

/// The bytes that a parser may allocate for each byte of its input.
const BYTES_PER_BYTE: usize = 64;

/// The bytes that a target may allocate besides; `None` if it does more than read its bytes. They would be those of
/// devices.
fn allowance(target: &str) -> Option<usize> {
    match target {
        "ptx-run" | "gcn-run" | "cuda-calls" | "hsa-calls" | "aql-packets" | "ptx-engines" => None,
        // Twice the window of zstd: a few bytes of a compressed image may stand for as many.
        "image" | "fatbin" => Some(16 << 20),
        // Most of it for tables that the first call makes.
        _ => Some(64 << 10),
    }
}

/// Runs of a target. If one does not end, it ends the process.
pub(super) struct Runs {
    /// The last input.
    input: File,
    /// Is sent to at the end of a run.
    ended: Sender<()>,
    /// See [`allowance`].
    allowance: Option<usize>,
    /// The most bytes that a run has allocated at a time.
    peak: Cell<usize>,
}

impl Runs {
    /// Begins runs of a target, with inputs of a kind.
    pub(super) fn begin(target: &str, inputs: &str) -> Self {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{target}-{inputs}"));
        let input = File::create(&path).expect("a file for the input");
        let (ended, ends) = mpsc::channel();
        thread::spawn(move || {
            loop {
                match ends.recv_timeout(LONG) {
                    Ok(()) => {}
                    Err(RecvTimeoutError::Disconnected) => break,
                    Err(RecvTimeoutError::Timeout) => abort(&path),
                }
            }
        });
        Self {
            input,
            ended,
            allowance: allowance(target),
            peak: Cell::new(0),
        }
    }

    /// Calls a function of the target. Panics if it is a parser that allocates too much.
    pub(super) fn run<T>(&self, function: fn(&[u8]) -> T, bytes: &[u8]) -> T {
        self.input
            .set_len(bytes.len() as u64)
            .and_then(|()| self.input.write_all_at(bytes, 0))
            .expect("the input is written");
        let (result, peak) = memory::peak(|| function(bytes));
        self.peak.update(|before| before.max(peak));
        if let Some(allowance) = self.allowance {
            let limit = allowance + BYTES_PER_BYTE * bytes.len();
            assert!(
                peak <= limit,
                "{peak} bytes of memory for {} of input, and {limit} are the limit",
                bytes.len()
            );
        }
        self.ended
            .send(())
            .expect("it receives until this is dropped");
        result
    }

    /// The most bytes that a run of a parser has allocated at a time; `None` if the target is none.
    pub(super) fn peak(&self) -> Option<usize> {
        self.allowance.map(|_| self.peak.get())
    }
}

/// Ends the process. Prints the input by itself: what tests print is captured, and would be lost.
fn abort(path: &Path) -> ! {
    let bytes = fs::read(path).unwrap_or_default();
    let (path, bytes) = (path.display(), bytes.escape_ascii());
    let _ = writeln!(
        io::stderr(),
        "no end after {LONG:?} of {path}: b\"{bytes}\""
    );
    process::abort()
}
