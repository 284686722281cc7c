//! The socket: HTTP over a Unix socket. Every request gets the same answer.

use std::fs::{self, File, Metadata};
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
    let descriptor = listener.as_raw_fd();
    let server = thread::Builder::new().name("metrics".to_owned());
    let serving = server.spawn(move || {
        for stream in listener.incoming() {
            match stream {
                // A client that is gone needs no answer.
                Ok(stream) => drop(answer(stream, &text)),
                // No descriptors, for example: later there may be some.
                Err(_) => thread::sleep(TIMEOUT),
            }
        }
    });
    if let Err(error) = serving {
        let _ = fs::remove_file(&path); // Nobody serves it.
        return Err(error);
    }
    close_in_children(descriptor);
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
    // Otherwise another process could take a stale socket for the one that this one puts in its place. Where folders
    // cannot be locked, it may.
    let folder = name
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    let folder = File::open(folder.unwrap_or(Path::new(".")));
    let _locked = folder.and_then(|folder| folder.lock().map(|()| folder));
    let mut path = name.to_owned();
    let mut number = 1;
    loop {
        match UnixListener::bind(&path) {
            Err(error) if error.kind() != ErrorKind::AddrInUse => return Err(error),
            Ok(listener) => return Ok((listener, path)),
            Err(error) => match State::of(&path)? {
                State::Other => {
                    let reason = "the name is in use by a file that is no socket";
                    return Err(io::Error::new(error.kind(), reason));
                }
                State::Stale => fs::remove_file(&path).or_else(unless_absent)?,
                State::Absent => {}
                State::Served => {
                    number += 1;
                    path = name.to_owned();
                    path.as_mut_os_string().push(format!(".{number}"));
                }
            },
        }
    }
}

/// Another process that exits removes its socket.
fn unless_absent(error: io::Error) -> io::Result<()> {
    match error.kind() {
        ErrorKind::NotFound => Ok(()),
        _ => Err(error),
    }
}

/// The state of a file that is in the way of a socket.
enum State {
    /// A socket that a process serves.
    Served,
    /// The socket of a process that was killed.
    Stale,
    /// No socket.
    Other,
    /// It is no more.
    Absent,
}

impl State {
    fn of(path: &Path) -> io::Result<Self> {
        match fs::symlink_metadata(path) {
            Err(error) => return unless_absent(error).map(|()| Self::Absent),
            Ok(file) if !file.file_type().is_socket() => return Ok(Self::Other),
            Ok(_) => {}
        }
        Ok(match UnixStream::connect(path) {
            Err(error) if error.kind() == ErrorKind::ConnectionRefused => Self::Stale,
            Err(error) if error.kind() == ErrorKind::NotFound => Self::Absent,
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

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::sync::Barrier;

    use super::*;

    #[test]
    fn those_who_replace_a_stale_socket_at_a_time_get_one_each() {
        for _ in 0..20 {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("socket");
            drop(UnixListener::bind(&path).unwrap());
            let start = Barrier::new(8);
            let begin = || {
                start.wait();
                listen(&path).unwrap()
            };
            let all: Vec<_> = thread::scope(|scope| {
                let threads: Vec<_> = (0..8).map(|_| scope.spawn(begin)).collect();
                threads
                    .into_iter()
                    .map(|thread| thread.join().unwrap())
                    .collect()
            });
            let paths: HashSet<_> = all.iter().map(|(_, path)| path).collect();
            assert_eq!(paths.len(), all.len());
            for (listener, path) in &all {
                let _client = UnixStream::connect(path).expect("it is served");
                listener.accept().expect("by its own listener");
            }
        }
    }
}
