//! The description of a sandbox, and the way into it.

use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::process::{Resource, Rlimit, setrlimit};
use rustix::thread::{CapabilitySet, CapabilitySets, set_capabilities, set_no_new_privs};

use crate::error::{Error, in_step};
use crate::filter::{self, Policy};
use crate::grant::{self, Access, Entry, Grant};
use crate::{landlock, namespaces};

/// The files and the network that a process gets, and nothing else.
///
/// A new sandbox grants only what any code needs in order to run: shared libraries of the system (such
/// as `/usr/lib`), `/dev/null` and its like, some of the process's own files in `/proc`, the properties of
/// processors, and the files and sockets that the process has open, such as its standard streams.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sandbox {
    pub(crate) grants: Vec<Grant>,
    /// Files that errors name.
    pub(crate) images: Vec<PathBuf>,
    pub(crate) network: bool,
    pub(crate) commands: bool,
    pub(crate) gpus: bool,
    /// Whether all mechanisms are required.
    pub(crate) complete: bool,
    /// `None` is the default.
    pub(crate) max_result: Option<usize>,
    pub(crate) time_limit: Option<Duration>,
}

impl Sandbox {
    /// The result of a job has at most 256 MiB, unless [`max_result`](Self::max_result) is set.
    pub const MAX_RESULT: usize = 256 << 20;

    /// A sandbox without files and network.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Allows to read a file, or the files of a folder. With namespaces, devices in it cannot be opened.
    /// Symbolic links on the way there are followed now: do not name a path that an earlier job could
    /// change.
    #[must_use]
    pub fn read(mut self, path: impl Into<PathBuf>) -> Self {
        self.grant(path.into(), Access::Read);
        self
    }

    /// Allows to read and change a file, or the files of a folder.
    #[must_use]
    pub fn write(mut self, path: impl Into<PathBuf>) -> Self {
        self.grant(path.into(), Access::Write);
        self
    }

    /// Allows to read an image, or another file that the process loads as code. Errors of the process
    /// name it.
    #[must_use]
    pub fn image(mut self, path: impl Into<PathBuf>) -> Self {
        let path = path.into();
        self.images.push(path.clone());
        self.grant(path, Access::Read);
        self
    }

    /// Allows to use the network: IPv4 and IPv6, with all hosts. The process gets the files by which
    /// names of hosts are looked up.
    #[must_use]
    pub fn network(mut self) -> Self {
        self.network = true;
        self
    }

    /// Allows to start commands, which stay in the sandbox. The process gets the system's commands, in
    /// `/usr` and `/bin`. Commands may outlive the process. Before Linux 6.12, neither they nor the process
    /// can send signals, not even to themselves.
    #[must_use]
    pub fn commands(mut self) -> Self {
        self.commands = true;
        self
    }

    /// Allows to use GPUs: their device files, with all of `ioctl`, and the files of the system that
    /// drivers read.
    #[must_use]
    pub fn gpus(mut self) -> Self {
        self.gpus = true;
        self
    }

    /// Sets the maximum size of a job's result, in bytes.
    #[must_use]
    pub fn max_result(mut self, bytes: usize) -> Self {
        self.max_result = Some(bytes);
        self
    }

    /// Sets the time after which the process is killed, counted from its start. By default it may take for
    /// ever. A process that waits inside of the kernel ends when that wait is over.
    #[must_use]
    pub fn time_limit(mut self, limit: Duration) -> Self {
        self.time_limit = Some(limit);
        self
    }

    /// Requires namespaces and landlock, which otherwise may replace each other: see
    /// [`enter`](Self::enter).
    #[must_use]
    pub fn complete(mut self) -> Self {
        self.complete = true;
        self
    }

    fn grant(&mut self, path: PathBuf, access: Access) {
        self.grants.push(Grant { path, access });
    }

