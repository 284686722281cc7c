//! The end of a kernel by `exit` or `abort`: newlib leaves a word for the host, and the process
//! ends accordingly, as with GCC's plugin.

use gomp_plugin::launch::{Abort, Fault};

/// The upper bits of the word after `exit`, above the status.
const EXITED: u32 = 0xffff;

/// `SIGABRT`, on the device.
const ABORTED: u32 = 6;

/// Checks the word that the kernel `name` has left; 0 if it has left none.
///
/// # Errors
/// The kernel ended by such a function, or the word is invalid.
pub(crate) fn check(name: &str, value: i32) -> Result<(), Fault> {
    let value = value.cast_unsigned();
    let aborted = |how| {
        let kernel = name.to_owned();
        Err(Fault::Aborted { kernel, how })
    };
    match (value >> 16, value >> 8 & 0xff, value & 0xff) {
        (0, 0, 0) => Ok(()),
        (EXITED, 0, status) => Err(Fault::Exited(status.cast_signed())),
        (EXITED, ABORTED, _) => aborted(Abort::Called),
        (EXITED, signal, _) => aborted(Abort::Signal(signal)),
        _ => aborted(Abort::Overwritten(value)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_are_told_apart() {
        let check = |value: u32| check("main._omp_fn.0", value.cast_signed());
        check(0).unwrap();
        assert!(matches!(check(0xffff_0000), Err(Fault::Exited(0))));
        assert!(matches!(check(0xffff_0003), Err(Fault::Exited(3))));
        for (value, how, text) in [
            (0xffff_0686, Abort::Called, "`abort`"),
            (0xffff_0b00, Abort::Signal(11), "signal 11"),
            (0xdead_beef, Abort::Overwritten(0xdead_beef), "0xdeadbeef"),
            (1, Abort::Overwritten(1), "0x1"),
        ] {
            let fault = check(value).unwrap_err();
            let message = fault.to_string();
            assert!(
                message.contains(text) && message.contains("`main._omp_fn.0`"),
                "{message}"
            );
            assert!(
                matches!(fault, Fault::Aborted { how: found, .. } if found == how),
                "{value:#x}: {fault:?}"
            );
        }
    }
}
