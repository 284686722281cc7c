//! How jobs end.

use std::env;
use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd;
use std::process::{Command, Stdio};
use std::time::Duration;

use revoff_isolate::{Error, Isolated, Job, JobError, Sandbox, send_result};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

pub(crate) const ACT: Job = Job::new("act", act);

/// Does what the input says, up to a colon; what follows is its argument.
fn act(isolated: Isolated) -> Result<Vec<u8>, JobError> {
    let text = String::from_utf8(isolated.input)?;
    let (action, argument) = text.split_once(':').unwrap_or((&text, ""));
    match action {
        "echo" => return Ok(argument.as_bytes().to_vec()),
        // SAFETY: not sound, on purpose: the fault is what the test is about.
        "null" => unsafe { std::ptr::without_provenance_mut::<u8>(8).write_volatile(1) },
        "abort" => std::process::abort(),
        // SAFETY: sends a signal to this thread.
        "raise" => drop(unsafe { libc::raise(argument.parse()?) }),
        // SAFETY: ends the process, as native code may do.
        "exit" => unsafe { libc::exit(argument.parse()?) },
        "result-and-exit" => {
            send_result(argument.as_bytes())?;
            send_result(b"a second result")?;
            // SAFETY: ends the process.
            unsafe { libc::_exit(7) }
        }
        // To the pipe of the reply, without its form.
        "writes" => loop {
            let is_pipe = |number: &i32| {
                let link = fs::read_link(format!("/proc/self/fd/{number}"));
                link.is_ok_and(|link| link.to_string_lossy().starts_with("pipe:"))
            };
            let reply = (3..20).find(is_pipe).ok_or("no pipe")?;
            // SAFETY: writes a byte that lives longer.
            while unsafe { libc::write(reply, b"x".as_ptr().cast(), 1) } == 1 {}
        },
        "late" => std::thread::sleep(Duration::from_secs(3600)),
        // As a thread of an image that reads while the job ends.
        "reads" => {
            let (reader, writer) = io::pipe()?;
            // SAFETY: the descriptors are open; the stream lives as long as the process.
            unsafe {
                libc::dup2(reader.as_raw_fd(), 0);
                unsafe extern "C" {
                    fn getchar() -> libc::c_int;
                }
                std::thread::spawn(|| getchar());
            }
            std::thread::sleep(Duration::from_millis(100));
            std::mem::forget(writer);
            return Ok(b"read".to_vec());
        }
        "error" => return Err(argument.into()),
        "panic" => panic!("a job panics"),
        "many" => return Ok(vec![1; argument.parse()?]),
        // Without those that only name a file: landlock's rules need some of files in /proc.
        "descriptors" => {
            let mut links = Vec::new();
            for entry in fs::read_dir("/proc/self/fd")? {
                let entry = entry?;
                let number = entry.file_name().display().to_string();
                // SAFETY: the call gets numbers only.
                let flags = unsafe { libc::fcntl(number.parse()?, libc::F_GETFL) };
                if flags & libc::O_PATH == 0 {
                    links.push(format!(
                        "{number}={}",
                        fs::read_link(entry.path())?.display()
                    ));
                }
            }
            return Ok(links.join("\n").into_bytes());
        }
        "sleep" => {
            fs::write(argument, std::process::id().to_string())?;
            loop {
                std::thread::park();
            }
        }
        _ => {}
    }
    Err(format!("no action `{action}`").into())
}

fn run(input: &str) -> Result<String, Error> {
    let result = ACT.run(&Sandbox::new().image("/proc/self/exe"), input.as_bytes());
    result.map(|bytes| String::from_utf8(bytes).expect("text"))
}

pub(crate) fn a_result_arrives() {
    assert_eq!(run("echo:yes").expect("a result"), "yes");
    // More than a pipe holds.
    let long = "long ".repeat(100_000);
    let result = run(&format!("echo:{long}")).expect("a result");
    assert!(result == long, "{} bytes", result.len());
    assert_eq!(run("result-and-exit:first").expect("a result"), "first");
}

