//! The errors of images for AMD GPUs, and of their launches.

use gomp_plugin::launch::Fault;
use revoff_host::targets::count::Count;
use targets::code_object;

/// An image or a launch is invalid.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("its description has no code object")]
    NoCodeObject,
    #[error("the code object is no valid ELF file")]
    Elf(#[from] object::Error),
    #[error(transparent)]
    CodeObject(#[from] code_object::ReadError),
    #[error(
        "kernel `{kernel}` takes {bytes} bytes of arguments, those of GCC 13 to 16 take {known}: \
         the program was built by a newer GCC"
    )]
    Arguments {
        kernel: String,
        bytes: u32,
        known: u32,
    },
    #[error("no `{symbol}`, expected {wanted} bytes")]
    NoTable { symbol: &'static str, wanted: u64 },
    #[error("`{symbol}` is in no section, expected {wanted} bytes")]
    NoSection { symbol: &'static str, wanted: u64 },
    #[error("`{symbol}` has {bytes} bytes, expected {wanted}, {count} entries of {words} words")]
    TableSize {
        symbol: &'static str,
        bytes: u64,
        wanted: u64,
        count: usize,
        words: usize,
    },
    #[error("no `{0}` on the device")]
    NotOnDevice(&'static str),
    #[error("no heap of {} (GCN_HEAP_SIZE)", Count(*bytes, "byte"))]
    Heap {
        bytes: u64,
        source: Box<revoff_host::RuntimeError>,
    },
    #[error(
        "{} with arenas of {arena} bytes each, and GCC's device code addresses {} at most: lower GCN_TEAM_ARENA_SIZE, or GCN_NUM_TEAMS",
        Count((*teams).into(), "team"),
        i32::MAX
    )]
    Arenas { teams: u32, arena: u64 },
    #[error(
        "{} of {} with stacks of {stack} bytes each, of {} at most, and GCC's device code addresses \
         {} at most: lower GCN_STACK_SIZE, or GCN_NUM_TEAMS",
        Count((*teams).into(), "team"),
        Count((*threads).into(), "thread"),
        i32::MAX,
        u32::MAX
    )]
    Stacks {
        teams: u32,
        threads: u32,
        stack: u64,
    },
    #[error(
        "no {} for the stacks (GCN_STACK_SIZE) and arenas (GCN_TEAM_ARENA_SIZE) of {} \
         (GCN_NUM_TEAMS) of {}",
        Count(*bytes, "byte"),
        Count((*teams).into(), "team"),
        Count((*threads).into(), "thread")
    )]
    LaunchMemory {
        bytes: u64,
        teams: u32,
        threads: u32,
        source: Box<revoff_host::RuntimeError>,
    },
    /// A constructor or destructor called `exit`.
    #[error("kernel `{kernel}`: {fault}")]
    Exited { kernel: String, fault: Box<Fault> },
    /// A constructor or destructor aborted.
    #[error(transparent)]
    Aborted(Box<Fault>),
}

impl From<Error> for gomp_plugin::Error {
    fn from(error: Error) -> Self {
        Self::Kind(Box::new(error))
    }
}
