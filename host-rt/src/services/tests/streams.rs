//! The standard streams.

use std::io::{ErrorKind, Read, Write};
use std::process::{Command, Stdio};
use std::sync::Mutex;

use super::*;
use crate::base::lock::lock;

/// Records what is written, in small pieces, and what is flushed.
#[derive(Clone, Default)]
struct Recorder(Arc<Mutex<(Vec<u8>, usize)>>);

impl Write for Recorder {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = bytes.len().min(3);
        lock(&self.0).0.extend_from_slice(&bytes[..count]);
        std::thread::yield_now();
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        let mut recorded = lock(&self.0);
        recorded.1 = recorded.0.len();
        Ok(())
    }
}

#[test]
fn writes_are_complete_and_flushed() {
    let (out, err) = (Recorder::default(), Recorder::default());
    let services = build(Services::builder().stdout(out.clone()).stderr(err.clone()));
    assert_eq!(services.write(1, b"to the output").unwrap(), 13);
    assert_eq!(services.write(2, b"to the error").unwrap(), 12);
    assert_eq!(*lock(&out.0), (b"to the output".to_vec(), 13));
    assert_eq!(*lock(&err.0), (b"to the error".to_vec(), 12));
    assert_eq!(services.write(1, b"").unwrap(), 0);
}

#[test]
fn concurrent_writes_do_not_mix() {
    let out = Recorder::default();
    let services = build(Services::builder().stdout(out.clone()));
    std::thread::scope(|scope| {
        for letter in b'a'..b'e' {
            let services = &services;
            scope.spawn(move || {
                let line = [[letter; 20].as_slice(), b"\n"].concat();
                for _ in 0..50 {
                    services.write(1, &line).unwrap();
                }
            });
        }
    });
    let written = lock(&out.0).0.clone();
    let lines: Vec<_> = written.split_inclusive(|&byte| byte == b'\n').collect();
    assert_eq!(lines.len(), 200);
    for line in lines {
        assert_eq!(line.len(), 21);
        assert!(line[..20].iter().all(|byte| *byte == line[0]), "{line:?}");
    }
}

/// A stream whose first calls are interrupted, followed by an error.
struct Failing {
    interruptions: u32,
    kind: ErrorKind,
}

impl Failing {
    fn fail(&mut self) -> io::Error {
        let interruption = self.interruptions.checked_sub(1);
        self.interruptions = interruption.unwrap_or(0);
        interruption
            .map_or(self.kind, |_| ErrorKind::Interrupted)
            .into()
    }
}

impl Write for Failing {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.kind {
            // Fails when it is flushed.
            ErrorKind::StorageFull => Ok(bytes.len()),
            _ => Err(self.fail()),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Err(self.fail())
    }
}

impl Read for Failing {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        Err(self.fail())
    }
}

#[test]
fn errors_of_streams_are_returned() {
    let failing = |kind| Failing {
        interruptions: 2,
        kind,
    };
    let services = build(
        Services::builder()
            .stdin(failing(ErrorKind::TimedOut))
            .stdout(failing(ErrorKind::BrokenPipe))
            .stderr(failing(ErrorKind::StorageFull)),
    );
    assert_eq!(number(services.read(&mut [0; 4])), libc::ETIMEDOUT);
    assert_eq!(number(services.write(1, b"x")), libc::EPIPE);
    assert_eq!(number(services.write(2, b"x")), libc::ENOSPC);
}

#[test]
fn a_closed_pipe_is_an_error() {
    let (reader, writer) = io::pipe().unwrap();
    drop(reader);
    let services = build(Services::builder().stdout(writer));
    assert_eq!(number(services.write(1, b"x")), libc::EPIPE);
}

#[test]
fn input_is_read_to_its_end() {
    let services = build(Services::builder().stdin(&b"abcde"[..]));
    let mut buffer = [0; 3];
    assert_eq!(services.read(&mut buffer).unwrap(), 3);
    assert_eq!(&buffer, b"abc");
    assert_eq!(services.read(&mut buffer).unwrap(), 2);
    assert_eq!(&buffer[..2], b"de");
    assert_eq!(services.read(&mut buffer).unwrap(), 0);
}

#[test]
fn a_count_of_a_reader_is_not_trusted() {
    struct Excessive;
    impl Read for Excessive {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Ok(usize::MAX)
        }
    }
    let services = build(Services::builder().stdin(Excessive));
    assert_eq!(services.read(&mut [0; 4]).unwrap(), 4);
}

#[test]
fn unknown_streams_are_bad_descriptors() {
    let services = build(Services::builder().stdout(io::sink()).stderr(io::sink()));
    for stream in [0, 3, u32::MAX] {
        assert_eq!(number(services.write(stream, b"x")), libc::EBADF);
    }
    for stream in [3, u32::MAX] {
        assert_eq!(number(services.is_terminal(stream)), libc::EBADF);
    }
}

#[test]
fn given_streams_are_no_terminals() {
    let services = build(
        Services::builder()
            .stdin(io::empty())
            .stdout(io::sink())
            .stderr(io::sink()),
    );
    for stream in 0..3 {
        assert_eq!(services.is_terminal(stream).unwrap(), 0);
    }
}

/// Runs itself in a process with pipes, since the streams of this process are shared by all tests.
#[test]
fn the_default_streams_are_those_of_the_process() {
    const NAME: &str = "services::tests::streams::the_default_streams_are_those_of_the_process";
    const IS_CHILD: &str = "HOST_RT_TEST_STREAMS";
    if env::var_os(IS_CHILD).is_some() {
        let services = build(Services::builder());
        let mut input = [0; 16];
        let count = services.read(&mut input).unwrap() as usize;
        assert_eq!(&input[..count], b"input");
        assert_eq!(services.read(&mut input).unwrap(), 0);
        for stream in 0..3 {
            assert_eq!(services.is_terminal(stream).unwrap(), 0);
        }
        // The program may hold the locks of the streams while it waits for a kernel.
        let _locks = (io::stdout().lock(), io::stderr().lock());
        let other = std::thread::spawn(move || {
            services.write(1, b"<to the output>").unwrap();
            services.write(2, b"<to the error>").unwrap();
        });
        other.join().unwrap();
        return;
    }
    let mut child = Command::new(env::current_exe().unwrap())
        .args([NAME, "--exact", "--nocapture"])
        .env(IS_CHILD, "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(b"input").unwrap();
    let output = child.wait_with_output().unwrap();
    let (out, err) = (
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
    assert!(output.status.success(), "{out}\n{err}");
    assert!(out.contains("<to the output>"), "{out}");
    assert!(err.contains("<to the error>"), "{err}");
    assert!(!out.contains("<to the error>"), "{out}");
}
