//! Operations of MPI, for errors.

use std::fmt;

use mpi_calls::ANY;
use revoff_host::targets::count::Count;

/// An operation of MPI.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Communication {
    /// Sending a message.
    Send {
        /// The receiver's rank.
        to: u32,
        /// The message's tag.
        tag: u32,
        /// Its length.
        bytes: usize,
    },
    /// Receiving a message.
    Receive {
        /// The sender's rank.
        from: u32,
        /// The message's tag.
        tag: u32,
        /// The largest possible length.
        bytes: usize,
    },
    /// Waiting for all ranks.
    Barrier,
    /// Copying from a rank to all others.
    Broadcast {
        /// That rank.
        root: u32,
        /// The bytes.
        bytes: usize,
    },
    /// Combining elements of all ranks.
    Reduce {
        /// The rank that gets the result; all if there is none.
        root: Option<u32>,
        /// The bytes.
        bytes: usize,
    },
    /// Starting MPI.
    Init,
    /// Ending MPI.
    Finish,
}

impl fmt::Display for Communication {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rank = |rank: u32| match rank {
            ANY => "any rank".to_owned(),
            rank => format!("rank {rank}"),
        };
        let count = |bytes: usize| Count(bytes as u64, "byte").to_string();
        match *self {
            Self::Send { to, tag, bytes } => {
                write!(f, "sending {} with tag {tag} to {}", count(bytes), rank(to))
            }
            Self::Receive { from, tag, bytes } => {
                let tag = match tag {
                    ANY => "any tag".to_owned(),
                    tag => format!("tag {tag}"),
                };
                write!(
                    f,
                    "receiving at most {} with {tag} from {}",
                    count(bytes),
                    rank(from)
                )
            }
            Self::Barrier => f.write_str("a barrier"),
            Self::Broadcast { root, bytes } => {
                write!(f, "broadcasting {} from {}", count(bytes), rank(root))
            }
            Self::Reduce { root, bytes } => match root {
                Some(root) => write!(f, "reducing {} to {}", count(bytes), rank(root)),
                None => write!(f, "reducing {} to all ranks", count(bytes)),
            },
            Self::Init => f.write_str("starting MPI"),
            Self::Finish => f.write_str("ending MPI"),
        }
    }
}
