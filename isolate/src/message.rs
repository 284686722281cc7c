//! What a process and its isolated child send each other: which job, in which sandbox, with which input;
//! and its result.

use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use crate::grant::{Access, Grant};
use crate::sandbox::Sandbox;

/// What a child is to run.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Order {
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
    /// It did not start, because of an error of the sandbox, whose text follows.
    Refused,
}

/// Bytes of a reply before its text or result: the outcome, and the length of what follows.
const HEADER: usize = 1 + size_of::<u64>();

pub(crate) fn encode(job: &str, sandbox: &Sandbox, input: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    put(&mut bytes, job.as_bytes());
    let Sandbox {
        grants,
        images,
        network,
        commands,
        gpus,
        // The parent's business.
        max_result: _,
    } = sandbox;
    bytes.extend([network, commands, gpus].map(|flag| u8::from(*flag)));
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
pub(crate) fn decode(mut bytes: &[u8]) -> Option<Order> {
    let rest = &mut bytes;
    let job = String::from_utf8(take(rest)?.to_vec()).ok()?;
    let [network, commands, gpus] = [(); 3].map(|()| take_byte(rest).map(|byte| byte != 0));
    let mut sandbox = Sandbox {
        network: network?,
        commands: commands?,
        gpus: gpus?,
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
    Some(Order {
        job,
        sandbox,
        input,
    })
}

/// The start of a reply, which this many bytes follow.
pub(crate) fn reply_header(outcome: Outcome, length: usize) -> [u8; HEADER] {
    let mut header = [0; HEADER];
    header[0] = match outcome {
        Outcome::Done => 0,
        Outcome::Failed => 1,
        Outcome::Refused => 2,
    };
    header[1..].copy_from_slice(&(length as u64).to_le_bytes());
    header
}

/// The outcome, and the text or result, if the reply is complete.
pub(crate) fn read_reply(mut bytes: Vec<u8>) -> Option<(Outcome, Vec<u8>)> {
    let mut rest = bytes.as_slice();
    let outcome = match take_byte(&mut rest)? {
        0 => Outcome::Done,
        1 => Outcome::Failed,
        2 => Outcome::Refused,
        _ => return None,
    };
    let length = take_length(&mut rest)?;
    if rest.len() != length {
        return None;
    }
    bytes.drain(..HEADER);
    Some((outcome, bytes))
}

/// The largest reply with a result of this size.
pub(crate) fn reply_size(result: usize) -> usize {
    result.saturating_add(HEADER)
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
    fn an_order_arrives_as_it_was_sent() {
        let sandbox = Sandbox::new()
            .read("/a")
            .write("b")
            .image(std::ffi::OsString::from_vec(vec![b'c', 0xff]))
            .network()
            .gpus();
        let bytes = encode("sum", &sandbox, &[1, 2, 3]);
        let order = Order {
            job: "sum".into(),
            sandbox,
            input: vec![1, 2, 3],
        };
        assert_eq!(decode(&bytes), Some(order));
        for length in 0..bytes.len() {
            assert_eq!(decode(&bytes[..length]), None);
        }
    }

    #[test]
    fn a_reply_counts_only_if_it_is_complete() {
        let mut bytes = reply_header(Outcome::Failed, 2).to_vec();
        bytes.extend([7, 8]);
        let complete = read_reply(bytes.clone());
        assert_eq!(complete, Some((Outcome::Failed, vec![7, 8])));
        for length in 0..bytes.len() {
            assert_eq!(read_reply(bytes[..length].to_vec()), None);
        }
        bytes.push(9);
        assert_eq!(read_reply(bytes), None);
    }
}
