//! [`ServicesBuilder`].

use std::ffi::OsString;
use std::fmt;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use super::handles::Handles;
use super::heap::Heap;
use super::location::Access;
use super::network::Network;
use super::permissions::Permissions;
use super::process::{ExitHandler, Process};
use super::streams::{Input, Output, Streams};
use super::symbols::Symbols;
use super::{Services, ServicesError};

/// The maximum number of open files of a program, unless the builder sets another.
const OPEN_FILES: usize = 1024;

/// Configures [`Services`].
///
/// By default a program has the standard streams of the process, the clocks and random numbers, but
/// no arguments, an empty environment, access to no files and no network, and starts no commands.
#[must_use]
pub struct ServicesBuilder {
    arguments: Vec<OsString>,
    environment: Vec<(OsString, OsString)>,
    program: Option<PathBuf>,
    directory: Option<PathBuf>,
    stdin: Option<Input>,
    stdout: Option<Output>,
    stderr: Option<Output>,
    on_exit: Option<ExitHandler>,
    all_files: bool,
    folders: Vec<(PathBuf, Access)>,
    all_network: bool,
    hosts: Vec<String>,
    commands: bool,
    open_files: usize,
}

impl ServicesBuilder {
    pub(super) fn new() -> Self {
        Self {
            arguments: Vec::new(),
            environment: Vec::new(),
            program: None,
            directory: None,
            stdin: None,
            stdout: None,
            stderr: None,
            on_exit: None,
            all_files: false,
            folders: Vec::new(),
            all_network: false,
            hosts: Vec::new(),
            commands: false,
            open_files: OPEN_FILES,
        }
    }

    /// Sets the arguments of the program, its own name first.
    pub fn arguments(mut self, arguments: impl IntoIterator<Item: Into<OsString>>) -> Self {
        self.arguments = arguments.into_iter().map(Into::into).collect();
        self
    }

    /// Sets the environment of the program. [`std::env::vars_os`] returns that of the process.
    pub fn environment<N, V>(mut self, variables: impl IntoIterator<Item = (N, V)>) -> Self
    where
        N: Into<OsString>,
        V: Into<OsString>,
    {
        let variables = variables.into_iter();
        self.environment = variables.map(|(n, v)| (n.into(), v.into())).collect();
        self
    }

    /// Sets the path that `std::env::current_exe` returns, as an absolute one without
    /// symbolic links. Without it, that is an error.
    pub fn program(mut self, path: impl Into<PathBuf>) -> Self {
        self.program = Some(path.into());
        self
    }

    /// Sets the working directory. The default is that of the process. The program can use it only
    /// if it has access to it.
    pub fn directory(mut self, path: impl Into<PathBuf>) -> Self {
        self.directory = Some(path.into());
        self
    }

    /// Sets the standard input, which is not a terminal then. Children that inherit it can read
    /// nothing.
    pub fn stdin(mut self, stdin: impl Read + Send + 'static) -> Self {
        self.stdin = Some(Box::new(stdin));
        self
    }

    /// Sets the standard output, which is not a terminal then. Each write of the program is followed
    /// by a flush.
    pub fn stdout(mut self, stdout: impl Write + Send + 'static) -> Self {
        self.stdout = Some(Box::new(stdout));
        self
    }

    /// Sets the standard error, likewise.
    pub fn stderr(mut self, stderr: impl Write + Send + 'static) -> Self {
        self.stderr = Some(Box::new(stderr));
        self
    }

    /// Sets the function that gets the program's exit status, and these services, when the program exits.
    /// It is called at most once, by the thread that serves the call; others that end the program
    /// meanwhile wait for it.
    pub fn on_exit(mut self, handler: impl Fn(i32, &Services) + Send + Sync + 'static) -> Self {
        self.on_exit = Some(Box::new(handler));
        self
    }

    /// Allows access to all files, with the rights of the process.
    pub fn allow_all_files(mut self) -> Self {
        self.all_files = true;
        self
    }

    /// Allows to read the files in a folder.
    ///
    /// The program finds them by absolute paths that start with the folder's, as given or without
    /// symbolic links, and by paths relative to a working directory in the folder. Paths and symbolic
    /// links that leave the folder fail with `EACCES`, even if they lead to another allowed folder.
    pub fn allow_read(mut self, folder: impl Into<PathBuf>) -> Self {
        self.folders.push((folder.into(), Access::Read));
        self
    }

    /// Allows to read and change the files in a folder, likewise. The program can create only
    /// relative symbolic links in it.
    pub fn allow_write(mut self, folder: impl Into<PathBuf>) -> Self {
        self.folders.push((folder.into(), Access::Write));
        self
    }

    /// Allows access to the whole network, and to listen on all ports.
    pub fn allow_all_network(mut self) -> Self {
        self.all_network = true;
        self
    }

    /// Allows to connect and send to a host, and to listen and receive at its addresses: a name
    /// (`example.com`) or an IP address (`127.0.0.1`, `::1`). With a port (`localhost:80`,
    /// `[::1]:80`), only that one is allowed.
    ///
    /// A name permits the addresses to which it resolves, and the program can look up only names that are
    /// allowed. The name's owner chooses the addresses, which may belong to this machine or network. To
    /// listen at all addresses of this machine, or to receive UDP at any port, allow `0.0.0.0:80` or
    /// `0.0.0.0:0`: the address and port that the program asks for.
    pub fn allow_net(mut self, host: impl Into<String>) -> Self {
        self.hosts.push(host.into());
        self
    }

    /// Allows to start commands. Their processes have the rights of this one: no restriction of the
    /// program applies to them.
    pub fn allow_commands(mut self) -> Self {
        self.commands = true;
        self
    }

    /// Sets the maximum number of files, folders, sockets and children that the program may have open. The
    /// default is 1024. The limit of the process applies as well.
    pub fn open_files(mut self, limit: usize) -> Self {
        self.open_files = limit;
        self
    }

    /// Builds the services.
    ///
    /// # Errors
    /// A folder to which access is allowed cannot be opened, or a value is invalid.
    pub fn build(self) -> Result<Arc<Services>, ServicesError> {
        let permissions = if self.all_files {
            Permissions::All
        } else {
            Permissions::folders(self.folders)?
        };
        let network = if self.all_network {
            Network::all()
        } else {
            Network::hosts(&self.hosts)?
        };
        let directory = absolute(self.directory.as_deref().unwrap_or(Path::new(".")));
        Ok(Arc::new(Services {
            streams: Arc::new(Streams::new(self.stdin, self.stdout, self.stderr)),
            process: Process::new(
                &self.arguments,
                &self.environment,
                self.program.and_then(|path| absolute(&path).ok()),
                self.on_exit,
            )?,
            heap: Heap::default(),
            symbols: Symbols::default(),
            directory: Mutex::new(directory.unwrap_or_else(|_| PathBuf::from("/"))),
            permissions,
            network,
            allows_commands: self.commands,
            handles: Handles::new(self.open_files),
        }))
    }
}

/// An absolute path, without symbolic links if it exists.
fn absolute(path: &Path) -> io::Result<PathBuf> {
    path.canonicalize().or_else(|_| std::path::absolute(path))
}

impl fmt::Debug for ServicesBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServicesBuilder")
            .field("arguments", &self.arguments)
            .field("program", &self.program)
            .field("directory", &self.directory)
            .field("all_files", &self.all_files)
            .field("folders", &self.folders)
            .field("all_network", &self.all_network)
            .field("hosts", &self.hosts)
            .field("commands", &self.commands)
            .field("open_files", &self.open_files)
            .finish_non_exhaustive()
    }
}
