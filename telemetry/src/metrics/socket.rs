//! The socket: HTTP over a Unix socket.

use std::collections::VecDeque;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Read, Write};
use std::net::Shutdown;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};

use crate::at_exit::at_exit;
use crate::file_id::FileId;
use crate::fork::{close_in_children, is_child};

/// Maximum number of clients at a time: one more ends the connection of the oldest.
pub(super) const MAX_CLIENTS: usize = 16;

/// The pause after a connection could not be accepted, such as without descriptors: later there may be some.
const PAUSE: Duration = Duration::from_secs(1);

/// Maximum bytes of a request.
const MAX_REQUEST: usize = 8 << 10;

/// The answer to a longer one.
const TOO_LONG: &[u8] = b"HTTP/1.0 431 Request Header Fields Too Large\r\n\r\n";

/// The answer to a request for another path.
const NOT_FOUND: &str = "HTTP/1.0 404 Not Found\r\n\r\nthe metrics are at /metrics\n";

/// The answer to a method that does not read.
const NOT_ALLOWED: &str = "HTTP/1.0 405 Method Not Allowed\r\nAllow: GET, HEAD\r\n\r\n";

/// Creates the socket, or the first of `SOCKET.2` and so on that nobody serves. A thread answers requests for
/// `/metrics` with what `text` returns. The socket is removed when the process exits.
///
/// # Errors
/// The system's. [`ErrorKind::AddrInUse`] if a file is there that is no socket.
pub(super) fn open(path: &Path, text: impl Fn() -> String + Send + 'static) -> io::Result<()> {
    let (listener, path) = listen(path)?;
    listener.set_nonblocking(true)?;
    let created = FileId::of(&fs::symlink_metadata(&path)?);
    let descriptor = listener.as_raw_fd();
    let server = thread::Builder::new().name("metrics".to_owned());
    let serving = server.spawn(move || serve(&listener, text));
    if let Err(error) = serving {
        let _ = fs::remove_file(&path); // Nobody serves it.
        return Err(error);
    }
    close_in_children(descriptor);
    at_exit(move || {
        let found = fs::symlink_metadata(&path);
        if !is_child() && found.is_ok_and(|found| FileId::of(&found) == created) {
            let _ = fs::remove_file(&path); // It does no harm.
        }
    });
    Ok(())
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
            Err(error) if error.kind() == ErrorKind::InvalidInput => {
                let bytes = path.as_os_str().len();
                let reason =
                    format!("its name has {bytes} bytes, and those of sockets at most 107");
                return Err(io::Error::new(error.kind(), reason));
            }
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

/// Answers clients. A slow one delays no other.
fn serve(listener: &UnixListener, text: impl Fn() -> String) {
    let mut clients = VecDeque::new();
    loop {
        let mut sockets = vec![PollFd::new(listener, PollFlags::IN)];
        sockets.extend(clients.iter().map(Client::awaited));
        // After an error, such as an interruption, all are tried.
        let _ = poll(&mut sockets, None);
        match listener.accept() {
            Ok((stream, _)) => clients.extend(Client::new(stream)),
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(_) => thread::sleep(PAUSE),
        }
        clients.retain_mut(|client| match client.progress(&text) {
            Ok(()) => false,
            // One that is gone needs no answer.
            Err(error) => is_temporary(&error),
        });
        // Last, because the request of the oldest may have come, too.
        if clients.len() > MAX_CLIENTS {
            clients.pop_front();
        }
    }
}

/// Whether what failed is to be tried again.
fn is_temporary(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
}

/// A client that has not got all of its answer.
struct Client {
    stream: UnixStream,
    request: Vec<u8>,
    /// The rest of the answer; empty until the request has come.
    answer: Vec<u8>,
}

impl Client {
    /// `None` if it cannot be served.
    fn new(stream: UnixStream) -> Option<Self> {
        stream.set_nonblocking(true).ok()?;
        Some(Self {
            stream,
            request: Vec::new(),
            answer: Vec::new(),
        })
    }

    /// The events that its progress waits for.
    fn awaited(&self) -> PollFd<'_> {
        let flags = match self.answer.is_empty() {
            true => PollFlags::IN,
            false => PollFlags::OUT,
        };
        PollFd::new(&self.stream, flags)
    }

    /// Reads its request and answers it, as far as that needs no waiting.
    fn progress(&mut self, text: impl Fn() -> String) -> io::Result<()> {
        let mut part = [0; 1024];
        while self.answer.is_empty() {
            match self.stream.read(&mut part)? {
                0 => return Ok(()),
                len => self.request.extend(&part[..len]),
            }
            if self.request.windows(4).any(|end| end == b"\r\n\r\n") {
                self.answer = answer(&self.request, &text).into();
            } else if self.request.len() > MAX_REQUEST {
                self.answer = TOO_LONG.into();
            }
        }
        while !self.answer.is_empty() {
            let len = self.stream.write(&self.answer)?;
            self.answer.drain(..len);
        }
        Ok(())
    }
}

