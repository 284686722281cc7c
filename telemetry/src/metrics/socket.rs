//! The socket: HTTP over a Unix socket. Every request gets the same answer.

use std::fs::{self, Metadata};
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use crate::at_exit::at_exit;
use crate::fork::{close_in_children, is_child};

/// How long a client may take to send its request, and to read a part of the answer: others wait meanwhile.
const TIMEOUT: Duration = Duration::from_secs(1);

/// Maximum bytes of a request.
const MAX_REQUEST: usize = 8 << 10;

/// Creates the socket, or the first of `SOCKET.2` and so on that nobody serves. A thread answers each request with what
/// `text` returns. The socket is removed when the process exits.
///
/// # Errors
/// The system's. [`ErrorKind::AddrInUse`] if a file is there that is no socket.
pub(super) fn open(path: &Path, text: impl Fn() -> String + Send + 'static) -> io::Result<()> {
    let (listener, path) = listen(path)?;
    let created = Identity::of(&fs::symlink_metadata(&path)?);
    close_in_children(listener.as_raw_fd());
    let server = thread::Builder::new().name("metrics".to_owned());
    server.spawn(move || {
        for stream in listener.incoming() {
            match stream {
                // A client that is gone needs no answer.
                Ok(stream) => drop(answer(stream, &text)),
                // No descriptors, for example: later there may be some.
                Err(_) => thread::sleep(TIMEOUT),
            }
        }
    })?;
    at_exit(move || {
        let found = fs::symlink_metadata(&path);
        if !is_child() && found.is_ok_and(|found| Identity::of(&found) == created) {
            let _ = fs::remove_file(&path); // It does no harm.
        }
    });
    Ok(())
}

/// A file, whatever its name.
#[derive(PartialEq)]
struct Identity {
    device: u64,
    inode: u64,
}

impl Identity {
    fn of(file: &Metadata) -> Self {
        Self {
            device: file.dev(),
            inode: file.ino(),
        }
    }
}

fn listen(name: &Path) -> io::Result<(UnixListener, PathBuf)> {
    let mut path = name.to_owned();
    for number in 2.. {
        match UnixListener::bind(&path) {
            Err(error) if error.kind() != ErrorKind::AddrInUse => return Err(error),
            Ok(listener) => return Ok((listener, path)),
            Err(error) => match State::of(&path)? {
                State::Other => return Err(error),
                State::Stale => {
                    fs::remove_file(&path)?;
                    return Ok((UnixListener::bind(&path)?, path));
                }
                State::Served => {
                    path = name.to_owned();
                    path.as_mut_os_string().push(format!(".{number}"));
                }
            },
        }
    }
    unreachable!("no machine has that many processes")
}

/// The state of a file that is in the way of a socket.
enum State {
    /// A socket that a process serves.
    Served,
    /// The socket of a process that was killed.
    Stale,
    /// No socket.
    Other,
}

impl State {
    fn of(path: &Path) -> io::Result<Self> {
        if !fs::symlink_metadata(path)?.file_type().is_socket() {
            return Ok(Self::Other);
        }
        Ok(match UnixStream::connect(path) {
            Err(error) if error.kind() == ErrorKind::ConnectionRefused => Self::Stale,
            _ => Self::Served,
        })
    }
}

/// Reads a request and answers it.
fn answer(mut stream: UnixStream, text: impl Fn() -> String) -> io::Result<()> {
    stream.set_read_timeout(Some(TIMEOUT))?;
    stream.set_write_timeout(Some(TIMEOUT))?;
    let mut request: Vec<u8> = Vec::new();
    let mut part = [0; 1024];
    let start = Instant::now();
    while !request.windows(4).any(|end| end == b"\r\n\r\n") {
        match stream.read(&mut part)? {
            0 => return Ok(()),
            len => request.extend(&part[..len]),
        }
        if start.elapsed() > TIMEOUT {
            return Err(ErrorKind::TimedOut.into());
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
