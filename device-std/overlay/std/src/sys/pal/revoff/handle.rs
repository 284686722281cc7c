//! Handles to objects that the host has opened for the program, such as files and sockets.

use super::host::std_close;
use super::result;
use crate::io;

/// A number for something that the host has opened. Dropping it closes that.
#[derive(Debug)]
pub struct Handle(u32);

impl Handle {
    /// The handle that a call to the host returned.
    pub fn new(returned: i64) -> io::Result<Handle> {
        result(returned).map(|number| Handle::from_number(number as u32))
    }

    /// A handle that nothing else owns.
    pub fn from_number(number: u32) -> Handle {
        Handle(number)
    }

    pub fn number(&self) -> u32 {
        self.0
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        // As on Unix, nobody can do anything about an error.
        let _ = std_close(self.0);
    }
}
