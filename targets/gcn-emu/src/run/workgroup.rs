//! A workgroup: its waves, on one OS thread.

use std::sync::Arc;
use std::sync::atomic::{Ordering, fence};

use emu_engine::TurnResult;

use super::check;
use super::code::Code;
use super::deadlock::DeadlockDetector;
use super::flow::Flow;
use super::group::Group;
use super::index_mode;
use super::kernel::Kernel;
use super::private_memory::PrivateMemory;
use super::setup;
use super::step::Step;
use super::trace;
use super::wave::Wave;
use super::weak;
use crate::alu::{LANES, Row};
use crate::fault::FaultKind;

/// Instructions of a wave in a turn.
const TURN: u32 = 2048;

/// A workgroup.
pub(crate) struct Workgroup {
    group: Group,
    waves: Vec<Wave>,
    code: Arc<Code>,
    /// Instructions of waves, and faults, that are not reported yet.
    done: u64,
    faults: Vec<LaneFault>,
    deadlock: DeadlockDetector,
}

/// Memory of ended workgroups.
#[derive(Default)]
pub(crate) struct Spare {
    rows: Vec<Vec<Row>>,
    private: Vec<PrivateMemory>,
    lds: Vec<Vec<u64>>,
}

/// Why a wave does not go on for now.
enum Pause {
    /// Its turn is over.
    Turn,
    /// It sleeps, or waits for other waves.
    Idle,
    End,
}

/// A fault of a lane.
pub(super) struct LaneFault {
    pub(super) workgroup: [u32; 3],
    /// The place of the lane in the workgroup.
    pub(super) lane: [u32; 3],
    /// The address of the instruction.
    pub(super) address: u64,
    pub(super) kind: FaultKind,
}

impl Workgroup {
    pub(super) fn new(
        kernel: &Arc<Kernel>,
        code: &Arc<Code>,
        number: u64,
        processor: u32,
        spare: &mut Spare,
    ) -> Self {
        let lds = spare.lds.pop().unwrap_or_default();
        let group = Group::new(kernel, number, processor, lds, kernel.waves());
        let waves = (0..kernel.waves()).map(|wave| {
            let rows = spare.rows.pop().unwrap_or_default();
            let private = spare.private.pop().unwrap_or_default();
            setup::wave(&group, wave, rows, private)
        });
        Self {
            waves: waves.collect(),
            code: Arc::clone(code),
            done: 0,
            faults: Vec::new(),
            deadlock: DeadlockDetector::default(),
            group,
        }
    }

    /// Lets each wave run for a while.
    pub(super) fn turn(&mut self) -> TurnResult {
        let (mut busy, mut progress) = (false, false);
        let phase = self.group.phase();
        for wave in &mut self.waves {
            if wave.has_ended {
                continue;
            }
            let is_observed = wave.traced.is_some() || wave.is_observed;
            let ran = match is_observed {
                false => run::<false>(wave, &mut self.group, &self.code, &mut self.done),
                true => run::<true>(wave, &mut self.group, &self.code, &mut self.done),
            };
            let pause = match ran {
                Ok(pause) => pause,
                Err((kind, lane)) => {
                    self.faults.push(LaneFault {
                        workgroup: self.group.place,
                        lane: self.group.kernel.lane_place(wave.number, lane),
                        address: wave.pc,
                        kind,
                    });
                    // As on a GPU, whose waves halt: what they would do next, such as reporting that
                    // this wave is missing, would hide the fault.
                    self.halt();
                    return TurnResult::Done;
                }
            };
            if let Pause::End = pause {
                wave.has_ended = true;
                self.group.leave();
                progress = true;
            }
            busy |= !matches!(pause, Pause::Idle);
        }
        progress |= self.group.phase() != phase;
        if self.is_over() {
            return TurnResult::Done;
        }
        let found = self
            .deadlock
            .check(&mut self.group, &self.waves, &self.code, progress);
        if let Some(report) = found {
            self.fail_all(&FaultKind::Deadlock(report));
            return TurnResult::Done;
        }
        match busy {
            true => TurnResult::Busy,
            false => TurnResult::Idle(None),
        }
    }

    /// Ends all waves.
    fn halt(&mut self) {
        for wave in &mut self.waves {
            wave.has_ended = true;
        }
    }

