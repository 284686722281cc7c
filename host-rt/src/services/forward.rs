//! What children write to streams of the program that are not those of the process.

use std::io::{self, PipeReader, PipeWriter, Read};
use std::sync::{Arc, Mutex};
use std::thread;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::errors::retry;
use super::streams::Streams;
use crate::base::lock::lock;

/// Copies what arrives in a pipe to a standard stream of the program.
pub(super) struct Forward {
    pipe: Mutex<PipeReader>,
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
            pipe: Mutex::new(reader),
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

    /// Copies all that the pipe has. Returns false at its end, or if the stream fails.
    pub(super) fn copy_available(&self) -> bool {
        let mut pipe = lock(&self.pipe);
        let mut bytes = [0; 4096];
        while is_readable(&pipe, Some(&Timespec::default())) {
            match retry(|| pipe.read(&mut bytes)) {
                Ok(0) | Err(_) => return false,
                Ok(count) => {
                    if self.streams.write(self.stream, &bytes[..count]).is_err() {
                        return false;
                    }
                }
            }
        }
        true
    }
}

/// Waits until a read returns immediately. False if the time is over.
fn is_readable(pipe: &PipeReader, timeout: Option<&Timespec>) -> bool {
    let mut files = [PollFd::new(pipe, PollFlags::IN)];
    retry(|| Ok(poll(&mut files, timeout)?)).is_ok_and(|count| count > 0)
}
