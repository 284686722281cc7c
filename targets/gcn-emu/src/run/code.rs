//! Loaded code, and its instructions lowered to steps.

use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use race_check::Places;

use super::lower::lower;
use super::step::Step;
use crate::arch::{Target, WaveSize};
use crate::decode::decode;
use crate::fault::{CodeLocation, FaultKind};

/// The most words that an instruction has.
const MAX_WORDS: usize = 4;

/// A range of code.
pub(crate) struct Region {
    start: u64,
    words: Box<[u32]>,
    /// Steps for each wave size and word; null until the instruction is first executed.
    steps: [Box<[AtomicPtr<Step>]>; 2],
    /// Functions sorted by offset.
    symbols: Vec<(u64, String)>,
}

impl Region {
    fn new(start: u64, bytes: &[u8], mut symbols: Vec<(u64, String)>) -> Self {
        let (words, _) = bytes.as_chunks();
        let words: Box<[u32]> = words.iter().map(|&word| u32::from_le_bytes(word)).collect();
        let steps = || words.iter().map(|_| AtomicPtr::default()).collect();
        symbols.sort_unstable();
        Self {
            steps: [steps(), steps()],
            start,
            words,
            symbols,
        }
    }

    #[inline]
    pub(super) fn contains(&self, address: u64) -> bool {
        let offset = address.wrapping_sub(self.start);
        offset < 4 * self.words.len() as u64 && offset.is_multiple_of(4)
    }

    /// Step of the instruction at an address within the region or at its end.
    #[inline]
    pub(super) fn step(&self, target: Target, address: u64) -> Result<&Step, FaultKind> {
        let at = (address - self.start) as usize / 4;
        let steps = match target.wave {
            WaveSize::Wave32 => &self.steps[0],
            WaveSize::Wave64 => &self.steps[1],
        };
        let Some(slot) = steps.get(at) else {
            return Err(FaultKind::NoCode(address, "behind the end of the code"));
        };
        // Acquire: edge *step*; the content of a step that `make` has published is visible.
        let step = slot.load(Ordering::Acquire);
        if step.is_null() {
            return self.make(target, address, slot);
        }
        // SAFETY: made by `make` and freed with the region.
        Ok(unsafe { &*step })
    }

    #[cold]
    fn make(
        &self,
        target: Target,
        address: u64,
        slot: &AtomicPtr<Step>,
    ) -> Result<&Step, FaultKind> {
        let at = (address - self.start) as usize / 4;
        let end = self.words.len().min(at + MAX_WORDS);
        let inst = decode(target, address, &self.words[at..end]).map_err(FaultKind::Decode)?;
        let new = Box::into_raw(Box::new(lower(inst)?));
        // Release: edge *step*, publishes the step. Acquire: edge *step*, of a thread that was faster.
        let old = slot.compare_exchange(
            std::ptr::null_mut(),
            new,
            Ordering::AcqRel,
            Ordering::Acquire,
        );
        let step = match old {
            Ok(_) => new,
            Err(other) => {
                // SAFETY: made above, and not shared.
                drop(unsafe { Box::from_raw(new) });
                other
            }
        };
        // SAFETY: freed with the region.
        Ok(unsafe { &*step })
    }

    /// The address of a function.
    fn function(&self, name: &str) -> Option<u64> {
        let found = self.symbols.iter().find(|(_, other)| other == name);
        found.map(|(offset, _)| self.start + offset)
    }

    /// A description of the instruction at an address.
    fn location(&self, target: Target, address: u64) -> CodeLocation {
        let offset = address - self.start;
        let before = self.symbols.partition_point(|(start, _)| *start <= offset);
        let function = before.checked_sub(1).map(|at| {
            let (start, name) = &self.symbols[at];
            (name.clone(), offset - start)
        });
        let at = offset as usize / 4;
        let end = self.words.len().min(at + MAX_WORDS);
        let inst = decode(target, address, &self.words[at..end]);
        CodeLocation {
            address,
            function,
            text: inst.ok().map(|inst| inst.to_string()),
        }
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        for slot in self.steps.iter_mut().flatten() {
            let step = *slot.get_mut();
            if !step.is_null() {
                // SAFETY: made by `make`, and no wave has the region any more.
                drop(unsafe { Box::from_raw(step) });
            }
        }
    }
}

/// Code of a machine.
#[derive(Default)]
pub(crate) struct Code {
    regions: RwLock<Vec<Arc<Region>>>,
}

impl Code {
    /// Adds code at an address.
    pub(crate) fn add(&self, start: u64, bytes: &[u8], symbols: Vec<(u64, String)>) -> Arc<Region> {
        let region = Arc::new(Region::new(start, bytes, symbols));
        let mut regions = self.regions.write().unwrap_or_else(PoisonError::into_inner);
        regions.push(Arc::clone(&region));
        region
    }

    /// Removes code. Waves that execute it continue.
    pub(crate) fn remove(&self, region: &Arc<Region>) {
        let mut regions = self.regions.write().unwrap_or_else(PoisonError::into_inner);
        regions.retain(|other| !Arc::ptr_eq(other, region));
    }

    /// The code that contains an address.
    pub(super) fn find(&self, address: u64) -> Result<Arc<Region>, FaultKind> {
        if !address.is_multiple_of(4) {
            return Err(FaultKind::NoCode(address, "misaligned"));
        }
        let regions = self.regions.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(region) = regions.iter().find(|region| region.contains(address)) {
            return Ok(Arc::clone(region));
        }
        Err(FaultKind::NoCode(address, "not in code"))
    }

    /// The address of a function in the code around an address; none if there is no such function.
    pub(crate) fn function(&self, near: u64, name: &str) -> Option<u64> {
        self.find(near).ok()?.function(name)
    }

    /// A description of the instruction at an address.
    pub(super) fn location(&self, target: Target, address: u64) -> CodeLocation {
        match self.find(address) {
            Ok(region) => region.location(target, address),
            Err(_) => CodeLocation {
                address,
                function: None,
                text: None,
            },
        }
    }
}

/// Code as waves of a kind execute it.
pub(crate) struct CodeOf {
    pub(crate) code: Arc<Code>,
    pub(crate) target: Target,
}

impl Places for CodeOf {
    fn describe(&self, address: u64) -> String {
        self.code.location(self.target, address).to_string()
    }
}
