//! The host functions that log for kernels: they hand records to the host's subscriber of `tracing`.
//!
//! Target, file and line of a record are known only when it arrives, but `tracing` wants them in
//! constants. As in the crate `tracing-log`, there is a callsite for each level, and the record's own
//! origin is in the fields `record.target`, `record.file` and `record.line` of the event.
//! (`tracing-subscriber` hides fields that begin with `log.`.) Filters see the record's level and target.

use std::fmt::Arguments;
use std::sync::Arc;

use log_calls::{Origin, RevoffLog, RevoffLogLevel};
use revoff_fn::HostFunction;
use tracing::callsite::{DefaultCallsite, Identifier};
use tracing::field::{Field, FieldSet, Value};
use tracing::level_filters::LevelFilter;
use tracing::metadata::Kind;
use tracing::{Event, Level, Metadata, dispatcher};

use super::call_context::current_call;
use super::pieces::Pieces;

/// The fields of an event.
const FIELDS: &[&str] = &[
    "message",
    "record.target",
    "record.file",
    "record.line",
    "device",
    "launch",
    "team",
    "thread",
];

/// The target of the events.
const TARGET: &str = "device";

/// Makes the callsite of a level; returns its metadata.
macro_rules! site {
    ($level:ident) => {{
        static CALLSITE: DefaultCallsite = DefaultCallsite::new(&METADATA);
        static METADATA: Metadata<'static> = Metadata::new(
            "log record of a device thread",
            TARGET,
            Level::$level,
            None,
            None,
            None,
            FieldSet::new(FIELDS, Identifier(&CALLSITE)),
            Kind::EVENT,
        );
        &METADATA
    }};
}

/// A device sent a record with a level that does not exist.
#[derive(Debug, thiserror::Error)]
#[error("a record has the level {0}, which is none of 1 (error) to 5 (trace)")]
struct UnknownLevel(u32);

/// The metadata of the callsites, by the level in a record less one.
static SITES: [&Metadata<'static>; 5] = [
    site!(ERROR),
    site!(WARN),
    site!(INFO),
    site!(DEBUG),
    site!(TRACE),
];

/// The functions, with their names, for the kernels of `device`. The beginnings of long messages are in
/// `pieces`.
pub(super) fn functions(
    device: &str,
    pieces: &Arc<Pieces>,
) -> [(&'static str, Box<dyn HostFunction>); 2] {
    let (device, pieces) = (device.to_owned(), Arc::clone(pieces));
    let log = RevoffLog::try_bind(
        move |origin: Origin, target: &[u8], file: &[u8], end: &[u8]| {
            let message = match origin.pieces {
                0 => String::from_utf8_lossy(end),
                number => {
                    let message = [&*pieces.take(number), end].concat();
                    String::from_utf8_lossy(&message).into_owned().into()
                }
            };
            let (target, file) = (
                String::from_utf8_lossy(target),
                String::from_utf8_lossy(file),
            );
            emit(&device, origin, &target, &file, format_args!("{message}"))
        },
    );
    let level = RevoffLogLevel::bind(max_level);
    [
        (RevoffLog::NAME, Box::new(log)),
        (RevoffLogLevel::NAME, Box::new(level)),
    ]
}

/// The most verbose level that any subscriber of the process takes, as in a record; 0: none.
fn max_level() -> u32 {
    let max = LevelFilter::current();
    SITES.iter().filter(|site| *site.level() <= max).count() as u32
}

/// Hands a record to the subscriber, if its filter takes the record's level and target.
fn emit(
    device: &str,
    origin: Origin,
    target: &str,
    file: &str,
    message: Arguments<'_>,
) -> Result<(), UnknownLevel> {
    let level = origin.level;
    let site = (level as usize).checked_sub(1).and_then(|i| SITES.get(i));
    let &metadata = site.ok_or(UnknownLevel(level))?;
    let filtered = Metadata::new(
        metadata.name(),
        target,
        *metadata.level(),
        Some(file),
        Some(origin.line),
        None,
        FieldSet::new(FIELDS, metadata.callsite()),
        Kind::EVENT,
    );
    let launch = current_call().map_or(0, |call| call.launch);
    let values: [&dyn Value; FIELDS.len()] = [
        &message,
        &target,
        &file,
        &origin.line,
        &device,
        &launch,
        &origin.team,
        &origin.thread,
    ];
    dispatcher::get_default(|subscriber| {
        if !subscriber.enabled(&filtered) {
            return;
        }
        let fields: [Field; FIELDS.len()] = std::array::from_fn(|i| {
            let field = metadata.fields().field(FIELDS[i]);
            field.unwrap_or_else(|| unreachable!("a field of the callsites"))
        });
        let values =
            std::array::from_fn::<_, { FIELDS.len() }, _>(|i| (&fields[i], Some(values[i])));
        let values = metadata.fields().value_set(&values);
        subscriber.event(&Event::new(metadata, &values));
    });
    Ok(())
}
