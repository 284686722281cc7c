//! Commands and child processes.

use std::io::Write;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use rustix::fs::Mode;
use std_calls::{ChildStreams, PipeEnds, RUNNING, StartedChild};

use super::super::commands::exit_status_text;
use super::*;
use crate::base::lock::lock;

const NULL: u32 = ChildStreams::NULL;
const PIPE: u32 = ChildStreams::PIPE;

/// Streams that a child does not use.
const UNUSED: [u32; 3] = [NULL; 3];

fn allowed() -> Arc<Services> {
    build(Services::builder().allow_commands())
}

/// Starts a command with the environment `PATH`, and others.
fn start(
    services: &Services,
    words: &[&str],
    variables: &[&str],
    [stdin, stdout, stderr]: [u32; 3],
) -> io::Result<StartedChild> {
    let list = |words: &[&str]| -> Vec<u8> {
        let ended = words.iter().map(|word| format!("{word}\0"));
        ended.collect::<String>().into_bytes()
    };
    let path = format!("PATH={}", env::var("PATH").unwrap());
    let variables = [&[&*path][..], variables].concat();
    let mut started = StartedChild::default();
    let streams = ChildStreams {
        stdin,
        stdout,
        stderr,
    };
    services.start_child(
        words[0].as_bytes(),
        &list(&words[1..]),
        &list(&variables),
        b"",
        &streams,
        &mut started,
    )?;
    Ok(started)
}

/// Runs a script.
fn shell(services: &Services, script: &str, streams: [u32; 3]) -> StartedChild {
    start(services, &["sh", "-c", script], &[], streams).unwrap()
}

fn wait(services: &Services, child: u32) -> i32 {
    services.wait_child(child, 1).unwrap() as i32
}

/// Reads a file to its end.
fn rest(services: &Services, file: u32) -> Vec<u8> {
    let mut all = Vec::new();
    let mut bytes = [0; 100];
    loop {
        match services.file_read(file, &mut bytes).unwrap() as usize {
            0 => return all,
            count => all.extend_from_slice(&bytes[..count]),
        }
    }
}

/// The output of a script.
fn output(services: &Services, script: &str) -> String {
    let child = shell(services, script, [NULL, PIPE, NULL]);
    let text = rest(services, child.stdout);
    assert_eq!(wait(services, child.child), 0);
    String::from_utf8(text).unwrap()
}

#[test]
fn without_permission_no_command_starts() {
    let services = build(Services::builder().allow_all_files().allow_all_network());
    let error = number(start(&services, &["true"], &[], UNUSED));
    assert_eq!(error, libc::EACCES);
}

#[test]
fn children_read_and_write_pipes() {
    let services = allowed();
    let child = shell(&services, "cat; echo error >&2", [PIPE, PIPE, PIPE]);
    assert!(child.id > 0);
    services.file_write(child.stdin, b"to the child").unwrap();
    services.close(child.stdin).unwrap();
    assert_eq!(rest(&services, child.stdout), b"to the child");
    assert_eq!(rest(&services, child.stderr), b"error\n");
    assert_eq!(wait(&services, child.child), 0);
    // The status stays.
    assert_eq!(wait(&services, child.child), 0);
    assert_eq!(services.wait_child(child.child, 0).unwrap(), 0);
}

#[test]
fn streams_without_a_pipe_have_no_handle() {
    let services = allowed();
    let child = shell(&services, "echo x >&2", [NULL, NULL, PIPE]);
    assert_eq!((child.stdin, child.stdout), (0, 0));
    assert_eq!(rest(&services, child.stderr), b"x\n");
    let child = shell(&services, "cat", [NULL, NULL, NULL]);
    assert_eq!((child.stdin, child.stdout, child.stderr), (0, 0, 0));
    assert_eq!(wait(&services, child.child), 0);
}

#[test]
fn statuses_are_those_of_linux() {
    let services = allowed();
    for (script, status, shown) in [
        ("exit 0", 0, "exit status: 0"),
        ("exit 7", 7 << 8, "exit status: 7"),
        ("kill -KILL $$", 9, "signal: 9 (SIGKILL)"),
    ] {
        let child = shell(&services, script, UNUSED);
        assert_eq!(wait(&services, child.child), status);
        let text = text(|text| exit_status_text(status, text));
        assert_eq!(String::from_utf8(text).unwrap(), shown);
    }
}

