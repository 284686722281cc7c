//! Stand-ins for the drivers of missing GPUs.

use host_rt::device::KINDS;
use standin::loader::Place;

/// The stand-in for one kind of device.
struct StandIn {
    kind: &'static str,
    place: &'static Place,
    left: fn() -> u64,
}

static ALL: [StandIn; 1] = [StandIn {
    kind: "hsa",
    place: &hsa_standin::loader::PLACE,
    left: hsa_standin::loader::held,
}];

/// If there is no GPU of a kind, or the environment requests it, restarts this program with a
/// stand-in for its driver. Returns the reason if that fails.
#[must_use]
pub fn run_again_if_needed() -> Option<String> {
    for stand_in in &ALL {
        let mut kinds = KINDS.iter();
        let kind = kinds.find(|kind| kind.name == stand_in.kind);
        let is_there = || kind.is_some_and(|kind| kind.devices().is_ok_and(|all| !all.is_empty()));
        let place = stand_in.place;
        if !place.is_loaded() && (place.is_wanted() || !is_there()) {
            let (kind, reason) = (stand_in.kind, place.run_again());
            return Some(format!(
                "nothing stands in for a GPU's driver ({kind}): {reason}"
            ));
        }
    }
    None
}

/// Whether this device's driver is a stand-in.
#[must_use]
pub fn is_for(device: &str) -> bool {
    let mut of_kind = ALL.iter().filter(|one| device.starts_with(one.kind));
    of_kind.any(|stand_in| stand_in.place.is_loaded())
}

/// The number of resources on this device that were not freed, as counted by the stand-in or the
/// emulated driver; 0 for others.
#[must_use]
pub fn left(device: &str) -> u64 {
    if device.starts_with("emu") {
        let counts = cuda_emu::counts();
        return counts.contexts + counts.leaks;
    }
    let of_kind = ALL.iter().filter(|one| device.starts_with(one.kind));
    let loaded = of_kind.filter(|stand_in| stand_in.place.is_loaded());
    loaded.map(|stand_in| (stand_in.left)()).sum()
}

/// Like [`left`], for all devices.
#[must_use]
pub fn left_of_all() -> u64 {
    left("emu") + ALL.iter().map(|stand_in| left(stand_in.kind)).sum::<u64>()
}
