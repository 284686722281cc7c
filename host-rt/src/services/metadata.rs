//! Metadata and times of files.

use std::time::{SystemTime, UNIX_EPOCH};

use cap_std::fs::{Metadata, MetadataExt};
use rustix::fs::{Timespec, Timestamps, UTIME_OMIT};
use std_calls::{FileStatus, FileTimes, NO_TIME};

/// The permissions within a mode.
pub(super) const MODE_BITS: u32 = 0o7777;

const NANOSECONDS: i64 = 1_000_000_000;

/// The metadata as it is returned to a device.
pub(super) fn status_of(metadata: &Metadata) -> FileStatus {
    let time = |time: std::io::Result<cap_std::time::SystemTime>| {
        time.map_or(NO_TIME, |time| nanoseconds(time.into_std()))
    };
    let kind = metadata.file_type();
    FileStatus {
        size: metadata.len(),
        modified: time(metadata.modified()),
        accessed: time(metadata.accessed()),
        created: time(metadata.created()),
        mode: metadata.mode() & MODE_BITS,
        kind: kind_of(kind.is_file(), kind.is_dir(), kind.is_symlink()),
    }
}

/// The [kind](FileStatus::kind) of a file.
pub(super) fn kind_of(is_file: bool, is_dir: bool, is_symlink: bool) -> u32 {
    match (is_file, is_dir, is_symlink) {
        (true, ..) => FileStatus::FILE,
        (_, true, _) => FileStatus::DIRECTORY,
        (.., true) => FileStatus::LINK,
        _ => FileStatus::OTHER,
    }
}

/// A time in nanoseconds since 1970; [`NO_TIME`] if 64 bits are too few.
pub(super) fn nanoseconds(time: SystemTime) -> i64 {
    let since = match time.duration_since(UNIX_EPOCH) {
        Ok(after) => i64::try_from(after.as_nanos()),
        Err(before) => i64::try_from(before.duration().as_nanos()).map(|before| -before),
    };
    since.unwrap_or(NO_TIME)
}

/// The times to set, for Linux.
pub(super) fn timestamps(times: &FileTimes) -> Timestamps {
    Timestamps {
        last_access: timespec(times.accessed),
        last_modification: timespec(times.modified),
    }
}

fn timespec(time: i64) -> Timespec {
    if time == NO_TIME {
        return Timespec {
            tv_sec: 0,
            tv_nsec: UTIME_OMIT,
        };
    }
    Timespec {
        tv_sec: time.div_euclid(NANOSECONDS),
        tv_nsec: time.rem_euclid(NANOSECONDS),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn times_before_1970_are_negative() {
        let time = UNIX_EPOCH - Duration::from_nanos(1);
        assert_eq!(nanoseconds(time), -1);
        let timespec = timespec(-1);
        assert_eq!((timespec.tv_sec, timespec.tv_nsec), (-1, 999_999_999));
    }

    #[test]
    fn times_that_do_not_fit_are_unknown() {
        let centuries = Duration::from_secs(400 * 366 * 86400);
        assert_eq!(nanoseconds(UNIX_EPOCH + centuries), NO_TIME);
        assert_eq!(nanoseconds(UNIX_EPOCH - centuries), NO_TIME);
    }
}
