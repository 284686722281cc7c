//! Errors as Linux numbers.

use std::io::{self, ErrorKind};

/// The errors that have a kind but no number, such as those of streams that are not files.
const NUMBERS: &[(ErrorKind, i32)] = &[
    (ErrorKind::NotFound, libc::ENOENT),
    (ErrorKind::PermissionDenied, libc::EACCES),
    (ErrorKind::ConnectionRefused, libc::ECONNREFUSED),
    (ErrorKind::ConnectionReset, libc::ECONNRESET),
    (ErrorKind::HostUnreachable, libc::EHOSTUNREACH),
    (ErrorKind::NetworkUnreachable, libc::ENETUNREACH),
    (ErrorKind::ConnectionAborted, libc::ECONNABORTED),
    (ErrorKind::NotConnected, libc::ENOTCONN),
    (ErrorKind::AddrInUse, libc::EADDRINUSE),
    (ErrorKind::AddrNotAvailable, libc::EADDRNOTAVAIL),
    (ErrorKind::NetworkDown, libc::ENETDOWN),
    (ErrorKind::BrokenPipe, libc::EPIPE),
    (ErrorKind::AlreadyExists, libc::EEXIST),
    (ErrorKind::WouldBlock, libc::EWOULDBLOCK),
    (ErrorKind::NotADirectory, libc::ENOTDIR),
    (ErrorKind::IsADirectory, libc::EISDIR),
    (ErrorKind::DirectoryNotEmpty, libc::ENOTEMPTY),
    (ErrorKind::ReadOnlyFilesystem, libc::EROFS),
    (ErrorKind::StaleNetworkFileHandle, libc::ESTALE),
    (ErrorKind::InvalidInput, libc::EINVAL),
    (ErrorKind::TimedOut, libc::ETIMEDOUT),
    (ErrorKind::StorageFull, libc::ENOSPC),
    (ErrorKind::NotSeekable, libc::ESPIPE),
    (ErrorKind::QuotaExceeded, libc::EDQUOT),
    (ErrorKind::FileTooLarge, libc::EFBIG),
    (ErrorKind::ResourceBusy, libc::EBUSY),
    (ErrorKind::ExecutableFileBusy, libc::ETXTBSY),
    (ErrorKind::Deadlock, libc::EDEADLK),
    (ErrorKind::CrossesDevices, libc::EXDEV),
    (ErrorKind::TooManyLinks, libc::EMLINK),
    (ErrorKind::InvalidFilename, libc::ENAMETOOLONG),
    (ErrorKind::ArgumentListTooLong, libc::E2BIG),
    (ErrorKind::Interrupted, libc::EINTR),
    (ErrorKind::Unsupported, libc::EOPNOTSUPP),
    (ErrorKind::OutOfMemory, libc::ENOMEM),
];

/// The error of a Linux number.
pub(super) fn errno(number: i32) -> io::Error {
    io::Error::from_raw_os_error(number)
}

/// The Linux number of an error: `EIO` if no other fits.
pub(super) fn number_of(error: &io::Error) -> i32 {
    let from_kind = || {
        let known = NUMBERS.iter().find(|(kind, _)| *kind == error.kind());
        known.map_or(libc::EIO, |(_, number)| *number)
    };
    let number = error.raw_os_error().filter(|number| *number > 0);
    number.unwrap_or_else(from_kind)
}

/// The value that a host function returns to the device.
pub(super) fn to_reply(result: io::Result<u64>) -> i64 {
    match result {
        Ok(value) => i64::try_from(value).unwrap_or(i64::MAX),
        Err(error) => std_calls::error(number_of(&error)),
    }
}

/// The text of an error number, as `std` displays it.
pub(super) fn text_of(number: i32) -> String {
    let mut text = errno(number).to_string();
    if let Some(end) = text.rfind(" (os error ") {
        text.truncate(end);
    }
    text
}

/// Calls a function until no signal interrupts it.
pub(super) fn retry<T>(mut call: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    loop {
        match call() {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            result => return result,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_each_kind_has_that_kind() {
        for &(kind, number) in NUMBERS {
            assert_eq!(errno(number).kind(), kind, "{number}");
            assert_eq!(number_of(&io::Error::from(kind)), number);
        }
    }

    #[test]
    fn numbers_pass_unchanged_and_the_rest_is_an_input_output_error() {
        assert_eq!(number_of(&errno(libc::ENOTTY)), libc::ENOTTY);
        assert_eq!(number_of(&errno(0)), libc::EIO);
        assert_eq!(number_of(&errno(-2)), libc::EIO);
        assert_eq!(number_of(&io::Error::other("odd")), libc::EIO);
        assert_eq!(number_of(&io::Error::from(ErrorKind::WriteZero)), libc::EIO);
    }

    #[test]
    fn replies_are_values_or_negated_numbers() {
        assert_eq!(to_reply(Ok(5)), 5);
        assert_eq!(to_reply(Ok(u64::MAX)), i64::MAX);
        assert_eq!(to_reply(Err(errno(libc::EBADF))), -9);
    }

    #[test]
    fn texts_have_no_number() {
        assert_eq!(text_of(2), "No such file or directory");
        assert!(text_of(-1).starts_with("Unknown error"), "{}", text_of(-1));
        assert!(text_of(i32::MIN).starts_with("Unknown error"));
    }

    #[test]
    fn interrupted_calls_are_repeated() {
        let mut calls = 0;
        let result = retry(|| {
            calls += 1;
            if calls < 3 {
                Err(errno(libc::EINTR))
            } else {
                Ok(calls)
            }
        });
        assert_eq!(result.unwrap(), 3);
    }
}
