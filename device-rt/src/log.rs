//! The crate `log` for kernels (feature `log`): records arrive in the host's log.
//!
//! ```ignore
//! revoff_device::log::init();
//! log::info!("thread {} begins", revoff_device::thread::global());
//! ```
//!
//! Each record is a call to the host, with the cost of one. Records that are more verbose than the
//! host's log are dropped before they are formatted: [`init`] asks the host for its level, and the host
//! filters what arrives by level and target.

use core::fmt::Write;
use core::sync::atomic::{AtomicU32, Ordering};

use log::{LevelFilter, Log, Metadata, Record};
use log_calls::{Origin, revoff_log, revoff_log_level};

use crate::pieces::PieceBuffer;
use crate::print::piece;
use crate::{arch, lanes};

/// Sends records to the host.
struct HostLog;

static LOG: HostLog = HostLog;

/// 0 until a thread has asked the host for its level, then 1.
static HAS_LEVEL: AtomicU32 = AtomicU32::new(0);

/// Makes the host's log that of the crate `log`, in all kernels of this image. Every thread that logs
/// calls this first; later calls cost a load.
///
/// The first call after the image has been loaded [asks for the host's level](update_level). Records of
/// other threads may be lost until it has returned.
pub fn init() {
    // Relaxed: if this reads 0, the thread asks again, and nothing else depends on it.
    if HAS_LEVEL.load(Ordering::Relaxed) == 0 {
        // `set_logger` waits while another thread sets the logger. Lanes in lock-step take turns, since
        // a lane that waits for another would stop it.
        // An error means that there is a logger: ours, or one that the program prefers.
        lanes::serialize_lanes(|| drop(log::set_logger(&LOG)));
        update_level();
        // Relaxed: publishes nothing, see above.
        HAS_LEVEL.store(1, Ordering::Relaxed);
    }
}

/// Asks the host again for the most verbose level that it logs, and drops more verbose records of all
/// threads from now on.
pub fn update_level() {
    let level = match revoff_log_level() {
        Ok(1) => LevelFilter::Error,
        Ok(2) => LevelFilter::Warn,
        Ok(3) => LevelFilter::Info,
        Ok(4) => LevelFilter::Debug,
        Ok(5..) => LevelFilter::Trace,
        // A host that does not answer gets no records either.
        Ok(0) | Err(_) => LevelFilter::Off,
    };
    log::set_max_level(level);
}

impl Log for HostLog {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.level() <= log::max_level()
    }

    fn log(&self, record: &Record<'_>) {
        if !self.enabled(record.metadata()) {
            return;
        }
        let context = arch::context();
        let mut message = PieceBuffer::new(piece, |end: &str, pieces| {
            let origin = Origin {
                pieces,
                level: record.level() as u32,
                line: record.line().unwrap_or(0),
                team: context.team,
                thread: context.thread,
            };
            let file = record.file().unwrap_or("");
            let target = record.target().as_bytes();
            // The log has no place for its own errors. The host reports calls that fail.
            let _ = revoff_log(origin, target, file.as_bytes(), end.as_bytes());
        });
        // An error of formatting ends the message.
        let _ = message.write_fmt(*record.args());
        message.finish();
    }

    fn flush(&self) {}
}
