//! Pipes and child processes.

use revoff_fn::zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// The ends of a pipe: handles of files.
#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[zerocopy(crate = "revoff_fn::zerocopy")]
#[repr(C)]
pub struct PipeEnds {
    /// The end to read from.
    pub reader: u32,
    /// The end to write to.
    pub writer: u32,
}

/// The standard streams that a child gets. Each is the handle of a file, [`NULL`](Self::NULL),
/// [`PIPE`](Self::PIPE), or the number of a standard stream of the program: 0 for the input, 1 or 2
/// for an output.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[zerocopy(crate = "revoff_fn::zerocopy")]
#[repr(C)]
pub struct ChildStreams {
    /// The standard input.
    pub stdin: u32,
    /// The standard output.
    pub stdout: u32,
    /// The standard error.
    pub stderr: u32,
}

impl ChildStreams {
    /// Nothing to read; what is written is dropped.
    pub const NULL: u32 = u32::MAX;
    /// A new pipe to or from the program.
    pub const PIPE: u32 = u32::MAX - 1;
}

/// A child that has started.
#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[zerocopy(crate = "revoff_fn::zerocopy")]
#[repr(C)]
pub struct StartedChild {
    /// Its handle.
    pub child: u32,
    /// The identifier of its process.
    pub id: u32,
    /// The program's end of the pipe to its standard input, or 0.
    pub stdin: u32,
    /// The program's end of the pipe from its standard output, or 0.
    pub stdout: u32,
    /// The program's end of the pipe from its standard error, or 0.
    pub stderr: u32,
}
