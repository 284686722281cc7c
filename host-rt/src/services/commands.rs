//! Commands, and the child processes that run them.

use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;

use std_calls::{ChildStreams, RUNNING, StartedChild};

use super::Services;
use super::child::ChildProcess;
use super::errno::errno;
use super::forward::Forward;
use super::handles::Handle;
use super::pipes;
use super::process::fill;
use crate::base::lock::lock;

/// Text of a device.
fn text(bytes: &[u8]) -> io::Result<&OsStr> {
    if bytes.contains(&0) {
        return Err(errno(libc::EINVAL));
    }
    Ok(OsStr::from_bytes(bytes))
}

/// The elements of a list, each of which a NUL follows.
fn elements(list: &[u8]) -> impl Iterator<Item = &[u8]> {
    list.split_inclusive(|byte| *byte == 0)
        .map(|element| element.strip_suffix(b"\0").unwrap_or(element))
}

/// The name and value of a variable `NAME=VALUE`; a name may start with `=`.
fn variable(bytes: &[u8]) -> Option<(&OsStr, &OsStr)> {
    let end = bytes.iter().skip(1).position(|byte| *byte == b'=');
    let end = end.map(|end| end + 1);
    let end = end.or_else(|| bytes.starts_with(b"=").then_some(0))?;
    let (name, value) = (&bytes[..end], &bytes[end + 1..]);
    Some((OsStr::from_bytes(name), OsStr::from_bytes(value)))
}

impl Services {
    pub(super) fn start_child(
        &self,
        program: &[u8],
        arguments: &[u8],
        environment: &[u8],
        directory: &[u8],
        streams: &ChildStreams,
        started: &mut StartedChild,
    ) -> io::Result<u64> {
        if !self.allows_commands {
            return Err(errno(libc::EACCES));
        }
        let streams = *streams;
        let working_directory = lock(&self.directory).clone();
        let directory = match directory {
            [] => working_directory,
            directory => working_directory.join(text(directory)?),
        };
        let mut command = Command::new(text(program)?);
        command
            .args(elements(arguments).map(OsStr::from_bytes))
            .env_clear()
            .envs(elements(environment).filter_map(variable))
            .current_dir(directory);
        let mut outputs = Vec::new();
        command
            .stdin(self.child_input(streams.stdin)?)
            .stdout(self.child_output(streams.stdout, &mut outputs)?)
            .stderr(self.child_output(streams.stderr, &mut outputs)?);

        let streams = [streams.stdin, streams.stdout, streams.stderr];
        let pipes = streams.iter().filter(|s| **s == ChildStreams::PIPE);
        let mut id = 0;
        let handles = self.handles.insert_all(1 + pipes.count(), || {
            let mut child = command.spawn()?;
            id = child.id();
            let stdin = child.stdin.take().map(pipes::end);
            let stdout = child.stdout.take().map(pipes::end);
            let stderr = child.stderr.take().map(pipes::end);
            let child = ChildProcess::new(child, outputs);
            let child = Handle::Child(Arc::new(child));
            Ok([Some(child), stdin, stdout, stderr])
        })?;
        let [child, stdin, stdout, stderr] = handles.map(Option::unwrap_or_default);
        *started = StartedChild {
            child,
            id,
            stdin,
            stdout,
            stderr,
        };
        Ok(0)
    }

    /// The standard input of a child.
    fn child_input(&self, stream: u32) -> io::Result<Stdio> {
        match stream {
            ChildStreams::NULL => Ok(Stdio::null()),
            ChildStreams::PIPE => Ok(Stdio::piped()),
            0 if self.streams.is_of_process(0) => Ok(Stdio::inherit()),
            // A reader gives its bytes to the program alone: how many of them a child wants is
            // unknown.
            0 => Ok(Stdio::null()),
            1 | 2 => Err(errno(libc::EINVAL)),
            file => self.child_file(file),
        }
    }

    /// The standard output or error of a child.
    fn child_output(&self, stream: u32, outputs: &mut Vec<Arc<Forward>>) -> io::Result<Stdio> {
        match stream {
            ChildStreams::NULL => Ok(Stdio::null()),
            ChildStreams::PIPE => Ok(Stdio::piped()),
            0 => Err(errno(libc::EINVAL)),
            1 if self.streams.is_of_process(1) => Ok(Stdio::from(io::stdout())),
            2 if self.streams.is_of_process(2) => Ok(Stdio::from(io::stderr())),
            1 | 2 => {
                let (forward, writer) = Forward::start(&self.streams, stream)?;
                outputs.push(forward);
                Ok(Stdio::from(writer))
            }
            file => self.child_file(file),
        }
    }

    fn child_file(&self, file: u32) -> io::Result<Stdio> {
        let open = self.handles.file(file)?;
        Ok(Stdio::from(open.file.try_clone()?))
    }

    pub(super) fn wait_child(&self, child: u32, block: u32) -> io::Result<u64> {
        let process = self.handles.child(child)?;
        let status = match block {
            0 => process.with(Child::try_wait)?,
            _ => Some(process.with(Child::wait)?),
        };
        Ok(status.map_or(RUNNING.cast_unsigned(), |status| process.ended(status)))
    }

    pub(super) fn kill_child(&self, child: u32) -> io::Result<u64> {
        self.handles.child(child)?.with(Child::kill)?;
        Ok(0)
    }
}

/// The text of a status, as `std` displays it.
pub(super) fn exit_status_text(status: i32, text: &mut [u8]) -> io::Result<u64> {
    let shown = ExitStatus::from_raw(status).to_string();
    Ok(fill(text, shown.as_bytes()))
}
