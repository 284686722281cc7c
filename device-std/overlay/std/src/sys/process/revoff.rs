//! Child processes of the host.

use super::env::{CommandEnv, CommandEnvs};
pub use crate::ffi::OsString as EnvKey;
use crate::ffi::{OsStr, OsString};
use crate::num::NonZero;
use crate::path::Path;
use crate::process::StdioPipes;
use crate::sys::fs::File;
use crate::sys::pal::host::*;
use crate::sys::pal::{self, ChildStreams, Handle, RUNNING, StartedChild, result};
pub use crate::sys::pipe::Pipe as ChildPipe;
use crate::{fmt, io, slice};

/// Bytes of one read of a child's output.
const READ: usize = 8192;

pub struct Command {
    program: OsString,
    /// The first is the program.
    args: Vec<OsString>,
    env: CommandEnv,
    cwd: Option<OsString>,
    stdin: Option<Stdio>,
    stdout: Option<Stdio>,
    stderr: Option<Stdio>,
}

#[derive(Debug)]
pub enum Stdio {
    Inherit,
    Null,
    MakePipe,
    ParentStdout,
    ParentStderr,
    File(File),
}

impl Stdio {
    /// Its number for the host. `standard` is the number of the stream that a child may inherit.
    fn to_host(&self, standard: u32) -> u32 {
        match self {
            Stdio::Inherit => standard,
            Stdio::Null => ChildStreams::NULL,
            Stdio::MakePipe => ChildStreams::PIPE,
            Stdio::ParentStdout => 1,
            Stdio::ParentStderr => 2,
            Stdio::File(file) => file.handle(),
        }
    }
}

/// Adds an element to a list.
fn push(list: &mut Vec<u8>, parts: &[&OsStr]) -> io::Result<()> {
    for part in parts {
        list.extend_from_slice(without_nul(part)?);
    }
    list.push(0);
    Ok(())
}

fn without_nul(text: &OsStr) -> io::Result<&[u8]> {
    let bytes = text.as_encoded_bytes();
    if bytes.contains(&0) {
        return Err(io::const_error!(
            io::ErrorKind::InvalidInput,
            "nul byte found in provided data",
        ));
    }
    Ok(bytes)
}

impl Command {
    pub fn new(program: &OsStr) -> Command {
        Command {
            program: program.to_owned(),
            args: vec![program.to_owned()],
            env: Default::default(),
            cwd: None,
            stdin: None,
            stdout: None,
            stderr: None,
        }
    }

    pub fn arg(&mut self, arg: &OsStr) {
        self.args.push(arg.to_owned());
    }

    pub fn env_mut(&mut self) -> &mut CommandEnv {
        &mut self.env
    }

    pub fn cwd(&mut self, dir: &OsStr) {
        self.cwd = Some(dir.to_owned());
    }

    pub fn stdin(&mut self, stdin: Stdio) {
        self.stdin = Some(stdin);
    }

    pub fn stdout(&mut self, stdout: Stdio) {
        self.stdout = Some(stdout);
    }

    pub fn stderr(&mut self, stderr: Stdio) {
        self.stderr = Some(stderr);
    }

    pub fn get_program(&self) -> &OsStr {
        &self.program
    }

