//! Detection of waves that wait for each other forever.

use std::fmt::Write as _;
use std::hash::{DefaultHasher, Hash, Hasher};

use emu_engine::Stalled;

use super::code::Code;
use super::group::Group;
use super::wave::Wave;

/// Detects a deadlock of a workgroup.
///
/// Waves that loop are deadlocked if their registers repeat, they change no memory and load none that
/// the host may change, and there was no progress on the whole device for the launch's patience.
#[derive(Debug, Default)]
pub(super) struct DeadlockDetector(Stalled);

impl DeadlockDetector {
    /// Checks after a turn. Returns a report of a deadlock.
    pub(super) fn check(
        &mut self,
        group: &mut Group,
        waves: &[Wave],
        code: &Code,
        has_progress: bool,
    ) -> Option<String> {
        let effects = group.take_effects();
        let kernel = &group.kernel;
        if has_progress || effects.changed_memory {
            kernel.activity.note();
            self.0.reset();
            return None;
        }
        if effects.polled_host {
            kernel.activity.note();
        }
        let patience = kernel.patience;
        if self.0.duration() < patience || kernel.activity.is_recent(patience) {
            return None;
        }
        self.0
            .loops(state(waves))
            .then(|| report(group, waves, code))
    }
}

/// A hash of the state of waves, except for memory.
fn state(waves: &[Wave]) -> u64 {
    let mut hasher = DefaultHasher::new();
    for wave in waves.iter().filter(|wave| !wave.has_ended) {
        (wave.pc, wave.scc, wave.mode, wave.scalars).hash(&mut hasher);
        wave.registers().hash(&mut hasher);
    }
    hasher.finish()
}

fn report(group: &Group, waves: &[Wave], code: &Code) -> String {
    let [x, y, z] = group.place;
    let mut text = format!("no wave of workgroup ({x}, {y}, {z}) makes progress:");
    for wave in waves.iter().filter(|wave| !wave.has_ended) {
        let why = match wave.waits_at {
            Some(_) => "waits at the barrier",
            None => "loops",
        };
        let location = code.location(wave.target, wave.pc);
        let (number, exec) = (wave.number, wave.exec());
        let _ = write!(
            text,
            "\n  wave {number}, lanes {exec:#x}: {why}, at {location}"
        );
    }
    text
}
