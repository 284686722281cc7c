//! Collective operations of lanes. Source: the PTX ISA, `shfl.sync`, `vote.sync`, `match.sync`,
//! `redux.sync`, `elect.sync`.

use crate::alu::{LANES, Lanes, Mask, lanes_of};
use crate::code::op::{AtomOp, CollectiveKind, Shuffle};

/// Operands of the participating lanes.
#[derive(Clone, Debug)]
pub(super) struct Operands {
    pub(super) a: Lanes,
    pub(super) b: Lanes,
    pub(super) c: Lanes,
    pub(super) p: Mask,
}

impl Default for Operands {
    fn default() -> Self {
        Self {
            a: [0; LANES],
            b: [0; LANES],
            c: [0; LANES],
            p: 0,
        }
    }
}

/// Results of all lanes.
#[derive(Clone, Debug)]
pub(super) struct Results {
    pub(super) d: Lanes,
    pub(super) p: Mask,
}

/// Computes the operation for the lanes of `members`.
pub(super) fn perform(kind: &CollectiveKind, members: Mask, operands: &Operands) -> Results {
    let mut results = Results {
        d: [0; LANES],
        p: 0,
    };
    let all = |value: u64| [value; LANES];
    let p = operands.p & members;
    match kind {
        CollectiveKind::Sync => {}
        CollectiveKind::Shuffle { mode, .. } => shuffle(*mode, members, operands, &mut results),
        CollectiveKind::All { .. } => results.p = if p == members { Mask::MAX } else { 0 },
        CollectiveKind::Any { .. } => results.p = if p != 0 { Mask::MAX } else { 0 },
        CollectiveKind::Uniform { .. } => {
            results.p = if p == members || p == 0 { Mask::MAX } else { 0 };
        }
        CollectiveKind::Ballot { .. } => results.d = all(u64::from(p)),
        CollectiveKind::MatchAny { .. } => {
            for i in lanes_of(members) {
                let same = lanes_of(members).filter(|&j| operands.a[j] == operands.a[i]);
                results.d[i] = same.fold(0, |mask, j| mask | 1 << j);
            }
        }
        CollectiveKind::MatchAll { .. } => {
            let mut values = lanes_of(members).map(|i| operands.a[i]);
            let first = values.next();
            if values.all(|value| Some(value) == first) {
                results.d = all(u64::from(members));
                results.p = Mask::MAX;
            }
        }
        CollectiveKind::Reduce { op, .. } => {
            let values = lanes_of(members).map(|i| operands.a[i]);
            results.d = all(values.reduce(|x, y| combine(*op, x, y)).unwrap_or(0));
        }
        CollectiveKind::Elect { .. } => {
            results.d = all(u64::from(members.trailing_zeros()));
            results.p = members & members.wrapping_neg();
        }
    }
    results
}

fn shuffle(mode: Shuffle, members: Mask, operands: &Operands, results: &mut Results) {
    for lane in lanes_of(members) {
        let (b, c) = (operands.b[lane] as i64 & 31, operands.c[lane] as i64);
        let (clamp, segment) = (c & 31, (c >> 8) & 31);
        let me = lane as i64;
        let least = me & segment;
        let most = least | (clamp & !segment);
        let (from, holds) = match mode {
            Shuffle::Up => (me - b, me - b >= most),
            Shuffle::Down => (me + b, me + b <= most),
            Shuffle::Butterfly => (me ^ b, me ^ b <= most),
            Shuffle::Index => {
                let from = least | (b & !segment);
                (from, from <= most)
            }
        };
        let from = if holds { from as usize } else { lane };
        // The result for lanes that do not participate is undefined.
        let is_there = (members >> from) & 1 != 0;
        results.d[lane] = operands.a[if is_there { from } else { lane }];
        results.p |= Mask::from(holds) << lane;
    }
}

fn combine(op: AtomOp, x: u64, y: u64) -> u64 {
    crate::run::atomic::combine(op, 4, x, y, false)
}
