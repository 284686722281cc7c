//! The resources that the waves of a workgroup share: LDS and a barrier.

use std::sync::Arc;

use race_check::BlockClocks;

use super::caches::Caches;
use super::kernel::Kernel;
use super::private_memory::GARBAGE;

/// The shared state of a workgroup's waves.
pub(crate) struct Group {
    pub(super) kernel: Arc<Kernel>,
    /// Its place in the grid.
    pub(super) place: [u32; 3],
    pub(super) processor: u32,
    lds: Vec<u64>,
    barrier: Barrier,
    effects: Effects,
    /// Caches of the compute unit, in weak memory mode.
    pub(super) caches: Option<Box<Caches>>,
    /// The clocks of the waves, if they are checked for races.
    pub(super) clocks: Option<Box<BlockClocks>>,
}

/// The effects of the waves in a turn.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Effects {
    /// They have changed memory.
    pub(super) changed_memory: bool,
    /// They have read memory that the host may change.
    pub(super) polled_host: bool,
}

/// A barrier.
#[derive(Default)]
struct Barrier {
    /// Waves that have arrived in this phase.
    arrived: u32,
    /// The number of completed phases.
    phase: u64,
    /// Waves that have not ended.
    live: u32,
}

impl Barrier {
    fn arrive(&mut self) -> u64 {
        let phase = self.phase;
        self.arrived += 1;
        self.complete();
        phase
    }

    fn leave(&mut self) {
        self.live -= 1;
        self.complete();
    }

    fn complete(&mut self) {
        if self.arrived > 0 && self.arrived >= self.live {
            self.arrived = 0;
            self.phase += 1;
        }
    }
}

impl Group {
    /// Bytes of LDS.
    pub(super) fn lds_bytes(&self) -> u32 {
        self.kernel.dispatch.group_bytes
    }

    /// LDS at an offset.
    #[inline]
    pub(super) fn lds(&mut self, offset: u64, bytes: u32) -> Option<*mut u8> {
        let end = offset.checked_add(bytes.into())?;
        (end <= self.lds_bytes().into()).then(|| {
            let base = self.lds.as_mut_ptr().cast::<u8>();
            base.wrapping_add(offset as usize)
        })
    }

    /// That of the workgroup with a number, with memory of another one. It has as many waves as `live`.
    pub(super) fn new(
        kernel: &Arc<Kernel>,
        number: u64,
        processor: u32,
        mut lds: Vec<u64>,
        live: u32,
    ) -> Self {
        let place = kernel.workgroup(number);
        lds.clear();
        let words = kernel.dispatch.group_bytes.div_ceil(8) as usize;
        lds.resize(words, u64::from(GARBAGE) << 32 | u64::from(GARBAGE));
        Self {
            kernel: Arc::clone(kernel),
            place,
            processor,
            lds,
            barrier: Barrier {
                live,
                ..Barrier::default()
            },
            effects: Effects::default(),
            caches: kernel.weak.map(|weak| {
                let [x, y, z] = place.map(u64::from);
                Box::new(Caches::new(weak, z << 42 ^ y << 21 ^ x))
            }),
            clocks: kernel.check.as_ref().map(|check| {
                let place = (check.number, number);
                let clocks = BlockClocks::new(&check.checker, &check.origin, place, live, false);
                Box::new(clocks)
            }),
        }
    }

    /// Notes that memory was changed.
    #[inline]
    pub(super) fn note_change(&mut self) {
        self.effects.changed_memory = true;
    }

    /// Notes that memory was read which the host may change.
    #[inline]
    pub(super) fn note_poll(&mut self) {
        self.effects.polled_host = true;
    }

    /// The effects of the waves since the last call.
    pub(super) fn take_effects(&mut self) -> Effects {
        std::mem::take(&mut self.effects)
    }

    /// A wave has ended.
    pub(super) fn leave(&mut self) {
        self.barrier.leave();
    }

    /// Its memory, for another workgroup.
    pub(super) fn into_memory(self) -> Vec<u64> {
        self.lds
    }

    /// Arrives at the barrier. Returns the phase that is to be completed.
    pub(super) fn arrive(&mut self) -> u64 {
        self.barrier.arrive()
    }

    /// The number of completed phases of the barrier.
    pub(super) fn phase(&self) -> u64 {
        self.barrier.phase
    }

    /// Whether a phase of the barrier is complete.
    pub(super) fn is_complete(&self, phase: u64) -> bool {
        self.barrier.phase > phase
    }
}