pub(crate) fn a_crash_is_an_error() {
    for (action, signal, name) in [
        ("null", libc::SIGSEGV, "SIGSEGV"),
        ("abort", libc::SIGABRT, "SIGABRT"),
        // A process may also send itself those that commonly come from outside.
        ("raise:9", libc::SIGKILL, "SIGKILL (by a process"),
        ("raise:15", libc::SIGTERM, "SIGTERM (by a process"),
    ] {
        let error = run(action).expect_err(action);
        let message = error.to_string();
        assert!(
            matches!(error, Error::Killed { signal: it, .. } if it == signal),
            "{message}"
        );
        for word in ["/proc/self/exe", name] {
            assert!(message.contains(word), "{message}");
        }
    }
}

pub(crate) fn an_early_exit_is_an_error() {
    for status in [0, 3] {
        let error = run(&format!("exit:{status}")).expect_err("no result");
        assert!(
            matches!(error, Error::Exited { status: it, .. } if it == status),
            "{error}"
        );
    }
}

pub(crate) fn errors_and_panics_arrive() {
    for (input, word) in [("error:its reason", "its reason"), ("panic", "it panicked")] {
        let error = run(input).expect_err("no result");
        assert!(matches!(error, Error::Job { .. }), "{error}");
        assert!(error.to_string().contains(word), "{error}");
    }
}

/// Control characters, which a terminal would obey, are not shown.
pub(crate) fn texts_are_harmless() {
    let error = run("error:\u{1b}]0;title\u{7}").expect_err("no result");
    let text = error.to_string();
    assert!(
        text.ends_with("failed: \u{fffd}]0;title\u{fffd}"),
        "{text:?}"
    );
    let error = run(&format!("error:{}", "long ".repeat(10_000))).expect_err("no result");
    assert!(error.to_string().len() < 5000);
}

pub(crate) fn a_late_job_is_stopped() {
    let sandbox = Sandbox::new().time_limit(Duration::from_millis(200));
    for action in ["late", "writes"] {
        let error = ACT.run(&sandbox, action.as_bytes()).expect_err("late");
        assert!(
            matches!(error, Error::TimeLimit { .. }),
            "{action}: {error}"
        );
        assert!(error.to_string().contains("200ms"), "{error}");
    }
    let sandbox = Sandbox::new().time_limit(Duration::MAX);
    assert_eq!(
        ACT.run(&sandbox, b"echo:in time").expect("a result"),
        b"in time"
    );
}

/// The C library holds the lock of a stream that one of its threads reads.
pub(crate) fn a_thread_that_reads_delays_nothing() {
    assert_eq!(run("reads").expect("a result"), "read");
}

pub(crate) fn a_result_has_a_limit() {
    let sandbox = Sandbox::new().max_result(1000);
    let exact = ACT.run(&sandbox, b"many:1000").expect("just fits");
    assert_eq!(exact, [1; 1000]);
    for size in ["1001", "50000000"] {
        let error = ACT.run(&sandbox, format!("many:{size}").as_bytes());
        let error = error.expect_err("too large");
        let is_limit = matches!(error, Error::ResultTooLarge { limit: 1000, .. });
        assert!(is_limit, "{error}");
    }
}

/// Even a descriptor that a C library has opened without `O_CLOEXEC`.
pub(crate) fn descriptors_do_not_leak() {
    for path in ["/dev/zero", "/proc/self/status"] {
        let file = File::open(path).expect("opened");
        // Far from the numbers that the child itself uses.
        // SAFETY: duplicates a descriptor that is open.
        let leaked = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_DUPFD, 300) };
        assert!(leaked >= 300, "{leaked}");
    }
    let shown = run("descriptors").expect("a result");
    // Besides the standard streams: the reply, and the listing itself.
    let is_stream = |link: &&str| ["0=", "1=", "2="].iter().any(|it| link.starts_with(it));
    let others = shown
        .lines()
        .filter(|link| !is_stream(link) && !link.ends_with("/fd"));
    let others: Vec<_> = others.collect();
    assert!(
        matches!(*others, [reply] if reply.contains("=pipe:")),
        "{shown}"
    );
}

