//! Reports of races.

use std::fmt::Write as _;

use super::party::{Party, RaceKind, Who};
use super::{Checker, Site, lanes_of, lock};

/// A race, and the device thread and instruction to which it is attributed.
#[derive(Clone, Debug)]
pub struct Report {
    /// The two accesses, and why they are a race.
    pub text: String,
    /// Whether one of the two is the host.
    pub(super) with_host: bool,
    /// The number of the block.
    pub block: u64,
    /// The number of the thread in it.
    pub thread: u32,
    /// The instruction.
    pub site: Site,
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
        let space = if (self.rules.is_mapped)(address) {
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
            _ => (0, 0, (0, 0)),
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
        let [block, thread] = self.rules.words;
        text.push_str(mark.kind.name());
        let _ = write!(text, " by {block} {} {thread} {}", who.block, first(who));
        if who.lanes.count_ones() > 1 {
            let others = who.lanes.count_ones() - 1;
            let _ = write!(text, " and {others} more of its warp");
        }
        if !is_one_launch {
            let _ = write!(text, " of launch {}", who.launch);
        }
        let (code, place) = mark.site;
        if let Some(code) = lock(&self.code).get(&code) {
            let _ = write!(text, " at {}", code.describe(place));
        }
    }
}

fn first(who: Who) -> u32 {
    who.first + lanes_of(who.lanes).next().unwrap_or(0)
}