    pub fn get_args(&self) -> CommandArgs<'_> {
        CommandArgs { iter: self.args[1..].iter() }
    }

    pub fn get_envs(&self) -> CommandEnvs<'_> {
        self.env.iter()
    }

    pub fn get_env_clear(&self) -> bool {
        self.env.does_clear()
    }

    pub fn get_current_dir(&self) -> Option<&Path> {
        self.cwd.as_deref().map(Path::new)
    }

    pub fn spawn(
        &mut self,
        default: Stdio,
        needs_stdin: bool,
    ) -> io::Result<(Process, StdioPipes)> {
        let mut arguments = Vec::new();
        for argument in self.get_args() {
            push(&mut arguments, &[argument])?;
        }
        let mut environment = Vec::new();
        for (name, value) in self.env.capture() {
            push(&mut environment, &[&name, OsStr::new("="), &value])?;
        }
        let directory = match &self.cwd {
            // As on Unix, that is no folder. The host would take an empty path for none.
            Some(directory) if directory.is_empty() => {
                return Err(io::Error::from_raw_os_error(2));
            }
            Some(directory) => without_nul(directory)?,
            None => &[],
        };
        let default_stdin = if needs_stdin { &default } else { &Stdio::Null };
        let streams = ChildStreams {
            stdin: self.stdin.as_ref().unwrap_or(default_stdin).to_host(0),
            stdout: self.stdout.as_ref().unwrap_or(&default).to_host(1),
            stderr: self.stderr.as_ref().unwrap_or(&default).to_host(2),
        };
        let mut started = StartedChild { child: 0, id: 0, stdin: 0, stdout: 0, stderr: 0 };
        result(std_start_child(
            without_nul(&self.program)?,
            &arguments,
            &environment,
            directory,
            &streams,
            &mut started,
        ))?;
        let pipe = |handle: u32| (handle != 0).then(|| ChildPipe::new(handle));
        let process = Process {
            handle: Handle::from_number(started.child),
            id: started.id,
            status: None,
        };
        let pipes = StdioPipes {
            stdin: pipe(started.stdin),
            stdout: pipe(started.stdout),
            stderr: pipe(started.stderr),
        };
        Ok((process, pipes))
    }
}

impl From<ChildPipe> for Stdio {
    fn from(pipe: ChildPipe) -> Stdio {
        Stdio::File(pipe.into_file())
    }
}

impl From<io::Stdout> for Stdio {
    fn from(_: io::Stdout) -> Stdio {
        Stdio::ParentStdout
    }
}

impl From<io::Stderr> for Stdio {
    fn from(_: io::Stderr) -> Stdio {
        Stdio::ParentStderr
    }
}

impl From<File> for Stdio {
    fn from(file: File) -> Stdio {
        Stdio::File(file)
    }
}

/// A command as one would type it, or with `#` its fields: as Unix shows it.
impl fmt::Debug for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if f.alternate() {
            let mut fields = f.debug_struct("Command");
            fields.field("program", &self.program).field("args", &self.args);
            if !self.env.is_unchanged() {
                fields.field("env", &self.env);
            }
            if self.cwd.is_some() {
                fields.field("cwd", &self.cwd);
            }
            let streams =
                [("stdin", &self.stdin), ("stdout", &self.stdout), ("stderr", &self.stderr)];
            for (name, stream) in streams {
                if stream.is_some() {
                    fields.field(name, stream);
                }
            }
            return fields.finish();
        }
        if let Some(directory) = &self.cwd {
            write!(f, "cd {directory:?} && ")?;
        }
        if self.env.does_clear() {
            f.write_str("env -i ")?;
        } else {
            let mut removed = self.get_envs().filter(|(_, value)| value.is_none()).peekable();
            if removed.peek().is_some() {
                f.write_str("env ")?;
            }
            for (name, _) in removed {
                write!(f, "-u {} ", name.to_string_lossy())?;
            }
        }
        for (name, value) in self.get_envs() {
            if let Some(value) = value {
                write!(f, "{}={value:?} ", name.to_string_lossy())?;
            }
        }
        write!(f, "{:?}", self.program)?;
        for argument in self.get_args() {
            write!(f, " {argument:?}")?;
        }
        Ok(())
    }
}

/// A status as Linux has it: the exit code in the second byte, or a signal in the first.
#[derive(PartialEq, Eq, Clone, Copy, Default)]
pub struct ExitStatus(i32);

impl ExitStatus {
    pub fn exit_ok(&self) -> Result<(), ExitStatusError> {
        match NonZero::new(self.0) {
            Some(failure) => Err(ExitStatusError(failure)),
            None => Ok(()),
        }
    }

    pub fn code(&self) -> Option<i32> {
        (self.0 & 0x7f == 0).then_some(self.0 >> 8 & 0xff)
    }
}

impl fmt::Debug for ExitStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("unix_wait_status").field(&self.0).finish()
    }
}

