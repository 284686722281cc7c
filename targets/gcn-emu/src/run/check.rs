//! The accesses of a wave, for the race checker.
//!
//! Machine code has neither orders nor fences. LLVM's tables say which instructions an atomic operation of an order
//! and a scope becomes, and this reads them backwards:
//!
//! - A *release* is a store or an atomic operation. It releases a wave's earlier accesses up to the oldest store
//!   that no wait has completed. Where a table demands that caches are written back for a scope, it releases to
//!   that scope only accesses before the last write-back. (LLVM leaves out the wait for a write-back if no store is
//!   outstanding.)
//! - An *acquire* is an invalidation of the caches that a table names for a scope. It acquires what complete loads
//!   have observed, those of other waves of the workgroup among them.
//! - Bits of the cache policy give the scope within which an access may be concurrent with others. Where a table has
//!   no bits for atomic accesses, every such access may be one.
//!
//! Within a workgroup the tables have hardly any instructions for orders. So all accesses of its waves count as
//! ordered; what one of them has acquired the others acquire by barriers, LDS, and words of memory.
//!
//! Source: LLVM, "User Guide for AMDGPU Backend", memory models.

use bus_cost::record::FenceScope;
use device_arena::AccessKind;
use race_check::{BlockClocks, Operation, Outcome, Scope, Semantics};

use super::access::{Action, CacheEffects};
use super::costs::Owner;
use super::counters::{COUNTERS, Counter, Counters};
use super::group::Group;
use super::outstanding::{Current, Effect, Outstanding, WaveCheck};
use super::wave::Wave;
use crate::arch::Generation;
use crate::fault::FaultKind;

/// The barriers of the checker that stand for the phases of a workgroup's, and for LDS.
const LDS: usize = 2;

/// The checker's clocks of a workgroup, and a wave of it; none if it is not checked.
fn parts<'a>(
    wave: &'a mut Wave,
    group: &'a mut Group,
) -> Option<(&'a mut WaveCheck, &'a mut BlockClocks, u32)> {
    let number = wave.number;
    Some((wave.check.as_mut()?, group.clocks.as_mut()?, number))
}

/// An instruction begins.
pub(super) fn begin(wave: &mut Wave) {
    if let Some(check) = &mut wave.check {
        check.current = Current::default();
    }
}

/// The instruction is about to access global memory in one more lane.
pub(super) fn note_access(
    wave: &mut Wave,
    group: &mut Group,
    action: Action,
    scope: Option<Scope>,
) {
    let Some((check, clocks, number)) = parts(wave, group) else {
        return;
    };
    if check.current.time.is_some() {
        return;
    }
    let now = clocks.time();
    check.current.time = Some(now);
    check.current.scope = scope;
    if matches!(action, Action::Store(_) | Action::Atomic(..)) {
        for scope in [Scope::Gpu, Scope::Sys] {
            let until = check.released(scope, now).saturating_sub(1);
            clocks.release_until(number, scope, until);
        }
    }
}

/// The instruction is about to load global memory through the scalar cache.
pub(super) fn note_scalar_load(wave: &mut Wave, group: &Group) {
    if let (Some(check), Some(clocks)) = (&mut wave.check, &group.clocks) {
        check.current.time = Some(clocks.time());
        check.current.scope = None;
    }
}

/// The instruction accesses LDS, by which the waves of the workgroup may synchronise.
pub(super) fn access_lds(wave: &mut Wave, group: &mut Group, action: Action) {
    let Some((check, clocks, number)) = parts(wave, group) else {
        return;
    };
    if std::mem::replace(&mut check.current.is_known_to_lds, true) {
        return;
    }
    if matches!(action, Action::Load(_) | Action::Atomic(..)) {
        clocks.observe(LDS, number, 1);
    }
    if matches!(action, Action::Store(_) | Action::Atomic(..)) {
        clocks.arrive(LDS, number, 1);
    }
}

