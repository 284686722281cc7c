//! Jobs: functions of a program that run in processes of their own.

use std::env;
use std::error::Error as StdError;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, PipeReader, Read, Seek, Write};
use std::os::fd::{AsRawFd, FromRawFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::{Child, Command, ExitStatus};
use std::sync::{Mutex, Once, PoisonError};
use std::time::Instant;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::MemfdFlags;
use rustix::io::{Errno, FdFlags, fcntl_setfd};
use rustix::process::{
    Pid, PidfdFlags, Signal, getppid, pidfd_open, set_parent_process_death_signal,
};

use crate::error::{Error, in_step};
use crate::message::{self, Outcome, Reply};
use crate::sandbox::{Report, Sandbox};

/// The variable that makes a process run a job: the descriptors of its request and of its reply, and the
/// process that waits for it.
const JOB_VARIABLE: &str = "REVOFF_ISOLATED_JOB";

/// The exit status of a process that cannot read its request.
const NO_REQUEST: i32 = 2;

/// The name of the file of a request, by which the process of a job recognizes it.
const REQUEST: &str = "revoff-job";

/// A job runs only in programs whose `main` sends the process of the job to it.
static INITIALIZED: Once = Once::new();

/// Where this process, if it is isolated, sends its result: once.
static REPLY: Mutex<Option<File>> = Mutex::new(None);

/// The error of a job; the process that started it gets the text.
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

/// The context of a job.
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
    /// way, [`Error::Job`] if the function returned an error or panicked, [`Error::TimeLimit`] and
    /// [`Error::ResultTooLarge`] if it exceeded a limit; errors of the sandbox.
    pub fn run(&self, sandbox: &Sandbox, input: &[u8]) -> Result<Vec<u8>, Error> {
        if !INITIALIZED.is_completed() {
            return Err(Error::NotInitialized);
        }
        sandbox.check()?;
        let limit = sandbox.limit();
        let end = sandbox
            .time_limit
            .and_then(|limit| Instant::now().checked_add(limit));
        let request = message::encode(self.name, sandbox, input);
        let system = |reason| Error::System {
            job: self.name,
            reason,
        };
        // An error drops the process, which kills it.
        let (mut process, reply) = start(&request).map_err(system)?;
        let received = receive(&process.0, reply, message::reply_size(limit), end);
        let process_name = || sandbox.process(self.name);
        let bytes = match received.map_err(system)? {
            Received::Reply(bytes) => bytes,
            Received::TooMuch => {
                return Err(Error::ResultTooLarge {
                    process: process_name(),
                    limit,
                });
            }
            Received::Late => {
                return Err(Error::TimeLimit {
                    process: process_name(),
                    limit: sandbox.time_limit.unwrap_or_default(),
                });
            }
        };
        let status = process.0.wait().map_err(system)?;
        self.result(sandbox, status, message::read_reply(bytes))
    }

    fn result(
        &self,
        sandbox: &Sandbox,
        status: ExitStatus,
        reply: Option<Reply>,
    ) -> Result<Vec<u8>, Error> {
        let process = sandbox.process(self.name);
        let outcome = match reply {
            Some(Reply::Refused(message)) => return Err(Error::Refused { message }),
            Some(Reply::Entered(report, outcome)) => {
                if let Some(missing) = report.missing {
                    tracing::warn!(process, "weaker isolation: {missing}");
                }
                outcome
            }
            None => None,
        };
        if let Some(signal) = status.signal() {
            return Err(Error::Killed { process, signal });
        }
        match outcome {
            Some((Outcome::Done, result)) => match result.len() > sandbox.limit() {
                true => Err(Error::ResultTooLarge {
                    process,
                    limit: sandbox.limit(),
                }),
                false => Ok(result),
            },
            Some((Outcome::Failed, text)) => Err(Error::Job {
                process,
                message: message::shown(&text),
            }),
            None => Err(Error::Exited {
                process,
                status: status.code().unwrap_or_default(),
            }),
        }
    }
}