#[test]
fn children_run_until_they_are_killed() {
    let services = allowed();
    let child = start(&services, &["cat"], &[], [PIPE, NULL, NULL]).unwrap();
    let status = || services.wait_child(child.child, 0).unwrap();
    assert_eq!(status(), RUNNING as u64);
    services.kill_child(child.child).unwrap();
    assert_eq!(wait(&services, child.child), libc::SIGKILL);
    assert_eq!(status(), libc::SIGKILL as u64);
    // It has ended: no error, and no signal for another process.
    services.kill_child(child.child).unwrap();
    services.close(child.child).unwrap();
    assert_eq!(number(services.kill_child(child.child)), libc::EBADF);
}

#[test]
fn a_child_that_is_dropped_runs_on() {
    let services = allowed();
    let child = start(&services, &["cat"], &[], [PIPE, PIPE, NULL]).unwrap();
    services.close(child.child).unwrap();
    services.file_write(child.stdin, b"still").unwrap();
    services.close(child.stdin).unwrap();
    assert_eq!(rest(&services, child.stdout), b"still");
    // Its entry in the table of processes goes with it.
    let entry = format!("/proc/{}", child.id);
    let start = Instant::now();
    while Path::new(&entry).exists() {
        assert!(start.elapsed() < Duration::from_secs(60), "{entry} stays");
        std::thread::yield_now();
    }
}

#[test]
fn the_environment_and_the_folder_are_the_programs() {
    let folder = TempFolder::new();
    fs::create_dir(folder.path("below")).unwrap();
    let builder = Services::builder().directory(&folder.0).allow_all_files();
    let services = build(builder.allow_commands());
    let here = folder.0.display().to_string();
    assert_eq!(output(&services, "pwd -P"), format!("{here}\n"));
    services.change_directory(b"below").unwrap();
    assert_eq!(output(&services, "pwd -P"), format!("{here}/below\n"));
    let streams = ChildStreams {
        stdin: NULL,
        stdout: PIPE,
        stderr: NULL,
    };
    let mut child = StartedChild::default();
    let variables = b"=odd=x\0A=a=b\0EMPTY=\0no variable\0";
    let arguments = b"\0two words\0";
    let start = |program: &[u8], arguments: &[u8], folder: &[u8], child: &mut StartedChild| {
        services.start_child(program, arguments, variables, folder, &streams, child)
    };
    start(b"/usr/bin/env", b"", b"..", &mut child).unwrap();
    assert_eq!(rest(&services, child.stdout), b"=odd=x\nA=a=b\nEMPTY=\n");
    start(b"/bin/pwd", b"", b"..", &mut child).unwrap();
    assert_eq!(
        rest(&services, child.stdout),
        format!("{here}\n").as_bytes()
    );
    start(
        b"/usr/bin/printf",
        &[b"[%s]\0", &arguments[..]].concat(),
        b"/",
        &mut child,
    )
    .unwrap();
    assert_eq!(rest(&services, child.stdout), b"[][two words]");

    let code = |program: &[u8], folder: &[u8]| {
        number(start(program, b"", folder, &mut StartedChild::default()))
    };
    assert_eq!(code(b"true", b"missing"), libc::ENOENT);
    assert_eq!(code(b"/no/such/program", b""), libc::ENOENT);
    assert_eq!(code(b"", b""), libc::ENOENT);
    assert_eq!(code(b"/", b""), libc::EACCES);
    assert_eq!(code(b"a\0b", b""), libc::EINVAL);
    assert_eq!(code(b"true", b"a\0b"), libc::EINVAL);
}

#[test]
fn files_and_pipes_are_streams_of_children() {
    let folder = TempFolder::new();
    folder.file("input", "from a file");
    let builder = Services::builder().directory(&folder.0);
    let services = build(builder.allow_write(&folder.0).allow_commands());
    let input = opened(&services, "input", open::READ);
    let target = opened(&services, "output", open::WRITE | open::CREATE);
    let child = shell(&services, "cat", [input, target, NULL]);
    assert_eq!(wait(&services, child.child), 0);
    assert_eq!(contents(&services, "output"), b"from a file");
    let mut ends = PipeEnds::default();
    services.pipe(&mut ends).unwrap();
    let child = shell(
        &services,
        "echo a; echo b >&2",
        [NULL, ends.writer, ends.writer],
    );
    services.close(ends.writer).unwrap();
    assert_eq!(rest(&services, ends.reader), b"a\nb\n");
    // The file is the program's as before.
    assert_eq!(services.seek(input, 0, 0).unwrap(), 0);
    assert_eq!(wait(&services, child.child), 0);
}

