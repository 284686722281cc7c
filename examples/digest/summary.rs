//! The output: digests, errors, and a line of figures.

use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use revoff_host::targets::count::Count;
use serde_json::json;

use crate::files::Files;
use crate::options::{complain, say};

/// Figures of a run.
pub(crate) struct Summary {
    files: usize,
    bytes: u64,
    requests: u64,
    requests_per_second: f64,
    p50: u32,
    p99: u32,
}

impl Summary {
    /// The figures, from the calls of each device thread and the times, in nanoseconds, of the last
    /// `samples` of them.
    pub(crate) fn new(
        files: &Files,
        report: &revoff_host::Report,
        calls: &[u64],
        times: &[u32],
        samples: usize,
    ) -> Self {
        let requests: u64 = calls.iter().sum();
        let mut kept: Vec<u32> = calls
            .iter()
            .zip(times.chunks(samples))
            .flat_map(|(&calls, times)| &times[..times.len().min(calls as usize)])
            .copied()
            .collect();
        kept.sort_unstable();
        let percentile = |part: usize| {
            kept.get((kept.len() * part / 100).min(kept.len().saturating_sub(1)))
                .copied()
                .unwrap_or(0)
        };
        Self {
            files: files.digested(),
            bytes: files.bytes_read(),
            requests,
            requests_per_second: requests as f64 / report.time.as_secs_f64().max(1e-9),
            p50: percentile(50),
            p99: percentile(99),
        }
    }
}

/// Prints the results, as text or JSON.
pub(crate) fn print(json: bool, files: &Files, summary: &Summary) -> io::Result<()> {
    let mut out = io::BufWriter::new(io::stdout().lock());
    for (path, result) in files.results() {
        match result {
            Some(Ok(digest)) if !json => write_line(&mut out, path, digest)?,
            Some(Ok(_)) => {}
            Some(Err(error)) => complain(&format!("{}: {}", path.display(), words(error))),
            None => complain(&format!("{}: not finished", path.display())),
        }
    }
    if json {
        let list: Vec<_> = files
            .results()
            .map(|(path, result)| match result {
                Some(Ok(digest)) => json!({"path": path.to_string_lossy(), "sha256": hex(digest)}),
                Some(Err(error)) => {
                    json!({"path": path.to_string_lossy(), "error": words(error)})
                }
                None => json!({"path": path.to_string_lossy(), "error": "not finished"}),
            })
            .collect();
        let value = json!({
            "files": list,
            "summary": {
                "files": summary.files,
                "bytes": summary.bytes,
                "requests": summary.requests,
                "requests_per_second": summary.requests_per_second,
                "p50_ns": summary.p50,
                "p99_ns": summary.p99,
            },
        });
        writeln!(out, "{value}")?;
    }
    out.flush()?;
    print_summary(summary);
    Ok(())
}

/// To the standard error: the standard output is for the digests alone.
pub(crate) fn print_summary(summary: &Summary) {
    say(&format!(
        "{}, {}, {}, {:.0} requests/s, p50 {:.1} us, p99 {:.1} us",
        Count(summary.files as u64, "file"),
        Count(summary.bytes, "byte"),
        Count(summary.requests, "request"),
        summary.requests_per_second,
        f64::from(summary.p50) / 1e3,
        f64::from(summary.p99) / 1e3,
    ));
}

/// A line in the format of `sha256sum`: paths with a backslash or a line break are escaped, and the
/// line then starts with a backslash.
fn write_line(out: &mut impl Write, path: &Path, digest: &[u8; 32]) -> io::Result<()> {
    let bytes = path.as_os_str().as_bytes();
    let mut name = Vec::with_capacity(bytes.len());
    for &byte in bytes {
        match byte {
            b'\\' => name.extend(b"\\\\"),
            b'\n' => name.extend(b"\\n"),
            b'\r' => name.extend(b"\\r"),
            _ => name.push(byte),
        }
    }
    if name.len() != bytes.len() {
        out.write_all(b"\\")?;
    }
    write!(out, "{}  ", hex(digest))?;
    out.write_all(&name)?;
    out.write_all(b"\n")
}

fn hex(digest: &[u8; 32]) -> String {
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The system's message without Rust's addition of the error's number.
fn words(error: &io::Error) -> String {
    let text = error.to_string();
    match text.find(" (os error") {
        Some(end) => text[..end].to_owned(),
        None => text,
    }
}