/// Runs a job, if this process was started for one, and ends the process. Other processes return at
/// once. Call it at the start of `main`, before the program starts threads, with all jobs that the
/// program may run.
pub fn init(jobs: &[Job]) {
    let mut variable = None;
    INITIALIZED.call_once(|| {
        variable = env::var_os(JOB_VARIABLE).map(|value| read_variable(&value).ok_or(value));
    });
    match variable {
        None => {}
        Some(Ok(request)) => serve(request, jobs),
        Some(Err(value)) => {
            // Nothing shows events yet.
            let _ = writeln!(
                io::stderr(),
                "{JOB_VARIABLE} is `{}`, which no program has set that runs an isolated job: unset it",
                value.display()
            );
            exit(NO_REQUEST);
        }
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

/// Starts this program again, with a request. Returns the stream of its reply.
fn start(request: &[u8]) -> io::Result<(Process, PipeReader)> {
    let mut message: File = rustix::fs::memfd_create(REQUEST, MemfdFlags::CLOEXEC)?.into();
    message.write_all(request)?;
    let (reader, writer) = io::pipe()?;
    let kept = [message.as_raw_fd(), writer.as_raw_fd()];
    let mut arguments = env::args_os();
    let mut command = Command::new("/proc/self/exe");
    if let Some(name) = arguments.next() {
        command.arg0(name);
    }
    let [request, reply] = kept;
    let job = format!("{request}:{reply}:{}", std::process::id());
    command.args(arguments).env(JOB_VARIABLE, job);
    // SAFETY: the function makes system calls only, which may be made between fork and exec.
    unsafe { command.pre_exec(move || keep_only(kept)) };
    Ok((Process(command.spawn()?), reader))
}

/// Marks all descriptors close-on-exec, but for the standard streams and these.
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

/// The output of a process until its end.
enum Received {
    Reply(Vec<u8>),
    /// More bytes than the limit.
    TooMuch,
    /// It has not ended in time.
    Late,
}

/// Reads from a process until it ends, or until a limit is reached.
fn receive(
    process: &Child,
    reader: PipeReader,
    limit: usize,
    deadline: Option<Instant>,
) -> io::Result<Received> {
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
        let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        // One that is too long for the system is as good as none.
        let left = left.and_then(|left| Timespec::try_from(left).ok());
        match poll(&mut events, left.as_ref()) {
            Err(Errno::INTR) => continue,
            Ok(0) => return Ok(Received::Late),
            result => result?,
        };
        // Output from before the process's end is read after it.
        let has_ended = !events[0].revents().is_empty();
        // Also a process that never stops writing.
        let is_late = || deadline.is_some_and(|deadline| Instant::now() >= deadline);
        while !is_closed && (has_ended || !is_late()) {
            let room = limit.saturating_add(1).saturating_sub(bytes.len());
            let mut chunk = (&reader).take(room.min(1 << 20) as u64);
            match chunk.read_to_end(&mut bytes) {
                Ok(0) => is_closed = true,
                Ok(_) if bytes.len() > limit => return Ok(Received::TooMuch),
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) => return Err(error),
            }
        }
        // A command that the process started may keep the stream open.
        if has_ended {
            return Ok(Received::Reply(bytes));
        }
        if is_late() {
            return Ok(Received::Late);
        }
    }
}

/// Runs the job of an isolated process.
fn serve((request, mut reply_to, parent): (File, File, i32), jobs: &[Job]) -> ! {
    let prepared = prepare(request, parent, jobs);
    let report = prepared.as_ref().map(|(_, isolated)| &isolated.report);
    let report = message::encode_report(report);
    // The parent may be gone, which then needs neither this nor the result.
    let is_sent = reply_to.write_all(&report).is_ok();
    let Ok((job, isolated)) = prepared else {
        exit(0)
    };
    if !is_sent {
        exit(0);
    }
    *REPLY.lock().unwrap_or_else(PoisonError::into_inner) = Some(reply_to);
    let (outcome, bytes) = match catch_unwind(AssertUnwindSafe(|| (job.function)(isolated))) {
        Ok(Ok(result)) => (Outcome::Done, result),
        Ok(Err(error)) => (Outcome::Failed, error.to_string().into_bytes()),
        // The message is on the standard error.
        Err(_) => (Outcome::Failed, b"it panicked".to_vec()),
    };
    let _ = reply(outcome, &bytes);
    let _ = io::stdout().flush();
    flush_c_output();
    exit(0)
}