    /// Ends all waves with a fault.
    fn fail_all(&mut self, kind: &FaultKind) {
        for wave in self.waves.iter_mut().filter(|wave| !wave.has_ended) {
            wave.has_ended = true;
            self.faults.push(LaneFault {
                workgroup: self.group.place,
                lane: self.group.kernel.lane_place(wave.number, 0),
                address: wave.pc,
                kind: kind.clone(),
            });
        }
    }

    /// The instructions and faults since the last call.
    pub(super) fn take_report(&mut self) -> (u64, Vec<LaneFault>) {
        (
            std::mem::take(&mut self.done),
            std::mem::take(&mut self.faults),
        )
    }

    /// Whether all waves have ended.
    pub(super) fn is_over(&self) -> bool {
        self.waves.iter().all(|wave| wave.has_ended)
    }

    /// Its place in the grid.
    pub(super) fn place(&self) -> [u32; 3] {
        self.group.place
    }

    /// Gives its counts to the launch, and its memory to other workgroups.
    pub(super) fn dismantle(self, spare: &mut Spare) {
        for mut wave in self.waves {
            if let (Some(costs), Some(all)) = (wave.costs.take(), &self.group.kernel.costs) {
                all.counts.add(costs.into_recorder());
            }
            let (rows, private) = wave.dismantle();
            spare.rows.push(rows);
            spare.private.push(private);
        }
        spare.lds.push(self.group.into_memory());
    }
}

/// Counts what an instruction has done on the bus, which was at `pc`, with the active lanes `exec`.
fn count_instruction(wave: &mut Wave, step: &Step, (pc, exec): (u64, u64), flow: Flow) {
    let Some(costs) = &mut wave.costs else {
        return;
    };
    // It is executed again.
    if flow == Flow::Wait {
        return;
    }
    let lanes = match step.is_of_wave() {
        true => 1,
        false => exec.count_ones(),
    };
    let jump = (flow == Flow::Jump).then(|| step.jump(pc)).flatten();
    costs.end_instruction(lanes, jump.map(|jump| (jump, wave.pc)));
}

/// Executes instructions of a wave; counts them in `done`. The error is a fault and its lane.
fn run<const OBSERVED: bool>(
    wave: &mut Wave,
    group: &mut Group,
    all: &Code,
    done: &mut u64,
) -> Result<Pause, (FaultKind, usize)> {
    let first = |wave: &Wave| wave.exec().trailing_zeros() as usize % LANES;
    let mut pc = wave.pc;
    let mut code = all.find(pc).map_err(|kind| (kind, first(wave)))?;
    for _ in 0..TURN {
        // Instructions and faults read it there; loading it again would delay the next instruction.
        wave.pc = pc;
        let step = code.step(wave.target, pc);
        let step = step.map_err(|kind| (kind, first(wave)))?;
        *done += 1;
        let exec = if OBSERVED { wave.exec() } else { 0 };
        if OBSERVED && let Some(costs) = &mut wave.costs {
            costs.begin_instruction(pc, exec);
        }
        if OBSERVED {
            check::begin(wave);
        }
        let flow = match wave.has(step.needs) {
            true => (step.run)(wave, step, group),
            false => index_mode::run(wave, step, group).map_err(|kind| (kind, first(wave)))?,
        };
        if OBSERVED {
            count_instruction(wave, step, (pc, exec), flow);
            weak::tick(wave, group);
        }
        if OBSERVED
            && let (Some(lane), Some(trace)) = (wave.traced, &group.kernel.trace)
            && flow != Flow::Wait
        {
            trace::print(trace, (all, pc), (wave, lane), step, exec);
        }
        match flow {
            Flow::Next => pc += step.bytes,
            Flow::Jump => {
                pc = wave.pc;
                if !code.contains(pc) {
                    code = all.find(pc).map_err(|kind| (kind, first(wave)))?;
                }
            }
            Flow::Yield => {
                wave.pc = pc + step.bytes;
                return Ok(Pause::Idle);
            }
            Flow::Wait => return Ok(Pause::Idle),
            Flow::End => {
                weak::finish(wave, group);
                // Other devices see the wave's stores after the launch.
                fence(Ordering::SeqCst);
                return Ok(Pause::End);
            }
            Flow::Fault => {
                let fault = wave.fault.take();
                return Err(fault.unwrap_or((FaultKind::Stopped, 0)));
            }
        }
    }
    wave.pc = pc;
    Ok(Pause::Turn)
}
