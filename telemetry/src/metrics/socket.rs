//! The socket: HTTP over a Unix socket, of which a request's end is all that matters.

use std::fs;
use std::io::{self, Read, Write};
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process;
use std::thread;
use std::time::{Duration, Instant};

use crate::at_exit::at_exit;

/// How long a client may take to send its request, and to read some of the answer: others wait meanwhile.
const PATIENCE: Duration = Duration::from_secs(1);

/// Maximum bytes of a request.
const MAX_REQUEST: usize = 8 << 10;

/// A socket that this process has created.
#[derive(Clone)]
pub(super) struct Socket {
    process: u32,
    path: PathBuf,
}

impl Socket {
    /// Creates the socket. A thread answers each request with what `text` returns.
    ///
    /// # Errors
    /// The system's. [`io::ErrorKind::AddrInUse`] if a file is there, unless it is a socket on which nobody listens.
    pub(super) fn open(
        path: &Path,
        text: impl Fn() -> String + Send + 'static,
    ) -> io::Result<Self> {
        let listener = listen(path)?;
        let server = thread::Builder::new().name("metrics".to_owned());
        server.spawn(move || {
            for stream in listener.incoming() {
                match stream {
                    // A client that is gone needs no answer.
                    Ok(stream) => drop(answer(stream, &text)),
                    // No descriptors, for example: later there may be some.
                    Err(_) => thread::sleep(PATIENCE),
                }
            }
        })?;
        let socket = Self {
            process: process::id(),
            path: path.to_owned(),
        };
        at_exit({
            let socket = socket.clone();
            move || socket.remove()
        });
        Ok(socket)
    }

    /// Removes the socket, unless this is a child that was forked.
    pub(super) fn remove(&self) {
        if self.process == process::id() {
            let _ = fs::remove_file(&self.path); // Somebody else has removed it.
        }
    }
}

fn listen(path: &Path) -> io::Result<UnixListener> {
    match UnixListener::bind(path) {
        Err(error) if error.kind() == io::ErrorKind::AddrInUse && is_left_behind(path) => {
            fs::remove_file(path)?;
            UnixListener::bind(path)
        }
        result => result,
    }
}

/// Whether this is a socket of a process that was killed.
fn is_left_behind(path: &Path) -> bool {
    let is_socket = fs::symlink_metadata(path).is_ok_and(|file| file.file_type().is_socket());
    let connected = UnixStream::connect(path);
    is_socket && connected.is_err_and(|error| error.kind() == io::ErrorKind::ConnectionRefused)
}

/// Reads a request and answers it.
fn answer(mut stream: UnixStream, text: impl Fn() -> String) -> io::Result<()> {
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let mut request: Vec<u8> = Vec::new();
    let mut part = [0; 1024];
    let begin = Instant::now();
    while !request.windows(4).any(|end| end == b"\r\n\r\n") {
        match stream.read(&mut part)? {
            0 => return Ok(()),
            len => request.extend(&part[..len]),
        }
        if begin.elapsed() > PATIENCE {
            return Err(io::ErrorKind::TimedOut.into());
        }
        if request.len() > MAX_REQUEST {
            return stream.write_all(b"HTTP/1.0 431 Request Header Fields Too Large\r\n\r\n");
        }
    }
    let text = text();
    let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    write!(
        stream,
        "HTTP/1.0 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {}\r\n\r\n{text}",
        text.len()
    )
}
