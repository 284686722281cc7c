//! The host side of Rust's `std` on a device: what an operating system is to a program.
//!
//! A device's `std` calls the functions that [`std_calls`] declares. [`Services`] implements them for
//! one program.
//!
//! A path leads to a file of the host in three steps: `paths` checks its bytes and makes it absolute,
//! `permissions` finds the allowed folder that contains it, and `location` operates on the file,
//! without leaving that folder.
//!
//! | file | job |
//! |---|---|
//! | `builder` | the public configuration |
//! | `bind` | binds the declared functions |
//! | `process` | arguments, environment, time, randomness, exit |
//! | `launch`, `limits` | launching a program, and its resources |
//! | `heap` | the heap, and what the program reports about it |
//! | `streams` | the standard streams |
//! | `handles` | the table of open files, folders, sockets and children |
//! | `files`, `folders` | operations on open files and folders |
//! | `direct_files` | large reads and writes |
//! | `listing` | the entries of a folder |
//! | `paths` | operations on paths |
//! | `permissions` | the folders to which a program has access |
//! | `location` | operations on a file of the host, inside an allowed folder or anywhere |
//! | `network` | the hosts to which a program has access |
//! | `sockets`, `socket_options` | operations on sockets |
//! | `pipes` | pipes |
//! | `commands`, `child`, `forward` | commands, the child processes that run them, and what they write |
//! | `remove_tree` | removal of a folder with its contents |
//! | `metadata` | metadata and times |
//! | `symbols` | the functions at addresses of the program, for backtraces |
//! | `errno` | Linux error numbers |
//! | `error` | the errors of the configuration |

mod bind;
mod builder;
mod child;
mod commands;
mod direct_files;
mod errno;
pub(crate) mod error;
mod files;
mod folders;
mod forward;
mod handles;
mod heap;
mod launch;
mod limits;
mod listing;
mod location;
mod metadata;
mod network;
mod paths;
mod permissions;
mod pipes;
mod process;
mod remove_tree;
mod socket_options;
mod sockets;
mod streams;
mod symbols;
#[cfg(test)]
mod tests;

use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

pub use self::builder::ServicesBuilder;
pub use self::error::ServicesError;
use self::handles::Handles;
use self::heap::Heap;
pub use self::heap::{HeapRefusal, HeapUse};
pub use self::limits::ProgramLimits;
use self::network::Network;
use self::permissions::Permissions;
use self::process::Process;
use self::streams::Streams;
use self::symbols::Symbols;

/// The services that a program on a device gets from its host, through the functions of
/// [`std_calls`].
///
/// A program has its own standard streams, arguments, environment, working directory, open files
/// and permissions: see [`ServicesBuilder`]. By default it has access to no files and no network, and
/// starts no commands. Operations without permission fail with `EACCES`.
///
/// ```no_run
/// use revoff_host::{Functions, Image, ProgramLimits, Services};
///
/// # fn main() -> revoff_host::Result<()> {
/// let services = Services::builder()
///     .arguments(["count", "input.txt"])
///     .allow_read("data")
///     .directory("data")
///     .build()?;
/// let limits = ProgramLimits::default();
/// let runtime = limits.runtime("host").build()?;
/// let image = Image::open("count")?; // printed by `revoff build`
/// let launch = services.launch(&runtime, &image, Functions::new(), &limits)?;
/// let ended = launch.wait();
/// println!("{:?}, {ended:?}", services.exit_status());
/// # Ok(())
/// # }
/// ```
///
/// Device threads may call concurrently. A call that blocks, such as a read from a socket, delays no
/// other call, except of the same standard stream or the same list of a folder, while there are
/// threads to serve the others: [`Builder::threads`](crate::Builder::threads) sets their number. With
/// as many as the program has device threads, all of these may block at the same time.
pub struct Services {
    streams: Arc<Streams>,
    process: Process,
    heap: Heap,
    symbols: Symbols,
    /// The working directory: absolute.
    directory: Mutex<PathBuf>,
    permissions: Permissions,
    network: Network,
    allows_commands: bool,
    handles: Handles,
}

impl Services {
    /// A builder with default settings.
    pub fn builder() -> ServicesBuilder {
        ServicesBuilder::new()
    }

    /// The exit status of the program; `None` while it runs: 101 after a panic, 134 after an abort.
    #[must_use]
    pub fn exit_status(&self) -> Option<i32> {
        self.process.exit_status()
    }

    /// The heap of the program; `None` before its launch.
    #[must_use]
    pub fn heap(&self) -> Option<HeapUse> {
        self.heap.used()
    }
}

impl fmt::Debug for Services {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Services")
            .field("directory", &self.directory)
            .field("permissions", &self.permissions)
            .field("network", &self.network)
            .field("allows_commands", &self.allows_commands)
            .field("exit_status", &self.exit_status())
            .finish_non_exhaustive()
    }
}
