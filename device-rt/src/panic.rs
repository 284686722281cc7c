//! A panic in a kernel ends its launch.

use core::fmt::Write;
use core::panic::PanicInfo;

use crate::arch;

/// A message of bounded size, cut where it is full.
struct Message {
    bytes: [u8; 256],
    len: usize,
}

impl Write for Message {
    fn write_str(&mut self, text: &str) -> core::fmt::Result {
        let room = self.bytes.len() - self.len;
        // Cut at a character's end, so that the message stays UTF-8.
        let take = (0..=room.min(text.len()))
            .rev()
            .find(|&n| text.is_char_boundary(n))
            .unwrap_or(0);
        self.bytes[self.len..self.len + take].copy_from_slice(&text.as_bytes()[..take]);
        self.len += take;
        Ok(())
    }
}

/// What [`image!`](crate::image) calls from the panic handler.
pub fn panicked(info: &PanicInfo<'_>) -> ! {
    if !arch::HAS_MESSAGES {
        arch::trap_at(info.location());
    }
    let mut message = Message {
        bytes: [0; 256],
        len: 0,
    };
    let _ = write!(message, "{info}");
    let text = core::str::from_utf8(&message.bytes[..message.len]).unwrap_or("panic");
    arch::trap(text)
}
