//! Reconvergence points of divergent lanes: immediate post-dominators.
//!
//! Source: Cooper, Harvey and Kennedy, "A Simple, Fast Dominance Algorithm" (2001), on
//! the reversed graph.

use super::op::{FUNCTION_END, Instr, Op, Pc};

/// For each instruction its immediate post-dominator: the first other instruction on all paths to
/// the end of the function, or [`FUNCTION_END`].
pub(super) fn reconvergence_points(instrs: &[Instr]) -> Vec<Pc> {
    let count = instrs.len();
    // Instructions, and the end.
    let mut ways_in = vec![Vec::new(); count + 1];
    let mut order = Vec::with_capacity(count + 1);
    let ways_out: Vec<Vec<usize>> = (0..count).map(|at| successors(instrs, at)).collect();
    for (at, ways) in ways_out.iter().enumerate() {
        for &way in ways {
            ways_in[way].push(at);
        }
    }
    // From the end backwards, in post-order.
    let mut seen = vec![false; count + 1];
    let mut stack = vec![(count, 0)];
    seen[count] = true;
    while let Some((at, next)) = stack.last_mut() {
        if let Some(&before) = ways_in[*at].get(*next) {
            *next += 1;
            if !seen[before] {
                seen[before] = true;
                stack.push((before, 0));
            }
        } else {
            order.push(*at);
            stack.pop();
        }
    }
    let mut rank = vec![usize::MAX; count + 1];
    for (place, &at) in order.iter().enumerate() {
        rank[at] = place;
    }
    let mut meets = vec![None; count + 1];
    meets[count] = Some(count);
    let mut changed = true;
    while changed {
        changed = false;
        for &at in order.iter().rev().filter(|&&at| at != count) {
            let mut found = None;
            for &way in &ways_out[at] {
                if meets[way].is_some() {
                    found =
                        Some(found.map_or(way, |other| common_ancestor(&meets, &rank, other, way)));
                }
            }
            if meets[at] != found {
                meets[at] = found;
                changed = true;
            }
        }
    }
    let pc = |at: Option<usize>| match at {
        Some(at) if at < count => at as Pc,
        // An infinite loop has no reconvergence point, either.
        _ => FUNCTION_END,
    };
    (0..count).map(|at| pc(meets[at])).collect()
}

fn common_ancestor(
    meets: &[Option<usize>],
    rank: &[usize],
    mut one: usize,
    mut two: usize,
) -> usize {
    while one != two {
        while rank[one] < rank[two] {
            one = meets[one].unwrap_or(one);
        }
        while rank[two] < rank[one] {
            two = meets[two].unwrap_or(two);
        }
    }
    one
}

fn successors(instrs: &[Instr], at: usize) -> Vec<usize> {
    let end = instrs.len();
    let mut ways = match &instrs[at].op {
        Op::Branch { to } => vec![*to as usize],
        Op::BranchIndexed { to, .. } => to.iter().map(|&to| to as usize).collect(),
        Op::Return | Op::Exit | Op::Trap => vec![end],
        _ => Vec::new(),
    };
    if ways.is_empty() || instrs[at].guard.is_some() {
        ways.push(at + 1);
    }
    ways
}
