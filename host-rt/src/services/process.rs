//! Questions of a program about itself and its surroundings.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::sync::OnceLock;
use std::time::SystemTime;

use super::errno::{errno, text_of};
use super::{Services, ServicesError, metadata};
use crate::base::lock::lock;

/// A function that gets the exit status.
pub(super) type ExitHandler = Box<dyn Fn(i32, &Services) + Send + Sync>;

/// The values that a program gets when it starts, and its end.
pub(super) struct Process {
    arguments: Vec<u8>,
    environment: Vec<u8>,
    program: Option<PathBuf>,
    status: OnceLock<i32>,
    on_exit: Option<ExitHandler>,
}

impl Process {
    pub(super) fn new(
        arguments: &[OsString],
        environment: &[(OsString, OsString)],
        program: Option<PathBuf>,
        on_exit: Option<ExitHandler>,
    ) -> Result<Self, ServicesError> {
        if let Some(program) = &program {
            without_nul("program path", program.as_os_str())?;
        }
        Ok(Self {
            arguments: argument_list(arguments)?,
            environment: variable_list(environment)?,
            program,
            status: OnceLock::new(),
            on_exit,
        })
    }

    pub(super) fn exit_status(&self) -> Option<i32> {
        self.status.get().copied()
    }
}

impl Services {
    pub(super) fn arguments(&self, list: &mut [u8]) -> io::Result<u64> {
        Ok(fill(list, &self.process.arguments))
    }

    pub(super) fn environment(&self, list: &mut [u8]) -> io::Result<u64> {
        Ok(fill(list, &self.process.environment))
    }

    pub(super) fn program(&self, path: &mut [u8]) -> io::Result<u64> {
        let program = self.process.program.as_ref();
        let program = program.ok_or_else(|| errno(libc::ENOENT))?;
        Ok(fill(path, program.as_os_str().as_bytes()))
    }

    pub(super) fn directory(&self, path: &mut [u8]) -> io::Result<u64> {
        Ok(fill(path, lock(&self.directory).as_os_str().as_bytes()))
    }

    /// Records the first exit status and calls the exit handler with it. Another thread that ends the
    /// program at the same time waits for the handler, which may end this process.
    pub(super) fn exit(&self, status: i32) {
        self.process.status.get_or_init(|| {
            if let Some(on_exit) = &self.process.on_exit {
                on_exit(status, self);
            }
            status
        });
    }
}

pub(super) fn system_time() -> i64 {
    metadata::nanoseconds(SystemTime::now())
}

pub(super) fn random(bytes: &mut [u8]) -> io::Result<u64> {
    getrandom::fill(bytes)?;
    Ok(0)
}

pub(super) fn error_text(number: i32, text: &mut [u8]) -> io::Result<u64> {
    Ok(fill(text, text_of(number).as_bytes()))
}

/// Copies as much of `text` as fits; returns its whole length.
pub(super) fn fill(buffer: &mut [u8], text: &[u8]) -> u64 {
    let count = buffer.len().min(text.len());
    buffer[..count].copy_from_slice(&text[..count]);
    text.len() as u64
}

fn argument_list(arguments: &[OsString]) -> Result<Vec<u8>, ServicesError> {
    let mut list = Vec::new();
    for argument in arguments {
        list.extend_from_slice(without_nul("argument", argument)?);
        list.push(0);
    }
    Ok(list)
}

fn variable_list(variables: &[(OsString, OsString)]) -> Result<Vec<u8>, ServicesError> {
    let mut list = Vec::new();
    for (name, value) in variables {
        let bytes = without_nul("environment variable", name)?;
        // Like `std`, which ends a name at the first `=` after its first byte.
        if bytes.is_empty() || bytes[1..].contains(&b'=') {
            return Err(ServicesError::VariableName { name: name.clone() });
        }
        list.extend_from_slice(bytes);
        list.push(b'=');
        list.extend_from_slice(without_nul("value of an environment variable", value)?);
        list.push(0);
    }
    Ok(list)
}

fn without_nul<'a>(setting: &'static str, value: &'a OsStr) -> Result<&'a [u8], ServicesError> {
    let bytes = value.as_bytes();
    if bytes.contains(&0) {
        let value = value.to_owned();
        return Err(ServicesError::Nul { setting, value });
    }
    Ok(bytes)
}