    /// Checks that what it grants exists.
    ///
    /// # Errors
    /// [`Error::Granted`], which names the first path that does not.
    pub fn check(&self) -> Result<(), Error> {
        self.entries().map(drop)
    }

    fn entries(&self) -> Result<Vec<Entry>, Error> {
        let system = grant::system_grants(self.network, self.commands, self.gpus);
        grant::resolve(self.grants.iter().chain(&system))
            .map_err(|(path, reason)| Error::Granted { path, reason })
    }

    /// Restricts this process for the rest of its life. Files and sockets that it has open stay usable.
    ///
    /// Programs that are to go on with all of their rights run a [`Job`](crate::Job) instead.
    ///
    /// | mechanism | what it enforces |
    /// |---|---|
    /// | namespaces | other files do not exist, reading is all that `read` allows; no network, and no memory or queues of System V; capabilities over the system are gone |
    /// | landlock | the same files; the files behind standard streams cannot be opened anew; processes outside can be neither traced nor, since Linux 6.12, sent signals |
    /// | seccomp | no sockets but those of a granted network; no calls that act on other processes, mounts, keys, terminals or the machine, and none that are newer than Linux 6.10 |
    /// | limits | no core dumps, no new privileges |
    ///
    /// Seccomp is required, and one of namespaces (since Linux 5.12) and landlock (since 6.2; beside
    /// namespaces 5.13). The report names the one that is missing.
    ///
    /// - Without a granted file to write, without namespaces, with GPUs, and with a granted folder that contains
    ///   `/proc` or is inside of it, changes of permissions, owners, times and attributes of files are refused. Otherwise those of the files behind the standard streams
    ///   can be changed, too. No file gets set-user-ID or set-group-ID bits.
    /// - Without namespaces, the process can find out which files exist, their sizes, times and owners, the
    ///   targets of symbolic links, and the sizes of file systems. It cannot read extended attributes.
    /// - With landlock before Linux 6.2, no file can be truncated by its name.
    /// - Without landlock, it can open the files behind the standard streams anew with other rights, and
    ///   write to named pipes of a folder that it may read.
    ///
    /// # Errors
    /// The process has several threads, or a folder open; a granted file does not exist; the kernel lacks a
    /// mechanism. The process should then end: part of the restrictions may apply.
    pub fn enter(&self) -> Result<Report, Error> {
        let threads =
            fs::read_dir("/proc/self/task").map_err(in_step("count threads (/proc/self/task)"))?;
        let count = threads.count();
        if count != 1 {
            return Err(Error::Threads { count });
        }
        refuse_folders()?;
        let entries = self.entries()?;
        let own = grant::resolve(&self.grants);
        let own = own.map_err(|(path, reason)| Error::Granted { path, reason })?;
        let processes = grant::show_processes(&own).map_err(in_step("list mounts"))?;
        // With 0, a core dump would still go to a program that handles them; 1 is the kernel's mark for
        // none at all.
        let no_core = Rlimit {
            current: Some(1),
            maximum: Some(1),
        };
        setrlimit(Resource::Core, no_core).map_err(in_step("forbid core dumps"))?;
        let namespaces = namespaces::enter(&entries, self.network)?;
        let none = CapabilitySets {
            effective: CapabilitySet::empty(),
            permitted: CapabilitySet::empty(),
            inheritable: CapabilitySet::empty(),
        };
        set_capabilities(None, none).map_err(in_step("drop capabilities"))?;
        set_no_new_privs(true).map_err(in_step("forbid new privileges"))?;
        let landlock = landlock::restrict(&entries, self.commands, namespaces.is_err())?;
        let policy = Policy {
            network: self.network,
            commands: self.commands,
            namespaces: namespaces.is_ok(),
            gpus: self.gpus,
            writes: self
                .grants
                .iter()
                .any(|grant| grant.access == Access::Write),
            processes,
            signals: landlock.as_ref().is_ok_and(|enforced| enforced.signals),
            truncation: landlock
                .as_ref()
                .map_or(true, |enforced| enforced.truncation),
        };
        let missing = match (namespaces, landlock) {
            (Ok(()), Ok(_)) => None,
            (Err(reason), Ok(_)) => Some(Missing {
                mechanism: Mechanism::Namespaces,
                reason: reason.to_string(),
            }),
            (Ok(()), Err(reason)) => Some(Missing {
                mechanism: Mechanism::Landlock,
                reason: reason.to_string(),
            }),
            (Err(namespaces), Err(landlock)) => {
                return Err(Error::Unsupported {
                    missing: format!(
                        "it has neither namespaces ({namespaces}) nor landlock ({landlock})"
                    ),
                });
            }
        };
        filter::install(policy).map_err(|reason| Error::Unsupported {
            missing: format!("it has no filter of system calls ({reason})"),
        })?;
        match missing {
            Some(missing) if self.complete => Err(Error::Unsupported {
                missing: missing.to_string(),
            }),
            missing => Ok(Report { missing }),
        }
    }

