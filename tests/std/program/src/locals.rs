//! Thread-local variables and their destructors.

use std::cell::{Cell, RefCell};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

static DROPPED: AtomicU32 = AtomicU32::new(0);

struct Counted(u32);

/// Prints at its end.
struct Last;

impl Drop for Last {
    fn drop(&mut self) {
        println!("the end of main");
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        DROPPED.fetch_add(self.0, Ordering::Relaxed);
    }
}

thread_local! {
    static NUMBER: Cell<u32> = const { Cell::new(1) };
    static TEXT: RefCell<String> = RefCell::new("start".to_owned());
    static COUNTED: RefCell<Option<Counted>> = const { RefCell::new(None) };
    static LAST: RefCell<Option<Last>> = const { RefCell::new(None) };
}

pub fn check() {
    LAST.set(Some(Last));
    NUMBER.set(10);
    TEXT.with_borrow_mut(|text| text.push_str(" of main"));
    let threads: Vec<_> = (0..3)
        .map(|n| {
            thread::spawn(move || {
                let first = NUMBER.get();
                NUMBER.set(first + n);
                COUNTED.set(Some(Counted(1 << n)));
                TEXT.with_borrow_mut(|text| text.push_str(&format!(" {n}")));
                (first, NUMBER.get(), TEXT.with_borrow(String::clone))
            })
        })
        .collect();
    for thread in threads {
        println!("{:?}", thread.join().expect("joined"));
    }
    println!("{} {:?}", NUMBER.get(), TEXT.take());
    println!("{}", DROPPED.load(Ordering::Relaxed));
    // A new thread on the same warp has none of the values of an earlier one.
    println!("{}", thread::spawn(|| NUMBER.get()).join().expect("joined"));
}