impl fmt::Display for ExitStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = pal::text(|text| std_exit_status_text(self.0, text)).unwrap_or_default();
        f.write_str(&String::from_utf8_lossy(&text))
    }
}

#[derive(PartialEq, Eq, Clone, Copy)]
pub struct ExitStatusError(NonZero<i32>);

impl ExitStatusError {
    pub fn code(self) -> Option<NonZero<i32>> {
        ExitStatus(self.0.get()).code().and_then(NonZero::new)
    }
}

impl fmt::Debug for ExitStatusError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("unix_wait_status").field(&self.0).finish()
    }
}

impl Into<ExitStatus> for ExitStatusError {
    fn into(self) -> ExitStatus {
        ExitStatus(self.0.get())
    }
}

#[derive(PartialEq, Eq, Clone, Copy)]
pub struct ExitCode(u8);

impl ExitCode {
    pub const SUCCESS: ExitCode = ExitCode(0);
    pub const FAILURE: ExitCode = ExitCode(1);

    pub fn as_i32(&self) -> i32 {
        self.0 as i32
    }
}

impl From<u8> for ExitCode {
    fn from(code: u8) -> Self {
        Self(code)
    }
}

impl fmt::Debug for ExitCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("unix_exit_status").field(&self.0).finish()
    }
}

pub struct Process {
    handle: Handle,
    id: u32,
    status: Option<ExitStatus>,
}

impl Process {
    pub fn id(&self) -> u32 {
        self.id
    }

    pub fn kill(&mut self) -> io::Result<()> {
        match self.status {
            Some(_) => Ok(()),
            None => result(std_kill_child(self.handle.number())).map(drop),
        }
    }

    pub fn wait(&mut self) -> io::Result<ExitStatus> {
        match self.status {
            Some(status) => Ok(status),
            None => {
                let status = result(std_wait_child(self.handle.number(), 1))?;
                Ok(*self.status.insert(ExitStatus(status as i32)))
            }
        }
    }

    pub fn try_wait(&mut self) -> io::Result<Option<ExitStatus>> {
        if self.status.is_none() {
            let status = result(std_wait_child(self.handle.number(), 0))?;
            if status != RUNNING as u64 {
                self.status = Some(ExitStatus(status as i32));
            }
        }
        Ok(self.status)
    }
}

pub struct CommandArgs<'a> {
    iter: slice::Iter<'a, OsString>,
}

impl<'a> Iterator for CommandArgs<'a> {
    type Item = &'a OsStr;

    fn next(&mut self) -> Option<&'a OsStr> {
        self.iter.next().map(OsString::as_os_str)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.iter.size_hint()
    }
}

impl<'a> ExactSizeIterator for CommandArgs<'a> {
    fn len(&self) -> usize {
        self.iter.len()
    }

    fn is_empty(&self) -> bool {
        self.iter.is_empty()
    }
}

impl<'a> fmt::Debug for CommandArgs<'a> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter.clone()).finish()
    }
}

/// Reads both outputs of a child as they arrive: a child may wait until one of them is read.
pub fn read_output(
    out: ChildPipe,
    stdout: &mut Vec<u8>,
    err: ChildPipe,
    stderr: &mut Vec<u8>,
) -> io::Result<()> {
    loop {
        let ready = result(std_wait_readable(out.file().handle(), err.file().handle()))?;
        if ready & 1 != 0 && !read_some(&out, stdout)? {
            return err.read_to_end(stderr).map(drop);
        }
        if ready & 2 != 0 && !read_some(&err, stderr)? {
            return out.read_to_end(stdout).map(drop);
        }
    }
}

/// Reads once, which does not wait. Returns false at the end.
fn read_some(pipe: &ChildPipe, to: &mut Vec<u8>) -> io::Result<bool> {
    let start = to.len();
    to.resize(start + READ, 0);
    let count = pipe.read(&mut to[start..]);
    to.truncate(start + *count.as_ref().unwrap_or(&0));
    count.map(|count| count > 0)
}

pub fn getpid() -> u32 {
    std_process_id()
}
