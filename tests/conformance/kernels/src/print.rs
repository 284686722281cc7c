//! Kernels that print.

use conformance_calls::{LONG_LINE, act};
use device_rt::{print, thread};

/// Thread `i` prints in each of `rounds` rounds; round `r` has the number `i * 1000000 + r`. In
/// turn it prints the number as an integer, as a double, and [`LONG_LINE`] followed by the number.
/// In each of `calls` rounds (0: none) it then calls `act` with the number. `ways[i]` is the number
/// of successful prints.
///
/// # Safety
/// There is a word for each thread.
#[device_rt::kernel]
pub unsafe fn print_and_call(rounds: u32, calls: u32, ways: *mut u32) {
    let me = thread::global();
    let mut way = 0;
    for round in 0..rounds {
        let number = u64::from(me) * 1_000_000 + u64::from(round);
        let printed = match round % 3 {
            0 => print::integer("integer ", number as i64),
            1 => print::double("double ", number as f64),
            _ => print::text(LONG_LINE) && print::integer("long ", number as i64),
        };
        way += u32::from(printed);
        if calls != 0 && round % calls == 0 {
            let _ = act(number);
        }
    }
    // SAFETY: each thread writes its own.
    unsafe { ways.add(me as usize).write(way) };
}

/// Prints a text that is empty, one that fills a half of a message, one that fills it, and one byte
/// more.
#[device_rt::kernel]
pub fn print_texts() {
    for len in [0, 1, 127, 128, 129, 255, 256, 257, LONG_LINE.len()] {
        if let Some(text) = LONG_LINE.get(LONG_LINE.len() - len..) {
            print::text(text);
        }
    }
}
