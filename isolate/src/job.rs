//! Jobs: functions of a program that run in processes of their own.

use std::env;
use std::error::Error as StdError;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, PipeReader, Read, Seek, Write};
use std::os::fd::{AsRawFd, FromRawFd, RawFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::{Child, Command, ExitStatus};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::MemfdFlags;
use rustix::io::{Errno, FdFlags, fcntl_setfd};
use rustix::process::{
    Pid, PidfdFlags, Signal, getppid, pidfd_open, set_parent_process_death_signal,
};

use crate::error::Error;
use crate::message::{self, Outcome};
use crate::sandbox::{Report, Sandbox};

/// The variable that makes a process run a job: the descriptors of its order and of its reply, and the
/// process that waits for it.
const MARK: &str = "REVOFF_ISOLATED_JOB";

/// The exit status of a process that cannot read its order.
const NO_ORDER: i32 = 2;

/// A job runs only in programs whose `main` sends the process of the job to it.
static IS_INITIALIZED: AtomicBool = AtomicBool::new(false);

/// Where this process, if it is isolated, sends its result: once.
static REPLY: Mutex<Option<File>> = Mutex::new(None);

/// What a job fails with; the process that started it gets the text.
pub type JobError = Box<dyn StdError + Send + Sync>;

/// A function of the program that runs in a process of its own.
///
/// The process executes this program again, so it has nothing of the memory, the threads and the
/// descriptors of the one that started it, but for the standard streams. It has the same arguments and
/// environment. It enters the sandbox before the function is called, and it ends when the process that
/// started it ends.
///
/// ```no_run
/// use revoff_isolate::{Isolated, Job, JobError, Sandbox};
///
/// const SUM: Job = Job::new("sum", sum);
///
/// fn main() -> Result<(), revoff_isolate::Error> {
///     revoff_isolate::init(&[SUM]);
///     let sandbox = Sandbox::new().image("kernels.so").read("data");
///     let result = SUM.run(&sandbox, b"data/numbers")?;
///     println!("{result:?}");
///     Ok(())
/// }
///
/// /// Opens a runtime, loads `kernels.so`, binds host functions, launches a kernel.
/// fn sum(isolated: Isolated) -> Result<Vec<u8>, JobError> {
///     let _path = String::from_utf8(isolated.input)?;
///     Ok(Vec::new())
/// }
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Job {
    name: &'static str,
    function: fn(Isolated) -> Result<Vec<u8>, JobError>,
}

/// What a job starts with.
#[derive(Debug)]
#[non_exhaustive]
pub struct Isolated {
    /// The bytes that [`Job::run`] was given.
    pub input: Vec<u8>,
    /// How the sandbox is enforced.
    pub report: Report,
}

impl Job {
    /// A job. Its name distinguishes it from others of the program.
    #[must_use]
    pub const fn new(
        name: &'static str,
        function: fn(Isolated) -> Result<Vec<u8>, JobError>,
    ) -> Self {
        Self { name, function }
    }

    /// Runs the job in a process of its own, waits for its end, and returns its result.
    ///
    /// # Errors
    /// [`Error::Killed`] if a signal ended the process, [`Error::Exited`] if the process exited on the
    /// way, [`Error::Job`] if the function returned an error or panicked; errors of the sandbox.
    pub fn run(&self, sandbox: &Sandbox, input: &[u8]) -> Result<Vec<u8>, Error> {
        // Relaxed: nothing else is published by it.
        if !IS_INITIALIZED.load(Ordering::Relaxed) {
            return Err(Error::NotInitialized);
        }
        sandbox.check()?;
        let limit = sandbox.max_result.unwrap_or(Sandbox::MAX_RESULT);
        let order = message::encode(self.name, sandbox, input);
        let (mut process, reply) = start(&order).map_err(|source| Error::Start {
            job: self.name,
            source,
        })?;
        let received = receive(&process.0, reply, message::reply_size(limit));
        let bytes = match received {
            Ok(Some(bytes)) => bytes,
            // Dropping the process kills it.
            Ok(None) => {
                return Err(Error::ResultTooLarge {
                    process: sandbox.process(self.name),
                    limit,
                });
            }
            Err(source) => {
                return Err(Error::Start {
                    job: self.name,
                    source,
                });
            }
        };
        let status = process.0.wait().map_err(|source| Error::Start {
            job: self.name,
            source,
        })?;
        self.result(sandbox, status, message::read_reply(bytes))
    }

    fn result(
        &self,
        sandbox: &Sandbox,
        status: ExitStatus,
        reply: Option<(Outcome, Vec<u8>)>,
    ) -> Result<Vec<u8>, Error> {
        let process = sandbox.process(self.name);
        if let Some(signal) = status.signal() {
            return Err(Error::Killed { process, signal });
        }
        let Some((outcome, bytes)) = reply else {
            let status = status.code().unwrap_or_default();
            return Err(Error::Exited { process, status });
        };
        let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
        match outcome {
            Outcome::Done => Ok(bytes),
            Outcome::Failed => Err(Error::Job {
                process,
                message: text(&bytes),
            }),
            Outcome::Refused => Err(Error::Refused {
                message: text(&bytes),
            }),
        }
    }
}

/// Runs a job, if this process was started for one, and ends the process. Other processes return at
/// once. Call it at the start of `main`, before the program starts threads, with all jobs that the
/// program may run.
pub fn init(jobs: &[Job]) {
    // Relaxed: nothing else is published by it.
    IS_INITIALIZED.store(true, Ordering::Relaxed);
    if let Some(mark) = env::var_os(MARK) {
        serve(&mark, jobs);
    }
}

/// Sends the result of the job that this process runs, before the job's function returns, for one that
/// ends its process itself. Only the first result counts. Other processes send nothing.
///
/// # Errors
/// The process that waits for the result is gone.
pub fn send_result(result: &[u8]) -> io::Result<()> {
    reply(Outcome::Done, result)
}

/// Kills a process that nobody has waited for.
struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        // Fails, and does no harm, if the process has been waited for.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts this program again, with an order. Returns the stream of its reply.
fn start(order: &[u8]) -> io::Result<(Process, PipeReader)> {
    let mut message: File = rustix::fs::memfd_create("revoff-job", MemfdFlags::CLOEXEC)?.into();
    message.write_all(order)?;
    let (reader, writer) = io::pipe()?;
    let kept = [message.as_raw_fd(), writer.as_raw_fd()];
    let mut arguments = env::args_os();
    let mut command = Command::new("/proc/self/exe");
    if let Some(name) = arguments.next() {
        command.arg0(name);
    }
    let [order, reply] = kept;
    let mark = format!("{order}:{reply}:{}", std::process::id());
    command.args(arguments).env(MARK, mark);
    // SAFETY: the function makes system calls only, which may be made between fork and exec.
    unsafe { command.pre_exec(move || keep_only(kept)) };
    Ok((Process(command.spawn()?), reader))
}

/// Has `exec` close all descriptors but the standard streams and these.
fn keep_only(descriptors: [RawFd; 2]) -> io::Result<()> {
    let is_ok = |result: libc::c_long| match result {
        0.. => Ok(()),
        _ => Err(io::Error::last_os_error()),
    };
    // SAFETY: the call marks descriptors of this process, which is about to execute another program.
    is_ok(unsafe {
        libc::syscall(
            libc::SYS_close_range,
            3,
            libc::c_uint::MAX,
            libc::CLOSE_RANGE_CLOEXEC,
        )
    })?;
    for descriptor in descriptors {
        // SAFETY: as above; the command was started with these open.
        is_ok(unsafe { libc::fcntl(descriptor, libc::F_SETFD, 0) }.into())?;
    }
    Ok(())
}

/// The bytes that a process writes until it ends; `None` if they are more than `limit`.
fn receive(process: &Child, reader: PipeReader, limit: usize) -> io::Result<Option<Vec<u8>>> {
    // A child has a positive number that fits.
    let pid = Pid::from_raw(process.id().cast_signed()).ok_or(Errno::SRCH)?;
    let end = pidfd_open(pid, PidfdFlags::empty())?;
    rustix::io::ioctl_fionbio(&reader, true)?;
    let mut bytes = Vec::new();
    let mut is_closed = false;
    loop {
        let mut events = vec![PollFd::new(&end, PollFlags::IN)];
        if !is_closed {
            events.push(PollFd::new(&reader, PollFlags::IN));
        }
        match poll(&mut events, None) {
            Err(Errno::INTR) => continue,
            result => result?,
        };
        // What the process wrote before its end is read after it.
        let has_ended = !events[0].revents().is_empty();
        while !is_closed {
            let room = limit.saturating_add(1).saturating_sub(bytes.len());
            let mut chunk = (&reader).take(room.min(1 << 20) as u64);
            match chunk.read_to_end(&mut bytes) {
                Ok(0) => is_closed = true,
                Ok(_) if bytes.len() > limit => return Ok(None),
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) => return Err(error),
            }
        }
        // A command that the process started may keep the stream open.
        if has_ended {
            return Ok(Some(bytes));
        }
    }
}