impl Drop for Client {
    /// Ends the connection, of which a child that was forked holds a copy.
    fn drop(&mut self) {
        let _ = self.stream.shutdown(Shutdown::Both); // It may have ended.
    }
}

/// The answer to a request, such as `GET /metrics HTTP/1.1`.
fn answer(request: &[u8], text: impl Fn() -> String) -> String {
    let request = String::from_utf8_lossy(request);
    let mut words = request.split_whitespace();
    let (method, target) = (words.next(), words.next().unwrap_or_default());
    if target.split('?').next() != Some("/metrics") {
        return NOT_FOUND.to_owned();
    }
    let text = match method {
        Some("GET" | "HEAD") => text(),
        _ => return NOT_ALLOWED.to_owned(),
    };
    let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    let len = text.len();
    let body = if method == Some("HEAD") { "" } else { &text };
    format!("HTTP/1.0 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {len}\r\n\r\n{body}")
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::sync::Barrier;
    use std::sync::mpsc::channel;

    use super::*;

    #[test]
    fn a_dropped_client_is_disconnected_even_if_a_child_holds_its_descriptor() {
        let (mut peer, stream) = UnixStream::pair().unwrap();
        let _in_child = stream.try_clone().unwrap();
        drop(Client::new(stream));
        peer.set_nonblocking(true).unwrap();
        assert_eq!(peer.read(&mut [0]).expect("the connection ended"), 0);
    }

    #[test]
    fn only_metrics_are_read() {
        let ask = |line: &str| {
            let request = format!("{line} HTTP/1.1\r\nHost: x\r\n\r\n");
            answer(request.as_bytes(), || "text".to_owned())
        };
        for (line, status, end) in [
            ("GET /metrics", "200 OK", "Content-Length: 4\r\n\r\ntext"),
            ("GET /metrics?a=/b", "200 OK", "\r\n\r\ntext"),
            ("HEAD /metrics", "200 OK", "Content-Length: 4\r\n\r\n"),
            (
                "POST /metrics",
                "405 Method Not Allowed",
                "Allow: GET, HEAD\r\n\r\n",
            ),
            ("GET /", "404 Not Found", "/metrics\n"),
            ("GET /metrics/", "404 Not Found", "/metrics\n"),
            ("nonsense", "404 Not Found", "/metrics\n"),
        ] {
            let answer = ask(line);
            assert!(
                answer.starts_with(&format!("HTTP/1.0 {status}\r\n")),
                "{line}: {answer}"
            );
            assert!(answer.ends_with(end), "{line}: {answer}");
        }
    }

    #[test]
    fn a_request_that_came_before_a_new_client_is_answered() {
        const REQUEST: &[u8] = b"GET /metrics HTTP/1.1\r\n\r\n";
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("socket");
        let (ask, asked) = channel();
        let (send, texts) = channel();
        let text = move || {
            ask.send(()).unwrap();
            texts.recv().unwrap()
        };
        open(&path, text).unwrap();
        let connect = || UnixStream::connect(&path).unwrap();
        let mut oldest = connect();
        let _silent: Vec<_> = (2..MAX_CLIENTS).map(|_| connect()).collect();
        let mut slow = connect();
        slow.write_all(REQUEST).unwrap();
        asked.recv().unwrap();
        // All are accepted, and the server waits for a text.
        oldest.write_all(REQUEST).unwrap();
        let _new = connect();
        // So long that the slow client, which reads nothing, stays.
        send.send("x".repeat(8 << 20)).unwrap();
        send.send("short".to_owned()).unwrap();
        let mut answer = String::new();
        oldest.read_to_string(&mut answer).unwrap();
        assert!(answer.ends_with("short"), "{answer}");
    }

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
