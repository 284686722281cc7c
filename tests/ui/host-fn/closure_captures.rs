//! A closure that other threads cannot run.

use std::cell::Cell;

use host_fn_test_calls::Ping;

fn main() {
    let calls = Cell::new(0);
    Ping::bind(move || calls.set(calls.get() + 1));
}
