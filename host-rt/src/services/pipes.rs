//! Pipes, whose ends are files.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use rustix::event::{PollFd, PollFlags, poll};
use std_calls::PipeEnds;

use super::Services;
use super::errno::retry;
use super::handles::{Handle, OpenFile};

/// An end of a pipe. The program cannot change its permissions and times.
pub(super) fn end(end: impl Into<OwnedFd>) -> Handle {
    Handle::File(Arc::new(OpenFile {
        file: File::from(end.into()),
        may_change: false,
    }))
}

impl Services {
    pub(super) fn pipe(&self, ends: &mut PipeEnds) -> io::Result<u64> {
        let handles = self.handles.insert_all(2, || {
            let (reader, writer) = io::pipe()?;
            Ok([Some(end(reader)), Some(end(writer))])
        })?;
        let [reader, writer] = handles.map(Option::unwrap_or_default);
        *ends = PipeEnds { reader, writer };
        Ok(0)
    }

    pub(super) fn wait_readable(&self, first: u32, second: u32) -> io::Result<u64> {
        let (first, second) = (self.handles.file(first)?, self.handles.file(second)?);
        let mut files = [&first, &second].map(|open| PollFd::new(&open.file, PollFlags::IN));
        retry(|| Ok(poll(&mut files, None)?))?;
        // The end of a file and an error count as well: a read returns them.
        let [first, second] = files.map(|file| u64::from(!file.revents().is_empty()));
        Ok(first | second << 1)
    }
}
