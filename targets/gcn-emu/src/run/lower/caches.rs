//! Effects of accesses and instructions on caches.
//!
//! Source: LLVM, "User Guide for AMDGPU Backend", memory model of each architecture.

use bus_cost::record::FenceScope;
use race_check::Scope;

use super::super::access::{Action, CacheEffects};
use super::Builder;
use crate::arch::Arch;
use crate::inst::CachePolicy;

/// Device scope on gfx12.
const DEVICE_SCOPE: u8 = 2;

/// System scope on gfx12.
const SYSTEM_SCOPE: u8 = 3;

impl Builder<'_> {
    /// Whether a load with this policy may find old content in caches of the compute unit. Source: LLVM,
    /// "User Guide for AMDGPU Backend", memory model of each architecture.
    pub(super) fn hits_caches(&self, cache: CachePolicy) -> bool {
        match cache {
            // On gfx942 `glc` and `scc` are `sc0` and `sc1`, which choose a scope together.
            CachePolicy::Bits { scc, .. } if self.inst.target.arch == Arch::Gfx942 => !scc,
            CachePolicy::Bits { glc, .. } => !glc,
            CachePolicy::Hint { scope, .. } => scope < DEVICE_SCOPE,
        }
    }

    /// The scope within which other waves may access the memory of an access concurrently. Source: as above, what
    /// monotonic atomic operations become.
    pub(super) fn scope(&self, action: Action, cache: CachePolicy) -> Option<Scope> {
        let is_atomic = matches!(action, Action::Atomic(..));
        match cache {
            CachePolicy::Bits { glc, scc, .. } if self.inst.target.arch == Arch::Gfx942 => {
                match (glc, scc) {
                    // Of an atomic operation the other bit is whether it returns.
                    (_, true) if is_atomic => Some(Scope::Sys),
                    _ if is_atomic => Some(Scope::Gpu),
                    (true, true) => Some(Scope::Sys),
                    (false, true) => Some(Scope::Gpu),
                    (true, false) => Some(Scope::Cta),
                    (false, false) => None,
                }
            }
            // Stores have no bits.
            CachePolicy::Bits { glc, .. } => {
                (glc || !matches!(action, Action::Load(_))).then_some(Scope::Sys)
            }
            CachePolicy::Hint { scope, .. } => match scope {
                SYSTEM_SCOPE => Some(Scope::Sys),
                DEVICE_SCOPE => Some(Scope::Gpu),
                0 if !is_atomic => None,
                _ => Some(Scope::Cta),
            },
        }
    }

    /// The caches that an instruction on caches invalidates.
    pub(super) fn invalidated(&self, cache: CachePolicy) -> [bool; 3] {
        let has_coherent_l2 = self.inst.target.arch != Arch::Gfx90a;
        match (self.row().name, cache) {
            ("buffer_wbinvl1" | "buffer_wbinvl1_vol", _) => [true, true, has_coherent_l2],
            ("buffer_invl2", _) => [false, false, true],
            ("buffer_gl0_inv", _) => [true, false, true],
            ("buffer_gl1_inv", _) => [false, true, true],
            ("buffer_inv", CachePolicy::Bits { glc, scc, .. }) => [scc, scc, glc && scc],
            ("flat_inv" | "flat_wbinv", CachePolicy::Hint { scope, .. }) => {
                let is_of_device = scope >= DEVICE_SCOPE;
                [is_of_device, is_of_device, scope >= SYSTEM_SCOPE]
            }
            _ => [false; 3],
        }
    }

    /// Scope of a write-back by an instruction on caches.
    pub(super) fn writes_back(&self, cache: CachePolicy) -> Option<FenceScope> {
        match (self.row().name, cache) {
            // On gfx942 `sc0` and `sc1` choose a scope together.
            ("buffer_wbl2", CachePolicy::Bits { glc, scc, .. })
                if self.inst.target.arch == Arch::Gfx942 =>
            {
                match (glc, scc) {
                    (true, true) => Some(FenceScope::System),
                    (false, true) => Some(FenceScope::Device),
                    (_, false) => None,
                }
            }
            ("buffer_wbl2", _) => Some(FenceScope::System),
            ("flat_wb" | "flat_wbinv", CachePolicy::Hint { scope, .. }) => match scope {
                SYSTEM_SCOPE => Some(FenceScope::System),
                DEVICE_SCOPE => Some(FenceScope::Device),
                _ => None,
            },
            _ => None,
        }
    }

    pub(super) fn cache_effects(&self, cache: CachePolicy) -> CacheEffects {
        CacheEffects {
            invalidates: self.invalidated(cache),
            writes_back: self.writes_back(cache),
        }
    }
}