    /// The maximum size of a result.
    pub(crate) fn limit(&self) -> usize {
        self.max_result.unwrap_or(Self::MAX_RESULT)
    }

    /// The name of the process that runs a job, in errors.
    pub(crate) fn process(&self, job: &str) -> String {
        if self.images.is_empty() {
            return format!("the isolated process of job `{job}`");
        }
        let names = self.images.iter().map(|path| path.display().to_string());
        let names: Vec<_> = names.collect();
        format!("the isolated process of {}", names.join(", "))
    }
}

/// Fails if a folder is open, such as one that was given as the standard input: names relative to it would not begin
/// at the new root folder.
fn refuse_folders() -> Result<(), Error> {
    let listed = fs::read_dir("/proc/self/fd").and_then(|entries| {
        let names = entries.map(|entry| entry.map(|entry| entry.file_name()));
        names.collect::<io::Result<Vec<_>>>()
    });
    for name in listed.map_err(in_step("list open files (/proc/self/fd)"))? {
        let link = Path::new("/proc/self/fd").join(&name);
        // The listing itself is closed by now, and not found.
        if link.is_dir() {
            return Err(Error::OpenFolder {
                descriptor: name.display().to_string(),
                path: fs::read_link(link).unwrap_or_default(),
            });
        }
    }
    Ok(())
}

/// The mechanisms that enforce a sandbox.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// The mechanism that the system lacks, if any. [`Sandbox::enter`] lists what that changes.
    pub missing: Option<Missing>,
}

/// A mechanism that the system lacks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missing {
    /// Which.
    pub mechanism: Mechanism,
    /// The system's answer.
    pub reason: String,
}

/// A mechanism of the kernel that restricts access to files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mechanism {
    /// User, mount, network and IPC namespaces.
    Namespaces,
    /// The security module.
    Landlock,
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let reason = &self.reason;
        match self.mechanism {
            Mechanism::Namespaces => write!(
                f,
                "no namespaces ({reason}): landlock alone restricts files, whose permissions, owners, times \
                 and attributes cannot be changed; the existence of other files and the targets of links are visible"
            ),
            Mechanism::Landlock => write!(
                f,
                "no landlock ({reason}): namespaces alone restrict files; those behind the standard streams can \
                 be opened anew, with other rights"
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_named_by_its_images() {
        let sandbox = Sandbox::new().image("a.so").image("b.so").read("c");
        assert_eq!(sandbox.process("sum"), "the isolated process of a.so, b.so");
        let job = Sandbox::new().process("sum");
        assert_eq!(job, "the isolated process of job `sum`");
    }

    #[test]
    fn a_grant_of_nothing_is_an_error_that_names_it() {
        let error = Sandbox::new().read("/no/such").check();
        let message = error.unwrap_err().to_string();
        assert!(message.contains("/no/such"), "{message}");
        assert!(message.contains("that exists"), "{message}");
    }
}
