//! An executed instruction.

/// Lanes of the widest warp.
pub const MAX_LANES: usize = 64;

/// The number of an instruction, such as its address.
pub type Site = u64;

/// A set of lanes.
pub type LaneMask = u64;

/// Addresses by lane.
pub type LaneAddresses = [u64; MAX_LANES];

/// The numbers of set bits.
#[inline]
pub fn lanes_of(mask: LaneMask) -> impl Iterator<Item = usize> {
    let mut rest = mask;
    std::iter::from_fn(move || {
        (rest != 0).then(|| {
            let lane = rest.trailing_zeros() as usize;
            rest &= rest - 1;
            lane
        })
    })
}

/// An executed instruction.
#[derive(Clone, Copy, Debug)]
pub struct Executed<'a> {
    /// The instruction.
    pub site: Site,
    /// The number of the call that it belongs to; 0 for none.
    pub call: u32,
    /// The lanes of its group.
    pub lanes: LaneMask,
    /// The lanes that execute it.
    pub active: LaneMask,
    /// The addresses of an access; `None` for other instructions.
    pub addresses: Option<&'a LaneAddresses>,
    /// The active lanes that access mapped memory.
    pub mapped: LaneMask,
}

impl Executed<'_> {
    /// The address of a lane's access; 0 if there is none.
    pub(super) fn address(&self, lane: usize) -> u64 {
        self.addresses.map_or(0, |addresses| addresses[lane])
    }

    /// The accesses to mapped memory, of `bytes` each.
    pub(super) fn accesses(&self, bytes: u32) -> Vec<(u64, u32)> {
        let accesses = lanes_of(self.mapped).map(|lane| (self.address(lane), bytes));
        accesses.collect()
    }
}
