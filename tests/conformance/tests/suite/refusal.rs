//! What is said of a device that cannot be opened.

use host_rt::Runtime;
use host_rt::error::{DeviceError, Error};

/// Why it cannot be.
pub(crate) fn refusal(device: &str) -> DeviceError {
    match Runtime::open(device) {
        Err(Error::Device(error)) => error,
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("it was opened"),
    }
}

/// Checks that all of these are in the words of an error.
#[track_caller]
pub(crate) fn says(error: &dyn std::error::Error, words: &[&str]) {
    let text = error.to_string();
    for word in words {
        assert!(text.contains(word), "no `{word}` in: {text}");
    }
}
