//! Error numbers are Linux's, on every host.

use crate::io::ErrorKind;
use crate::sys::pal;

pub fn errno() -> i32 {
    0
}

pub fn is_interrupted(code: i32) -> bool {
    code == 4
}

pub fn decode_error_kind(code: i32) -> ErrorKind {
    match code {
        1 | 13 => ErrorKind::PermissionDenied,
        2 => ErrorKind::NotFound,
        4 => ErrorKind::Interrupted,
        7 => ErrorKind::ArgumentListTooLong,
        11 => ErrorKind::WouldBlock,
        12 => ErrorKind::OutOfMemory,
        16 => ErrorKind::ResourceBusy,
        17 => ErrorKind::AlreadyExists,
        18 => ErrorKind::CrossesDevices,
        20 => ErrorKind::NotADirectory,
        21 => ErrorKind::IsADirectory,
        22 => ErrorKind::InvalidInput,
        26 => ErrorKind::ExecutableFileBusy,
        27 => ErrorKind::FileTooLarge,
        28 => ErrorKind::StorageFull,
        29 => ErrorKind::NotSeekable,
        30 => ErrorKind::ReadOnlyFilesystem,
        31 => ErrorKind::TooManyLinks,
        32 => ErrorKind::BrokenPipe,
        35 => ErrorKind::Deadlock,
        36 => ErrorKind::InvalidFilename,
        38 | 95 => ErrorKind::Unsupported,
        39 => ErrorKind::DirectoryNotEmpty,
        40 => ErrorKind::FilesystemLoop,
        98 => ErrorKind::AddrInUse,
        99 => ErrorKind::AddrNotAvailable,
        100 => ErrorKind::NetworkDown,
        101 => ErrorKind::NetworkUnreachable,
        103 => ErrorKind::ConnectionAborted,
        104 => ErrorKind::ConnectionReset,
        107 => ErrorKind::NotConnected,
        110 => ErrorKind::TimedOut,
        111 => ErrorKind::ConnectionRefused,
        113 => ErrorKind::HostUnreachable,
        115 => ErrorKind::InProgress,
        116 => ErrorKind::StaleNetworkFileHandle,
        122 => ErrorKind::QuotaExceeded,
        _ => ErrorKind::Uncategorized,
    }
}

pub fn error_string(code: i32) -> String {
    let text = pal::text(|text| pal::host::std_error_text(code, text)).unwrap_or_default();
    String::from_utf8_lossy(&text).into_owned()
}
