//! Records of the crate `log` in kernels: they arrive in the host's log.

use std::io::{self, Write};
use std::sync::{Arc, Mutex};

use conformance::Target;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::{self, MakeWriter};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::registry;
use tracing_subscriber::util::SubscriberInitExt;

use crate::macros::long;
use crate::session::{Session, acting};
use crate::{Test, test};

pub(crate) const TESTS: &[Test] = &[
    test!(records_arrive_in_the_log).alone().only(has_log),
    test!(verbose_records_make_no_calls).alone().only(has_log),
];

/// Whether the device has the atomics that the crate `log` needs.
fn has_log(target: &Target) -> bool {
    target.device != "emu:sm_60"
}

/// The log's text.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Log {
    /// Makes it the log of this process, filtered.
    fn begin(filter: &str) -> Self {
        let log = Self::default();
        let lines = fmt::layer().with_writer(log.clone()).with_ansi(false);
        let filter: Targets = filter.parse().unwrap();
        registry().with(filter).with(lines).init();
        log
    }

    fn lines(&self) -> Vec<String> {
        let text = String::from_utf8(self.0.lock().unwrap().clone()).unwrap();
        text.lines().map(str::to_owned).collect()
    }
}

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl MakeWriter<'_> for Log {
    type Writer = Self;
    fn make_writer(&self) -> Self {
        self.clone()
    }
}

fn session(target: &Target) -> Session {
    Session::new(target, &acting(|what| what))
}

fn records_arrive_in_the_log(target: &Target) {
    let log = Log::begin("quiet=warn,conformance_kernels=debug");
    let session = session(target);
    let (teams, threads, words) = (2, 3, 60u32);
    session
        .run("log_records", (teams, threads), &[&words])
        .unwrap();
    let lines = log.lines();
    for me in 0..teams * threads {
        let (team, thread) = (me / threads, me % threads);
        for (level, target, message) in [
            (
                "ERROR",
                "conformance_kernels::logging",
                format!("error {me}"),
            ),
            (
                "WARN",
                "conformance_kernels::logging",
                format!("warning {me}"),
            ),
            (
                "INFO",
                "conformance_kernels::logging",
                format!("information {me}"),
            ),
            (
                "DEBUG",
                "conformance_kernels::logging",
                format!("long {me} {}", long(me, words)),
            ),
            ("WARN", "quiet", format!("but this {me}")),
        ] {
            let found: Vec<_> = lines
                .iter()
                .filter(|line| line.contains(&format!("{level} device: {message} ")))
                .collect();
            let [line] = &found[..] else {
                panic!("{message} {} times in {lines:#?}", found.len())
            };
            for field in [
                format!("record.target={target:?}"),
                format!("team={team} thread={thread}"),
                "device=\"".to_owned(),
                "src/logging.rs\"".to_owned(),
                "record.line=".to_owned(),
            ] {
                assert!(line.contains(&field), "{field}: {line}");
            }
        }
    }
    assert_eq!(lines.len() as u32, teams * threads * 5, "{lines:#?}");
}

fn verbose_records_make_no_calls(target: &Target) {
    let log = Log::begin("debug,conformance_kernels=debug,revoff_host=off,ptx_emu=off,hsa_emu=off");
    let session = session(target);
    session.run("log_too_much", (1, 1), &[&100u32]).unwrap();
    // Both ask for the level.
    assert_eq!(session.runtime.requests(), 2);
    assert_eq!(log.lines(), Vec::<String>::new());
}
