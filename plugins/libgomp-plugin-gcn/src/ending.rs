//! What a kernel says of its own end: newlib's `exit` and `abort` leave a word for the host.

/// What is above the status of who has called `exit`.
const EXITED: u32 = 0xffff;

/// `SIGABRT`, on the device.
const ABORTED: u32 = 6;

/// Reads the word, 0 of a kernel that has left none.
///
/// # Errors
/// The kernel has ended by such a function, or the word is none of theirs.
pub(crate) fn check(value: i32) -> Result<(), String> {
    let value = value.cast_unsigned();
    match (value >> 16, value >> 8 & 0xff, value & 0xff) {
        (0, 0, 0) => Ok(()),
        (EXITED, 0, status) => Err(format!("it has called `exit` with {status} on the device")),
        (EXITED, ABORTED, _) => Err("it has called `abort` on the device".to_owned()),
        (EXITED, signal, _) => Err(format!("it has ended by signal {signal} on the device")),
        _ => Err(format!(
            "it has left {value:#x} as its return value, which is neither that of `exit` nor that \
             of `abort`: something has written over its queue"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_are_told_apart() {
        assert_eq!(check(0), Ok(()));
        for (value, text) in [
            (0xffff_0000, "`exit` with 0"),
            (0xffff_0003, "`exit` with 3"),
            (0xffff_0600, "`abort`"),
            (0xffff_0b00, "signal 11"),
            (0xdead_beef_u32, "0xdeadbeef"),
            (1, "0x1"),
        ] {
            let error = check(value.cast_signed()).unwrap_err();
            assert!(error.contains(text), "{error}");
        }
    }
}