/// Runs the job of an isolated process.
fn serve(mark: &OsStr, jobs: &[Job]) -> ! {
    let Some((order, reply_to, parent)) = read_mark(mark) else {
        tracing::error!("{MARK} is set, but not by a program that runs an isolated job: unset it");
        exit(NO_ORDER);
    };
    *REPLY.lock().unwrap_or_else(PoisonError::into_inner) = Some(reply_to);
    let (outcome, bytes) = match prepare(order, parent, jobs) {
        Err(error) => (Outcome::Refused, error.into_bytes()),
        Ok((job, isolated)) => match catch_unwind(AssertUnwindSafe(|| (job.function)(isolated))) {
            Ok(Ok(result)) => (Outcome::Done, result),
            Ok(Err(error)) => (Outcome::Failed, error.to_string().into_bytes()),
            // The message is on the standard error.
            Err(_) => (Outcome::Failed, b"it panicked".to_vec()),
        },
    };
    let _ = io::stdout().flush();
    // SAFETY: null stands for all streams of C; each is locked.
    unsafe { libc::fflush(std::ptr::null_mut()) };
    // Whoever does not wait any more does not need the result.
    let _ = reply(outcome, &bytes);
    exit(0)
}

/// Ends the process without exit handlers, which may be those of a broken image.
fn exit(status: i32) -> ! {
    // SAFETY: ends the process; its output is flushed, and nothing else is to be saved.
    unsafe { libc::_exit(status) }
}