/// Flushes C's standard output, unless a thread of an image holds its lock. Others are not looked at: a thread that
/// reads the standard input holds that one's for as long as it waits.
fn flush_c_output() {
    unsafe extern "C" {
        static stdout: *mut libc::FILE;
        fn ftrylockfile(stream: *mut libc::FILE) -> libc::c_int;
        fn funlockfile(stream: *mut libc::FILE);
    }
    // SAFETY: the declarations are those of C's headers. The variable holds the address of a stream that the C library
    // has opened before `main` and keeps until the process ends: even `fclose` only closes its file. Code that assigns to
    // the variable or passes on another stream under this name answers for it in its own contract, as an image does by
    // that of its launch. If `ftrylockfile` returns 0, this thread holds the stream's lock: no other thread changes the
    // stream, `fflush` may lock it once more, since the lock counts, and `funlockfile` releases what was taken here.
    unsafe {
        if ftrylockfile(stdout) == 0 {
            libc::fflush(stdout);
            funlockfile(stdout);
        }
    }
}

/// Ends the process without exit handlers, which may be those of a broken image.
fn exit(status: i32) -> ! {
    // SAFETY: ends the process; its output is flushed, and nothing else is to be saved.
    unsafe { libc::_exit(status) }
}

fn reply(outcome: Outcome, bytes: &[u8]) -> io::Result<()> {
    let file = REPLY.lock().unwrap_or_else(PoisonError::into_inner).take();
    let Some(mut file) = file else { return Ok(()) };
    file.write_all(&message::encode_outcome(outcome, bytes.len()))?;
    file.write_all(bytes)
}

/// The files of the request and of the reply, and the parent. `None` if [`start`] has not left them. Only `init` may call
/// it, once, before it lets jobs run.
fn read_variable(variable: &OsStr) -> Option<(File, File, i32)> {
    let mut numbers = variable.to_str()?.split(':').map(str::parse);
    let mut next = || numbers.next()?.ok();
    let [request, reply_to, parent]: [i32; 3] = [next()?, next()?, next()?];
    let is_open_as = |descriptor: RawFd, name: &str| {
        let link = fs::read_link(format!("/proc/self/fd/{descriptor}"));
        descriptor > 2
            && link.is_ok_and(|link| link.as_os_str().as_bytes().starts_with(name.as_bytes()))
    };
    if !is_open_as(request, &format!("/memfd:{REQUEST} ")) || !is_open_as(reply_to, "pipe:[") {
        return None;
    }
    let own = |descriptor: RawFd| {
        // SAFETY: it is open, and nothing of this process owns it. Only `start` makes a file of the request's name, and in
        // this process it has not run: no job runs before `init`. So another process's `start` has left the file for this
        // one, and with it the variable, which names the pipe that is left, too.
        let file = unsafe { File::from_raw_fd(descriptor) };
        // Not for commands.
        fcntl_setfd(&file, FdFlags::CLOEXEC).ok()?;
        Some(file)
    };
    Some((own(request)?, own(reply_to)?, parent))
}

/// Enters the sandbox of a request.
fn prepare(mut request: File, parent: i32, jobs: &[Job]) -> Result<(Job, Isolated), Error> {
    let mut bytes = Vec::new();
    let read = (request.rewind()).and_then(|()| request.read_to_end(&mut bytes));
    drop(request);
    let decoded = read.ok().and_then(|_| message::decode(&bytes));
    let request = decoded.ok_or(Error::DamagedRequest)?;
    let job = jobs.iter().find(|job| job.name == request.job);
    let job = *job.ok_or(Error::UnknownJob { job: request.job })?;
    // First, since the sandbox refuses to change it.
    set_parent_process_death_signal(Some(Signal::KILL)).map_err(in_step("end with the parent"))?;
    // A parent that ended before sends no signal.
    if getppid().map(Pid::as_raw_nonzero).map(i32::from) != Some(parent) {
        exit(NO_REQUEST);
    }
    let report = request.sandbox.enter()?;
    // SAFETY: the process has one thread, or the sandbox could not have been entered.
    unsafe { env::remove_var(JOB_VARIABLE) };
    let input = request.input;
    Ok((job, Isolated { input, report }))
}
