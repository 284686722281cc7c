//! The requirements of a program (`#pragma omp requires`), as libgomp passes them.

use std::ffi::c_uint;

/// `GOMP_REQUIRES_*` with OpenMP's names. Bits without a clause have none.
const NAMES: [(c_uint, &str); 4] = [
    (UNIFIED_ADDRESS, "unified_address"),
    (0x20, "unified_shared_memory"),
    (REVERSE_OFFLOAD, "reverse_offload"),
    (0x100, "self_maps"),
];

const UNIFIED_ADDRESS: c_uint = 0x10;
const REVERSE_OFFLOAD: c_uint = 0x80;
/// The program has target regions.
const TARGET_USED: c_uint = 0x200;

/// The features of these devices: one address space of host and device, and reverse offload. Shared
/// memory would need an untested kind of system.
const PROVIDED: c_uint = UNIFIED_ADDRESS | REVERSE_OFFLOAD | TARGET_USED;

/// The reason why these devices cannot run a program that requires `mask`; `None` if they can.
pub(crate) fn missing(mask: c_uint) -> Option<String> {
    let mut rest = mask & !PROVIDED;
    if rest == 0 {
        return None;
    }
    let mut names = Vec::new();
    for (bit, name) in NAMES {
        if rest & bit != 0 {
            names.push(format!("`{name}`"));
            rest &= !bit;
        }
    }
    if rest != 0 {
        names.push(format!("what this plugin does not know ({rest:#x})"));
    }
    Some(format!(
        "the program requires {}, which the devices of this plugin do not provide: its target \
         regions run on the host, or it ends if OMP_TARGET_OFFLOAD=mandatory; to use a device, \
         remove the clause from `omp requires` and map the data",
        names.join(" and ")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_requirements_are_named() {
        assert_eq!(missing(0), None);
        assert_eq!(missing(PROVIDED), None);
        for (mask, text) in [
            (0x20, "requires `unified_shared_memory`, which"),
            // Shared memory implies one address space.
            (
                0x30 | TARGET_USED,
                "requires `unified_shared_memory`, which",
            ),
            (
                0x120,
                "requires `unified_shared_memory` and `self_maps`, which",
            ),
            (
                0x1000,
                "requires what this plugin does not know (0x1000), which",
            ),
        ] {
            let reason = missing(mask).unwrap();
            assert!(reason.contains(text), "{mask:#x}: {reason}");
        }
    }
}
