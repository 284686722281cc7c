//! The kernel of `device-std` that runs a program.

/// Its name. It changes with the parameters, so that a host finds no kernel in an image with others.
///
/// | parameter | |
/// |---|---|
/// | `u64` | the heap's first piece |
/// | `u64` | its size |
/// | `u64` | [`THREAD_BYTES`] zero bytes for each team |
/// | `u64` | the stacks of all teams, which only GPUs use |
/// | `u64` | the size of one |
/// | `u32` | 1 if the program is to report what it allocated, otherwise 0 |
///
/// It is launched once, with teams of one thread, and the memory lives as long as the launch.
pub const NAME: &str = "revoff_main_1";

/// The number of the parameter with the stacks, from 0. The builder of images inserts code that reads it.
pub const STACKS_PARAMETER: usize = 3;

/// The number of the parameter with the size of a stack.
pub const STACK_BYTES_PARAMETER: usize = 4;

/// The alignment of stacks, and so of their size.
pub const STACK_ALIGN: u64 = 16;

/// Bytes at the end of a stack for the report of an overflow.
pub const STACK_RESERVE: u64 = 16 << 10;

/// The size of the state of a team's thread.
pub const THREAD_BYTES: u64 = 16;
