//! The messages between a process and its isolated child: a request, and a reply, which begins with the report of
//! the sandbox that the child has entered.
//!
//! A reply is untrusted: a child that was taken over writes what it likes.

use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use crate::error::Error;
use crate::grant::{Access, Grant};
use crate::sandbox::{Mechanism, Missing, Report, Sandbox};

/// The job that a child runs.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Request {
    pub(crate) job: String,
    pub(crate) sandbox: Sandbox,
    pub(crate) input: Vec<u8>,
}

/// How a job ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// With a result.
    Done,
    /// With an error's text.
    Failed,
}

/// A child's reply, as far as it is complete.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Reply {
    /// The child has not entered its sandbox, for this reason.
    Refused(String),
    /// It has; the job's outcome follows, with its result or the text of its error.
    Entered(Report, Option<(Outcome, Vec<u8>)>),
}

/// The first byte of a report.
const COMPLETE: u8 = 0;
const NO_NAMESPACES: u8 = 1;
const NO_LANDLOCK: u8 = 2;
const REFUSED: u8 = 3;

/// The first byte of an outcome.
const DONE: u8 = 0;
const FAILED: u8 = 1;

/// Bytes before a text or result: a kind, and the length of what follows.
const HEADER: usize = 1 + size_of::<u64>();

/// The most bytes of a text that are sent, and shown.
const MAX_TEXT: usize = 4096;

pub(crate) fn encode(job: &str, sandbox: &Sandbox, input: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    put(&mut bytes, job.as_bytes());
    let Sandbox {
        grants,
        images,
        network,
        commands,
        gpus,
        complete,
        // Enforced by the parent.
        max_result: _,
        time_limit: _,
    } = sandbox;
    bytes.extend([network, commands, gpus, complete].map(|flag| u8::from(*flag)));
    put_length(&mut bytes, grants.len());
    for Grant { path, access } in grants {
        bytes.push(u8::from(*access == Access::Write));
        put_path(&mut bytes, path);
    }
    put_length(&mut bytes, images.len());
    for path in images {
        put_path(&mut bytes, path);
    }
    put(&mut bytes, input);
    bytes
}

/// `None` if the bytes are not of [`encode`].
pub(crate) fn decode(mut bytes: &[u8]) -> Option<Request> {
    let rest = &mut bytes;
    let job = String::from_utf8(take(rest)?.to_vec()).ok()?;
    let [network, commands, gpus, complete] =
        [(); 4].map(|()| take_byte(rest).map(|byte| byte != 0));
    let mut sandbox = Sandbox {
        network: network?,
        commands: commands?,
        gpus: gpus?,
        complete: complete?,
        ..Sandbox::default()
    };
    for _ in 0..take_length(rest)? {
        let access = match take_byte(rest)? {
            0 => Access::Read,
            _ => Access::Write,
        };
        let path = take_path(rest)?;
        sandbox.grants.push(Grant { path, access });
    }
    for _ in 0..take_length(rest)? {
        sandbox.images.push(take_path(rest)?);
    }
    let input = take(rest)?.to_vec();
    Some(Request {
        job,
        sandbox,
        input,
    })
}

/// The beginning of a reply: whether the child has entered its sandbox.
pub(crate) fn encode_report(report: Result<&Report, &Error>) -> Vec<u8> {
    let (kind, text) = match report {
        Ok(Report { missing: None }) => (COMPLETE, String::new()),
        Ok(Report {
            missing: Some(Missing { mechanism, reason }),
        }) => match mechanism {
            Mechanism::Namespaces => (NO_NAMESPACES, reason.clone()),
            Mechanism::Landlock => (NO_LANDLOCK, reason.clone()),
        },
        Err(error) => (REFUSED, error.to_string()),
    };
    let text = &text.as_bytes()[..text.len().min(MAX_TEXT)];
    [&header(kind, text.len()), text].concat()
}

/// The end of a reply; the result, or the text of the error, follows it.
pub(crate) fn encode_outcome(outcome: Outcome, length: usize) -> [u8; HEADER] {
    let kind = match outcome {
        Outcome::Done => DONE,
        Outcome::Failed => FAILED,
    };
    header(kind, length)
}

fn header(kind: u8, length: usize) -> [u8; HEADER] {
    let mut header = [kind; HEADER];
    header[1..].copy_from_slice(&(length as u64).to_le_bytes());
    header
}

