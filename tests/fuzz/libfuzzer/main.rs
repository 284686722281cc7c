//! The target that is called like this program.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let name = env!("CARGO_BIN_NAME");
    (fuzz::target(name).expect("a target").run)(bytes);
});