/// The instruction, which accesses memory, ends.
pub(super) fn issue(wave: &mut Wave, group: &mut Group, action: Action) {
    let Some((check, clocks, _)) = parts(wave, group) else {
        return;
    };
    let effect = match action {
        Action::Load(_) => Effect::Load,
        Action::Store(_) | Action::Atomic(_, _, false) => Effect::Store,
        Action::Atomic(_, _, true) => Effect::Update,
        Action::Caches(_) => Effect::Nothing,
    };
    // One to LDS has no effect on global memory, but is counted.
    let time = check.current.time;
    check.issue(Outstanding {
        effect: time.map_or(Effect::Nothing, |_| effect),
        time: time.unwrap_or_else(|| clocks.time()),
        counters: action.counters(check.arch.generation(), false),
    });
}

/// A wait, after which at most so many operations of each counter are outstanding.
pub(super) fn wait(wave: &mut Wave, group: &mut Group, most: [usize; COUNTERS]) {
    if let Some((check, _, _)) = parts(wave, group) {
        check.complete(most);
    }
}

/// An instruction on caches.
pub(super) fn change_caches(wave: &mut Wave, group: &mut Group, effects: CacheEffects) {
    let Some((check, clocks, number)) = parts(wave, group) else {
        return;
    };
    let now = clocks.time();
    let loaded = check.loaded(now);
    for (time, is_invalidated) in check.invalidated.iter_mut().zip(effects.invalidates) {
        if is_invalidated {
            *time = loaded;
        }
    }
    let [nearest, second, last] = check.invalidated;
    let before = nearest.min(second);
    clocks.acquire_loads(number, Scope::Gpu, before);
    clocks.acquire_loads(number, Scope::Sys, before.min(last));

    let scope = match effects.writes_back {
        Some(FenceScope::System) => Some(Scope::Sys),
        Some(FenceScope::Device) => Some(Scope::Gpu),
        Some(FenceScope::Block) | None => None,
    };
    check.write_back(scope, now);
    // Elsewhere they are not counted.
    if check.arch.generation() == Generation::Gfx12 {
        let counter = scope.map_or(Counter::Load, |_| Counter::Store);
        check.issue(Outstanding {
            effect: Effect::Nothing,
            time: now,
            counters: Counters::one(counter),
        });
    }
}

/// A wave is about to arrive at the barrier.
pub(super) fn arrive(wave: &Wave, group: &mut Group) {
    let phase = group.phase();
    if let Some(clocks) = &mut group.clocks {
        clocks.arrive((phase % 2) as usize, wave.number, 1);
    }
}

/// A phase of the barrier is complete for a wave.
pub(super) fn depart(wave: &Wave, group: &mut Group, phase: u64) {
    if let Some(clocks) = &mut group.clocks {
        clocks.observe((phase % 2) as usize, wave.number, 1);
    }
}

/// Performs an access to a piece of global memory, checked. Returns the old value.
pub(super) fn access(
    wave: &mut Wave,
    group: &mut Group,
    (kind, address, bytes): (AccessKind, u64, u32),
    perform: impl FnOnce() -> Outcome,
) -> Result<u64, FaultKind> {
    // Arguments and the packet are the launch's.
    if group.kernel.owner(address) == Owner::Other {
        return Ok(perform().seen);
    }
    let pc = wave.pc;
    let launch = group.kernel.check.as_ref().map_or(0, |it| it.number);
    let Some((check, clocks, number)) = parts(wave, group) else {
        return Ok(perform().seen);
    };
    let scope = check.current.scope;
    let operation = Operation {
        kind,
        address,
        bytes,
        semantics: scope.map_or(Semantics::Weak, |_| Semantics::Relaxed),
        scope: scope.unwrap_or(Scope::Cta),
        is_old: false,
    };
    let seen = clocks.access((number, 1), &operation, (launch, pc), perform);
    seen.map_err(|report| FaultKind::Race(report.text))
}
