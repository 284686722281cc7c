//! Reports of races.

use std::fmt::Write as _;

use super::party::{Party, RaceKind, Who};
use super::{Checker, Site, lock};
use crate::alu::lanes_of;
use crate::memory::is_mapped;

/// A race, and the device thread and instruction to which it is attributed.
#[derive(Clone, Debug)]
pub(crate) struct Report {
    pub(crate) text: String,
    /// Whether one of the two is the host.
    pub(super) with_host: bool,
    pub(crate) block: u64,
    pub(crate) thread: u32,
    pub(crate) site: Site,
}

impl Checker {
    /// Reports the older access and the newer one.
    pub(super) fn report(
        &self,
        race: RaceKind,
        (address, bytes): (u64, u32),
        older: Party,
        newer: Party,
    ) -> Report {
        let what = match race {
            RaceKind::Race => "race",
            RaceKind::Narrow => "too narrow a scope",
        };
        let space = if is_mapped(address) {
            "mapped"
        } else {
            "device"
        };
        let mut text = format!("{what}: {bytes} bytes of {space} memory at {address:#x}: ");
        let is_host = |party| !matches!(party, Party::Device { .. });
        let launches = (older.launch(), newer.launch());
        let is_one = launches.0 == launches.1 || is_host(older) || is_host(newer);
        self.tell(older, is_one, &mut text);
        text.push_str(" and ");
        self.tell(newer, is_one, &mut text);
        text.push_str(match race {
            RaceKind::Race => ": nothing orders them",
            RaceKind::Narrow if is_host(older) || is_host(newer) => ": the other side is the host",
            RaceKind::Narrow => ": a scope leaves the other thread out",
        });
        let device_side = if is_host(newer) { older } else { newer };
        let (block, thread, site) = match device_side {
            Party::Device { who, mark } => (who.block, first(who), mark.site),
            _ => (0, 0, (0, 0, 0)),
        };
        Report {
            text,
            with_host: is_host(older) || is_host(newer),
            block,
            thread,
            site,
        }
    }

    fn tell(&self, party: Party, is_one_launch: bool, text: &mut String) {
        let (who, mark) = match party {
            Party::Host => return text.push_str("a store by the host"),
            Party::HostReads => return text.push_str("a load by the host"),
            Party::Device { who, mark } => (who, mark),
        };
        text.push_str(mark.kind.name());
        let _ = write!(text, " by block {} thread {}", who.block, first(who));
        if who.lanes.count_ones() > 1 {
            let others = who.lanes.count_ones() - 1;
            let _ = write!(text, " and {others} more of its warp");
        }
        if !is_one_launch {
            let _ = write!(text, " of launch {}", who.launch);
        }
        let (module, function, pc) = mark.site;
        if let Some(module) = lock(&self.modules).get(&module) {
            let _ = write!(text, " at {}", module.place(function, pc));
        }
    }
}

fn first(who: Who) -> u32 {
    let lane = lanes_of(who.lanes).next().unwrap_or(0);
    who.warp * 32 + lane as u32
}
