//! Errors about devices that cannot be opened.

use revoff_host::Runtime;
use revoff_host::RuntimeError;
use revoff_host::device::DeviceError;

/// The error of opening a device.
pub(crate) fn refusal(device: &str) -> DeviceError {
    match Runtime::open(device) {
        Err(RuntimeError::Device(error)) => error,
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("it was opened"),
    }
}

/// Checks that an error's text contains all these words.
#[track_caller]
pub(crate) fn assert_names(error: &dyn std::error::Error, words: &[&str]) {
    let text = error.to_string();
    for word in words {
        assert!(text.contains(word), "no `{word}` in: {text}");
    }
}
