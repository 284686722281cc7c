//! What stands in for the drivers of GPUs that a machine does not have.

use host_rt::device::KINDS;
use standin::loader::Place;

/// The stand-in for one kind of device.
struct StandIn {
    kind: &'static str,
    place: &'static Place,
    left: fn() -> u64,
}

static ALL: [StandIn; 2] = [
    StandIn {
        kind: "cuda",
        place: &cuda_standin::loader::PLACE,
        left: || cuda_standin::loader::contexts() + cuda_standin::loader::leaks(),
    },
    StandIn {
        kind: "hsa",
        place: &hsa_standin::loader::PLACE,
        left: hsa_standin::loader::held,
    },
];

/// Where there is no GPU of a kind, or the environment says so, begins this program anew with
/// what stands in for its driver. Returns why it cannot, if it is to.
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

/// Whether something stands in for the driver of this device.
#[must_use]
pub fn is_for(device: &str) -> bool {
    let mut of_kind = ALL.iter().filter(|one| device.starts_with(one.kind));
    of_kind.any(|stand_in| stand_in.place.is_loaded())
}

/// How much there is, with what stands in for the driver of this device, that was made and not
/// given back; 0 where nothing does.
#[must_use]
pub fn left(device: &str) -> u64 {
    let of_kind = ALL.iter().filter(|one| device.starts_with(one.kind));
    let loaded = of_kind.filter(|stand_in| stand_in.place.is_loaded());
    loaded.map(|stand_in| (stand_in.left)()).sum()
}

/// As [`left`], of all devices.
#[must_use]
pub fn left_of_all() -> u64 {
    ALL.iter().map(|stand_in| left(stand_in.kind)).sum()
}