pub(crate) fn bad_grants_are_named() {
    for sandbox in [
        Sandbox::new().read("/no/such/folder"),
        Sandbox::new().write("/no/such/folder"),
        Sandbox::new().image("/no/such/folder"),
    ] {
        let error = ACT.run(&sandbox, b"echo:").expect_err("no folder");
        assert!(matches!(error, Error::Granted { .. }), "{error}");
        assert!(error.to_string().contains("/no/such/folder"), "{error}");
    }
}

/// Given as the standard input of this program, which its jobs share.
pub(crate) fn an_open_folder_is_refused() {
    let mut command = Command::new("/proc/self/exe");
    command.args(["--exact", "a_result_arrives"]);
    let output = command.stdin(File::open("/usr").expect("opened")).output();
    let output = output.expect("started");
    assert!(!output.status.success());
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text);
    assert!(text.contains("descriptor 0 is the folder /usr"), "{text}");
}

/// The process of this test has the threads of its harness.
pub(crate) fn a_sandbox_needs_one_thread() {
    let entered = std::thread::spawn(|| Sandbox::new().enter());
    let error = entered.join().expect("no panic").expect_err("has threads");
    assert!(matches!(error, Error::Threads { count: 2.. }), "{error}");
}

/// The variable that makes this program run a job that never ends, and names the file for its number.
const DYING: &str = "ISOLATION_TEST_DYING_PARENT";

pub(crate) fn is_parent_that_dies() -> bool {
    env::var_os(DYING).is_some()
}

/// Runs a job that does not end.
pub(crate) fn die_as_parent() -> ! {
    let file = env::var(DYING).expect("set");
    let result = ACT.run(
        &Sandbox::new().write(&file),
        format!("sleep:{file}").as_bytes(),
    );
    panic!("the job ended: {result:?}");
}

pub(crate) fn it_ends_with_its_parent() {
    let file = tempfile::NamedTempFile::new().expect("a file");
    let mut command = Command::new("/proc/self/exe");
    command.env(DYING, file.path()).stdout(Stdio::piped());
    let mut parent = command.spawn().expect("started");
    let stdout = parent.stdout.take().expect("a pipe");
    let job = loop {
        let number = fs::read_to_string(file.path()).expect("read");
        if let Ok(number) = number.parse::<i32>() {
            break number;
        }
        assert_eq!(parent.try_wait().expect("waited"), None, "it ended early");
        std::thread::yield_now();
    };
    parent.kill().expect("killed");
    parent.wait().expect("waited");
    // The isolated process has the other end of the pipe.
    let mut pipe = [PollFd::new(&stdout, PollFlags::IN)];
    let patience = Timespec {
        tv_sec: 60,
        tv_nsec: 0,
    };
    let closed = poll(&mut pipe, Some(&patience)).expect("polled");
    if closed == 0 {
        // SAFETY: a signal to a process, which is that of the job as long as it has not ended.
        unsafe { libc::kill(job, libc::SIGKILL) };
    }
    assert_eq!(closed, 1, "the process of the job goes on");
}

/// Another file at the request's number is not taken for it.
pub(crate) fn a_forged_variable_is_named() {
    for redirected in [
        "3<&- 4<&-",
        "3</dev/null 4>/dev/null",
        "3</dev/null 4>&1",
        "3<&0 4>&1",
    ] {
        let script = format!("exec /proc/{}/exe {redirected}", std::process::id());
        let output = Command::new("/bin/sh")
            .args(["-c", &script])
            .env("REVOFF_ISOLATED_JOB", "3:4:1")
            .output()
            .expect("started");
        let text = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{redirected}: {text}");
        for words in ["REVOFF_ISOLATED_JOB is `3:4:1`", "unset it"] {
            assert!(text.contains(words), "{redirected}: {text}");
        }
        assert_eq!(output.stdout, [], "{redirected}");
    }
}