/// Decodes a reply; `None` if the child has sent no report.
pub(crate) fn read_reply(mut bytes: Vec<u8>) -> Option<Reply> {
    let mut rest = bytes.as_slice();
    let kind = take_byte(&mut rest)?;
    let reason = shown(take(&mut rest)?);
    let mechanism = match kind {
        COMPLETE => None,
        NO_NAMESPACES => Some(Mechanism::Namespaces),
        NO_LANDLOCK => Some(Mechanism::Landlock),
        REFUSED => return Some(Reply::Refused(reason)),
        _ => return None,
    };
    let missing = mechanism.map(|mechanism| Missing { mechanism, reason });
    let outcome = match take_byte(&mut rest) {
        Some(DONE) => Some(Outcome::Done),
        Some(FAILED) => Some(Outcome::Failed),
        _ => None,
    };
    let is_whole = take_length(&mut rest) == Some(rest.len());
    let start = bytes.len() - rest.len();
    let outcome = outcome.filter(|_| is_whole).map(|outcome| {
        bytes.drain(..start);
        (outcome, bytes)
    });
    Some(Reply::Entered(Report { missing }, outcome))
}

/// A child's text, in a form that a terminal shows and does not obey.
pub(crate) fn shown(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(&text[..text.len().min(MAX_TEXT)]);
    let is_hidden = |character: char| character.is_control() && character != '\n';
    text.replace(is_hidden, "\u{fffd}")
}

/// The largest reply with a result of this size.
pub(crate) fn reply_size(result: usize) -> usize {
    result.saturating_add(2 * HEADER + MAX_TEXT)
}

fn put(bytes: &mut Vec<u8>, field: &[u8]) {
    put_length(bytes, field.len());
    bytes.extend_from_slice(field);
}

fn put_path(bytes: &mut Vec<u8>, path: &Path) {
    put(bytes, path.as_os_str().as_bytes());
}

fn put_length(bytes: &mut Vec<u8>, length: usize) {
    bytes.extend((length as u64).to_le_bytes());
}

fn take<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    let length = take_length(rest)?;
    rest.split_off(..length)
}

fn take_path(rest: &mut &[u8]) -> Option<PathBuf> {
    let bytes = take(rest)?.to_vec();
    Some(std::ffi::OsString::from_vec(bytes).into())
}

fn take_length(rest: &mut &[u8]) -> Option<usize> {
    let (word, after) = rest.split_first_chunk()?;
    *rest = after;
    usize::try_from(u64::from_le_bytes(*word)).ok()
}

fn take_byte(rest: &mut &[u8]) -> Option<u8> {
    rest.split_off_first().copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_arrives_as_it_was_sent() {
        let sandbox = Sandbox::new()
            .read("/a")
            .write("b")
            .image(std::ffi::OsString::from_vec(vec![b'c', 0xff]))
            .network()
            .gpus();
        let bytes = encode("sum", &sandbox, &[1, 2, 3]);
        let request = Request {
            job: "sum".into(),
            sandbox,
            input: vec![1, 2, 3],
        };
        assert_eq!(decode(&bytes), Some(request));
        for length in 0..bytes.len() {
            assert_eq!(decode(&bytes[..length]), None);
        }
    }

    #[test]
    fn a_reply_counts_as_far_as_it_is_complete() {
        let missing = Some(Missing {
            mechanism: Mechanism::Landlock,
            reason: "old".into(),
        });
        let report = Report { missing };
        let mut bytes = encode_report(Ok(&report));
        let entered = bytes.len();
        bytes.extend(encode_outcome(Outcome::Failed, 2));
        bytes.extend([7, 8]);
        let outcome = Some((Outcome::Failed, vec![7, 8]));
        let whole = Some(Reply::Entered(report.clone(), outcome));
        assert_eq!(read_reply(bytes.clone()), whole);
        for length in 0..bytes.len() {
            let expected = (length >= entered).then(|| Reply::Entered(report.clone(), None));
            assert_eq!(read_reply(bytes[..length].to_vec()), expected, "{length}");
        }
        bytes.push(9);
        assert_eq!(read_reply(bytes), Some(Reply::Entered(report, None)));
    }

    #[test]
    fn a_text_is_short_and_harmless() {
        let error = Error::Refused {
            message: "a\x1b[2Jb\n".into(),
        };
        let reply = read_reply(encode_report(Err(&error)));
        assert_eq!(reply, Some(Reply::Refused("a\u{fffd}[2Jb\n".into())));
        assert_eq!(shown(&[b'x'; 5000]).len(), MAX_TEXT);
    }
}
