//! Pipes of the host: their ends are files.

use crate::fmt;
use crate::io::{self, BorrowedCursor, IoSlice, IoSliceMut, Read};
use crate::sys::fs::File;
use crate::sys::pal::host::std_pipe;
use crate::sys::pal::{Handle, PipeEnds, result};

pub struct Pipe(File);

pub fn pipe() -> io::Result<(Pipe, Pipe)> {
    let mut ends = PipeEnds { reader: 0, writer: 0 };
    result(std_pipe(&mut ends))?;
    Ok((Pipe::new(ends.reader), Pipe::new(ends.writer)))
}

impl Pipe {
    /// The end of a pipe with a handle that nothing else owns.
    pub fn new(handle: u32) -> Pipe {
        Pipe(File::from_handle(Handle::from_number(handle)))
    }

    pub fn file(&self) -> &File {
        &self.0
    }

    pub fn into_file(self) -> File {
        self.0
    }

    pub fn try_clone(&self) -> io::Result<Self> {
        self.0.duplicate().map(Pipe)
    }

    pub fn read(&self, buf: &mut [u8]) -> io::Result<usize> {
        self.0.read(buf)
    }

    pub fn read_buf(&self, cursor: BorrowedCursor<'_>) -> io::Result<()> {
        self.0.read_buf(cursor)
    }

    pub fn read_vectored(&self, bufs: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
        self.0.read_vectored(bufs)
    }

    pub fn is_read_vectored(&self) -> bool {
        self.0.is_read_vectored()
    }

    pub fn read_to_end(&self, buf: &mut Vec<u8>) -> io::Result<usize> {
        struct Reader<'a>(&'a Pipe);

        impl Read for Reader<'_> {
            fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
                self.0.read(buf)
            }
        }

        Reader(self).read_to_end(buf)
    }

    pub fn write(&self, buf: &[u8]) -> io::Result<usize> {
        self.0.write(buf)
    }

    pub fn write_vectored(&self, bufs: &[IoSlice<'_>]) -> io::Result<usize> {
        self.0.write_vectored(bufs)
    }

    pub fn is_write_vectored(&self) -> bool {
        self.0.is_write_vectored()
    }
}

impl fmt::Debug for Pipe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
