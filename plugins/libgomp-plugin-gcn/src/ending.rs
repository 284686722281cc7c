//! The end of a kernel by `exit` or `abort`: newlib leaves a word for the host, and the process
//! ends accordingly, as with GCC's plugin.

use gomp_plugin::region::Fault;

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
    let aborted = |how: String| Err(Fault::Aborted(format!("kernel `{name}`: {how}")));
    match (value >> 16, value >> 8 & 0xff, value & 0xff) {
        (0, 0, 0) => Ok(()),
        (EXITED, 0, status) => Err(Fault::Exited(status.cast_signed())),
        (EXITED, ABORTED, _) => aborted("it has called `abort` on the device".to_owned()),
        (EXITED, signal, _) => aborted(format!("it has ended by signal {signal} on the device")),
        _ => aborted(format!(
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
        let check = |value: u32| check("main._omp_fn.0", value.cast_signed());
        assert_eq!(check(0), Ok(()));
        assert_eq!(check(0xffff_0000), Err(Fault::Exited(0)));
        assert_eq!(check(0xffff_0003), Err(Fault::Exited(3)));
        for (value, text) in [
            (0xffff_0686, "`abort`"),
            (0xffff_0b00, "signal 11"),
            (0xdead_beef, "0xdeadbeef"),
            (1, "0x1"),
        ] {
            match check(value) {
                Err(Fault::Aborted(how)) => {
                    assert!(
                        how.contains(text) && how.contains("`main._omp_fn.0`"),
                        "{how}"
                    );
                }
                other => panic!("{value:#x}: {other:?}"),
            }
        }
    }
}
