//! Kernels that print.

use core::fmt::{self, Display, Formatter};

use conformance_calls::{LONG_LINE, act};
use revoff_device::{dbg, eprint, eprintln, print, println, thread};

/// Thread `i` prints in each of `rounds` rounds; round `r` has the number `i * 1000000 + r`. In
/// turn it prints the number as an integer, as a double, and [`LONG_LINE`] followed by the number.
/// In each of `calls` rounds (0: none) it then calls `act` with the number. `ways[i]` is the number
/// of successful prints.
///
/// # Safety
/// There is a word for each thread.
#[revoff_device::kernel]
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
#[revoff_device::kernel]
pub fn print_texts() {
    for len in [0, 1, 127, 128, 129, 255, 256, 257, LONG_LINE.len()] {
        if let Some(text) = LONG_LINE.get(LONG_LINE.len() - len..) {
            print::text(text);
        }
    }
}

/// A text of several pieces, with characters of several bytes.
pub(crate) struct Long {
    pub(crate) me: u32,
    pub(crate) words: u32,
}

impl Display for Long {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        (0..self.words).try_for_each(|n| write!(f, "{n}\u{20ac}{}\u{1f4be}", self.me))
    }
}

/// Each thread prints, in each of `rounds` rounds, a short and a long line (of `words` words) to the
/// standard output, and both to the standard error.
#[revoff_device::kernel]
pub fn print_lines(rounds: u32, words: u32) {
    let me = thread::global();
    for round in 0..rounds {
        println!("short {me} {round}");
        println!("long {me} {round} {}", Long { me, words });
        eprintln!("short {me} {round}");
        eprintln!("long {me} {round} {}", Long { me, words });
    }
}

/// Prints by each macro, with and without arguments.
#[revoff_device::kernel]
pub fn print_by_macros(number: u32) {
    print!("a constant, ");
    print!("{number:>4}, {:?}, ", Some(1.5));
    println!();
    println!("a line");
    eprint!("an error ");
    eprintln!("of {number:#x}");
    dbg!();
    let doubled = dbg!(number * 2) + 1;
    let (one, two) = dbg!(doubled, "two");
    println!("{one} {two}");
}

/// The thread `victim` of all fails in the assertion `which`.
#[revoff_device::kernel]
pub fn fail(victim: u32, which: u32) {
    let me = thread::global();
    if me != victim {
        return;
    }
    match which {
        0 => revoff_device::assert!(me != victim),
        1 => revoff_device::assert!(me != victim, "thread {me} is {}", Long { me, words: 3 }),
        2 => revoff_device::assert_eq!(me + 1, victim, "of {}", 2),
        _ => revoff_device::assert_ne!(me, victim),
    }
}
