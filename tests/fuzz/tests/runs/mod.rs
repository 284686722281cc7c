//! Runs of targets, which must end, and whose memory is limited if they only read. The last input is in a file, also if it ends the process.

mod memory;

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

/// The targets that do more than read their bytes, whose memory is not limited. It would be that of devices.
const NOT_PARSERS: [&str; 6] = [
    "ptx-run",
    "gcn-run",
    "cuda-calls",
    "hsa-calls",
    "aql-packets",
    "ptx-engines",
];

/// The bytes that a parser may allocate for each byte of its input.
const BYTES_PER_BYTE: usize = 64;

/// The bytes that it may allocate besides: twice the window of zstd. A few bytes of it may stand for as many.
const MEMORY: usize = 16 << 20;

/// Runs of a target. If one does not end, it ends the process.
pub(super) struct Runs {
    /// The last input.
    input: File,
    /// Is sent to at the end of a run.
    ended: Sender<()>,
    /// Whether its memory is limited.
    is_parser: bool,
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
            is_parser: !NOT_PARSERS.contains(&target),
        }
    }

    /// Calls a function of the target. Panics if it is a parser that allocates too much.
    pub(super) fn run<T>(&self, function: fn(&[u8]) -> T, bytes: &[u8]) -> T {
        self.input
            .set_len(bytes.len() as u64)
            .and_then(|()| self.input.write_all_at(bytes, 0))
            .expect("the input is written");
        let (result, peak) = memory::peak(|| function(bytes));
        let limit = MEMORY + BYTES_PER_BYTE * bytes.len();
        assert!(
            !self.is_parser || peak <= limit,
            "{peak} bytes of memory for {} of input, and {limit} are the limit",
            bytes.len()
        );
        self.ended
            .send(())
            .expect("it receives until this is dropped");
        result
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