#[test]
fn wrong_streams_are_rejected() {
    let services = allowed();
    for (streams, error) in [
        ([1, NULL, NULL], libc::EINVAL),
        ([2, NULL, NULL], libc::EINVAL),
        ([NULL, 0, NULL], libc::EINVAL),
        ([NULL, NULL, 0], libc::EINVAL),
        ([77, NULL, NULL], libc::EBADF),
        ([NULL, 77, NULL], libc::EBADF),
    ] {
        let started = start(&services, &["true"], &[], streams);
        assert_eq!(number(started), error, "{streams:?}");
    }
    let child = shell(&services, "true", UNUSED);
    let of_a_child = start(&services, &["true"], &[], [NULL, child.child, NULL]);
    assert_eq!(number(of_a_child), libc::EINVAL);
    assert_eq!(number(services.duplicate(child.child)), libc::EINVAL);
    assert_eq!(
        number(services.file_read(child.child, &mut [0])),
        libc::EINVAL
    );
    let mut ends = PipeEnds::default();
    services.pipe(&mut ends).unwrap();
    assert_eq!(number(services.wait_child(ends.reader, 0)), libc::ECHILD);
}

#[test]
fn a_child_counts_with_its_pipes() {
    let services = build(Services::builder().allow_commands().open_files(2));
    let folder = TempFolder::new();
    let marker = folder.path("started");
    let script = format!("touch {}", marker.display());
    let words = ["sh", "-c", &script];
    let started = start(&services, &words, &[], [PIPE, PIPE, NULL]);
    assert_eq!(number(started), libc::EMFILE);
    assert!(!marker.exists());
    let child = start(&services, &words, &[], [NULL, PIPE, NULL]).unwrap();
    assert_eq!(wait(&services, child.child), 0);
    assert!(marker.exists());
}

/// A stream of the program that is not the process's.
#[derive(Clone, Default)]
struct Recorder(Arc<Mutex<Vec<u8>>>);

impl Write for Recorder {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        lock(&self.0).write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn children_write_to_the_programs_streams() {
    let (out, err) = (Recorder::default(), Recorder::default());
    let builder = Services::builder().stdin(&b"input"[..]);
    let builder = builder.stdout(out.clone()).stderr(err.clone());
    let services = build(builder.allow_commands());
    services.write(1, b"before ").unwrap();
    let child = shell(&services, "printf out; printf error >&2; cat", [0, 1, 2]);
    assert_eq!(wait(&services, child.child), 0);
    // All is there when the child has ended, and comes before what the program writes then.
    services.write(1, b" behind").unwrap();
    assert_eq!(*lock(&out.0), b"before out behind");
    assert_eq!(*lock(&err.0), b"error");
    let child = shell(&services, "printf swapped >&2", [NULL, 2, 1]);
    assert_eq!(wait(&services, child.child), 0);
    assert_eq!(*lock(&out.0), b"before out behindswapped");
    let child = shell(&services, "head -c 300000 /dev/zero", [NULL, 2, NULL]);
    assert_eq!(wait(&services, child.child), 0);
    assert_eq!(lock(&err.0).len(), 5 + 300_000);
}

/// A stream that takes nothing.
struct Full;

impl Write for Full {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        Err(io::ErrorKind::StorageFull.into())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A child that writes more than fits a pipe is told so, instead of waiting for ever.
#[test]
fn a_child_ends_if_its_output_cannot_be_written() {
    let services = build(Services::builder().stdout(Full).allow_commands());
    let child = shell(&services, "head -c 300000 /dev/zero", [NULL, 1, NULL]);
    assert_ne!(wait(&services, child.child), 0);
}

/// A child of the child may keep the output open: the wait for the child ends all the same.
#[test]
fn a_wait_does_not_wait_for_others_with_the_same_output() {
    let folder = TempFolder::new();
    let fifo = folder.path("fifo");
    let mode = Mode::RUSR | Mode::WUSR;
    rustix::fs::mknodat(rustix::fs::CWD, &fifo, rustix::fs::FileType::Fifo, mode, 0).unwrap();
    let out = Recorder::default();
    let services = build(Services::builder().stdout(out.clone()).allow_commands());
    let script = format!(
        "(cat {} >/dev/null; echo late) & printf early",
        fifo.display()
    );
    let child = shell(&services, &script, [NULL, 1, NULL]);
    assert_eq!(wait(&services, child.child), 0);
    assert_eq!(*lock(&out.0), b"early");
    // Lets the other one end.
    fs::write(&fifo, "").unwrap();
}
