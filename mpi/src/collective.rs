//! Collective functions.
//!
//! MPI relies on ranks that call the same function with as many bytes: a rank that gets more than it expects has its
//! memory overwritten (Open MPI 4.1.4). Kernels choose the function and the length. So ranks first compare these, by a
//! call of MPI that is always the same.

use revoff_fn::zerocopy::{FromBytes, IntoBytes};

use crate::communication::Communication;
use crate::communicator::Communicator;
use crate::error::MpiError;
use crate::progress::Command;
use crate::request::{Buffer, Request};
use crate::run_to_end::RunToEnd;
use crate::session::Shared;

/// Words that describe what a rank begins.
const WORDS: usize = 4;

/// The result of a collective function.
pub(crate) type Collective = RunToEnd<Result<Vec<Buffer>, MpiError>>;

impl Shared {
    /// Begins `what` by `begin`, if all ranks begin the same, with elements and an operation of these numbers, and have the
    /// memory for it, in `buffers`. `begin` returns `None` if nothing is left to do then.
    ///
    /// One follows the other, since each takes two calls of MPI, and all ranks must make these in the same order.
    ///
    /// A rank takes part in the comparison whatever its arguments: the others wait for it.
    pub(crate) fn collective(
        &self,
        what: Communication,
        (datatype, operation): (u32, u32),
        buffers: impl FnOnce() -> Result<Vec<Buffer>, MpiError>,
        begin: impl FnOnce(&Communicator, Vec<Buffer>) -> Result<Option<Request>, MpiError>
        + Send
        + 'static,
    ) -> Result<Collective, MpiError> {
        let reserved = self.open_requests().reserve(memory(what));
        let memory = reserved.and_then(|reserved| Ok((buffers()?, reserved)));
        let own = words(what, (datatype, operation), memory.is_ok());
        let both = [own, own.map(|word| !word)];
        let compared = Buffer::for_reduction(both.as_bytes())?;
        // Nothing fails between the ticket and the comparison, unless MPI does: the other ranks count on it (`drain`).
        let (ticket, communicator) = (self.collectives.issue(), self.communicator);
        let run = async move {
            ticket.wait_served().await;
            let compared = communicator.largest(what, 2 * WORDS, compared)?;
            let (_, compared) = compared.done().await?;
            let (buffers, _reserved) = memory?;
            if !are_equal(own, compared.last())? {
                return Err(MpiError::Disagreement { what });
            }
            match begin(&communicator, buffers)? {
                Some(request) => Ok(request.done().await?.1),
                None => Ok(vec![]),
            }
        };
        let abandon = Command::AbandonedCollective;
        Ok(RunToEnd::new(&self.thread, abandon, run))
    }
}

/// Bytes of memory for the data and the result.
fn memory(what: Communication) -> u64 {
    match what {
        Communication::Broadcast { bytes, .. } => bytes as u64,
        Communication::Reduce { bytes, .. } => 2 * bytes as u64,
        _ => 0,
    }
}

/// The words that ranks compare: they differ if the operations do.
fn words(what: Communication, (datatype, operation): (u32, u32), has_memory: bool) -> [u64; WORDS] {
    let (function, root, bytes) = match what {
        Communication::Barrier => (0, 0, 0),
        Communication::Broadcast { root, bytes } => (1, root, bytes),
        Communication::Reduce {
            root: Some(root),
            bytes,
        } => (2, root, bytes),
        Communication::Reduce { root: None, bytes } => (3, 0, bytes),
        Communication::Send { .. }
        | Communication::Receive { .. }
        | Communication::Init
        | Communication::Finish => unreachable!("no function of kernels, or one of a single rank"),
    };
    let pair = |high: u32, low: u32| u64::from(high) << 32 | u64::from(low);
    [
        pair(function, root),
        pair(datatype, operation),
        bytes as u64,
        has_memory.into(),
    ]
}

/// Whether the words of all ranks are `own`, by the largest of them and of their complements: then those are the smallest,
/// too.
fn are_equal(own: [u64; WORDS], largest: Option<&Buffer>) -> Result<bool, MpiError> {
    let mut bytes = [0; 2 * WORDS * size_of::<u64>()];
    if let Some(buffer) = largest {
        buffer.read(&mut bytes)?;
    }
    let largest = <[u64; 2 * WORDS]>::read_from_bytes(&bytes);
    let largest = largest.expect("there are as many bytes");
    Ok(largest[..WORDS] == own && largest[WORDS..] == own.map(|word| !word))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::Words;

    #[test]
    fn ranks_agree_if_all_words_are_equal() {
        let agree = |ranks: &[[u64; WORDS]]| {
            let largest = |at: usize, flip: u64| {
                let words = ranks.iter().map(|words| words[at] ^ flip);
                words.max().expect("there are ranks")
            };
            let both = [0, u64::MAX].map(|flip| [0, 1, 2, 3].map(|at| largest(at, flip)));
            let buffer = Words::copy_of(both.as_bytes()).expect("memory").into();
            are_equal(ranks[0], Some(&buffer)).expect("memory of the host")
        };
        let broadcast = |root, bytes| words(Communication::Broadcast { root, bytes }, (0, 0), true);
        let reduce_to = |root, bytes, datatype, operation| {
            words(
                Communication::Reduce { root, bytes },
                (datatype, operation),
                true,
            )
        };
        let reduce = |bytes, datatype, operation| reduce_to(None, bytes, datatype, operation);
        let barrier = words(Communication::Barrier, (0, 0), true);
        assert!(agree(&[barrier]));
        assert!(agree(&[broadcast(1, 8), broadcast(1, 8), broadcast(1, 8)]));
        for other in [
            broadcast(1, 16),
            broadcast(1, 0),
            broadcast(0, 8),
            reduce(8, 0, 0),
            barrier,
        ] {
            assert!(!agree(&[broadcast(1, 8), other]));
            assert!(!agree(&[other, broadcast(1, 8)]));
        }
        assert!(!agree(&[reduce(8, 1, 2), reduce(8, 2, 2)]));
        assert!(!agree(&[reduce(8, 1, 2), reduce(8, 1, 1)]));
        let without_memory = words(Communication::Barrier, (0, 0), false);
        assert!(!agree(&[barrier, without_memory]));
        // Whatever its number, a root is not all ranks.
        for root in [0, 1, u32::MAX] {
            assert!(!agree(&[reduce_to(Some(root), 8, 1, 2), reduce(8, 1, 2)]));
        }
    }
}