fn reply(outcome: Outcome, bytes: &[u8]) -> io::Result<()> {
    let file = REPLY.lock().unwrap_or_else(PoisonError::into_inner).take();
    let Some(mut file) = file else { return Ok(()) };
    file.write_all(&message::reply_header(outcome, bytes.len()))?;
    file.write_all(bytes)
}

/// The files of the order and of the reply, and the parent.
fn read_mark(mark: &OsStr) -> Option<(File, File, i32)> {
    let mut numbers = mark.to_str()?.split(':').map(str::parse);
    let mut next = || numbers.next()?.ok();
    let [order, reply_to, parent]: [i32; 3] = [next()?, next()?, next()?];
    let own = |descriptor: RawFd| {
        let path = format!("/proc/self/fd/{descriptor}");
        if descriptor < 3 || fs::symlink_metadata(path).is_err() {
            return None;
        }
        // SAFETY: it is open, it is no standard stream, and at the start of `main` nothing else of this
        // process has opened descriptors: it is one that the parent left for this purpose.
        let file = unsafe { File::from_raw_fd(descriptor) };
        // Not for commands.
        fcntl_setfd(&file, FdFlags::CLOEXEC).ok()?;
        Some(file)
    };
    if order == reply_to {
        return None;
    }
    Some((own(order)?, own(reply_to)?, parent))
}

/// Enters the sandbox of an order.
fn prepare(mut order: File, parent: i32, jobs: &[Job]) -> Result<(Job, Isolated), String> {
    let mut bytes = Vec::new();
    let read = order.rewind().and_then(|()| order.read_to_end(&mut bytes));
    drop(order);
    let decoded = read.ok().and_then(|_| message::decode(&bytes));
    let order = decoded.ok_or("the order of an isolated process is damaged")?;
    let job = jobs.iter().find(|job| job.name == order.job);
    let job = *job.ok_or_else(|| {
        format!(
            "`revoff_isolate::init` was called without the job `{}`",
            order.job
        )
    })?;
    // First, since the sandbox refuses to change it.
    set_parent_process_death_signal(Some(Signal::KILL)).map_err(|error| error.to_string())?;
    // A parent that ended before sends no signal.
    if getppid().map(Pid::as_raw_nonzero).map(i32::from) != Some(parent) {
        exit(NO_ORDER);
    }
    let report = order.sandbox.enter().map_err(|error| error.to_string())?;
    // SAFETY: the process has one thread, or the sandbox could not have been entered.
    unsafe { env::remove_var(MARK) };
    let input = order.input;
    Ok((job, Isolated { input, report }))
}
