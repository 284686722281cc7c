//! Copies the output of children to streams of the program that are not those of the process.

use std::io::{self, PipeReader, PipeWriter, Read};
use std::sync::{Arc, Mutex};
use std::thread;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::errno::retry;
use super::streams::Streams;
use crate::base::lock::lock;

/// Copies what arrives in a pipe to a standard stream of the program.
pub(super) struct Forward {
    /// `None` at its end, or when the stream has failed: a child that writes on gets an error then.
    pipe: Mutex<Option<PipeReader>>,
    streams: Arc<Streams>,
    stream: u32,
}

impl Forward {
    /// Starts to copy to a stream. Returns the end of the pipe for the child.
    pub(super) fn start(
        streams: &Arc<Streams>,
        stream: u32,
    ) -> io::Result<(Arc<Self>, PipeWriter)> {
        let (reader, writer) = io::pipe()?;
        let waiting = reader.try_clone()?;
        let forward = Arc::new(Self {
            pipe: Mutex::new(Some(reader)),
            streams: Arc::clone(streams),
            stream,
        });
        let copying = Arc::clone(&forward);
        thread::Builder::new()
            .name("output of child".to_owned())
            .spawn(move || {
                // Without the lock: a wait for the child copies as well.
                while is_readable(&waiting, None) && copying.copy_available() {}
            })?;
        Ok((forward, writer))
    }

    /// Copies what the pipe has now. Returns false at its end, or if the stream fails.
    pub(super) fn copy_available(&self) -> bool {
        let mut pipe = lock(&self.pipe);
        let goes_on = pipe.as_mut().is_some_and(|pipe| self.copy_from(pipe));
        if !goes_on {
            *pipe = None;
        }
        goes_on
    }

    fn copy_from(&self, pipe: &mut PipeReader) -> bool {
        let mut bytes = [0; 4096];
        // Not for as long as there is more: another process may never stop to write.
        let mut left = rustix::io::ioctl_fionread(&*pipe).unwrap_or(0);
        loop {
            if !is_readable(pipe, Some(&Timespec::default())) {
                return true;
            }
            match retry(|| pipe.read(&mut bytes)) {
                Ok(0) | Err(_) => return false,
                Ok(count) => {
                    if self.streams.write(self.stream, &bytes[..count]).is_err() {
                        return false;
                    }
                    left = left.saturating_sub(count as u64);
                    if left == 0 {
                        return true;
                    }
                }
            }
        }
    }
}

/// Waits until a read returns immediately. False if the time is over.
fn is_readable(pipe: &PipeReader, timeout: Option<&Timespec>) -> bool {
    let mut files = [PollFd::new(pipe, PollFlags::IN)];
    retry(|| Ok(poll(&mut files, timeout)?)).is_ok_and(|count| count > 0)
}
