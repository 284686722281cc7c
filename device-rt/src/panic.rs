//! A panic in a kernel ends its launch. The device decides how much of it the host learns:
//!
//! | device | reported to the host |
//! |---|---|
//! | `host` | the whole message |
//! | NVIDIA | file and line, as an assertion that fails |
//! | AMD | file, line and column, in a [`PanicRecord`](shared_abi::image::PanicRecord) |
//!
//! On a GPU the message is not formatted: formatting would cost every kernel stack and registers.

use core::fmt::Write;
use core::panic::PanicInfo;

use crate::arch;

/// A message of bounded size, cut at the end.
struct Message {
    bytes: [u8; 256],
    len: usize,
}

impl Write for Message {
    fn write_str(&mut self, text: &str) -> core::fmt::Result {
        let room = self.bytes.len() - self.len;
        // Cut between characters, so that the message stays UTF-8.
        let take = (0..=room.min(text.len()))
            .rev()
            .find(|&n| text.is_char_boundary(n))
            .unwrap_or(0);
        self.bytes[self.len..self.len + take].copy_from_slice(&text.as_bytes()[..take]);
        self.len += take;
        Ok(())
    }
}

/// The panic handler of [`image!`](crate::image!).
///
/// Inlined, with its callees: each call takes stack on AMD GPUs, though none returns.
#[inline(always)]
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
