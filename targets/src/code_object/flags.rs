//! The target in the header of a code object. Source: LLVM, "User Guide for AMDGPU Backend", tables
//! "AMDGPU ELF Header" and "EF_AMDGPU_MACH Values".

use crate::device_arch::AmdTarget;

/// The first version of the ABI with the flags below: that of code objects of version 4.
const FIRST_ABI: u8 = 2;

/// The processor's number.
const MACHINE: u32 = 0xff;

/// Processors by their numbers.
const MACHINES: &[(u32, &str)] = &[
    (0x2a, "gfx803"),
    (0x2c, "gfx900"),
    (0x2d, "gfx902"),
    (0x2e, "gfx904"),
    (0x2f, "gfx906"),
    (0x30, "gfx908"),
    (0x31, "gfx909"),
    (0x32, "gfx90c"),
    (0x33, "gfx1010"),
    (0x34, "gfx1011"),
    (0x35, "gfx1012"),
    (0x36, "gfx1030"),
    (0x37, "gfx1031"),
    (0x38, "gfx1032"),
    (0x39, "gfx1033"),
    (0x3d, "gfx1035"),
    (0x3e, "gfx1034"),
    (0x3f, "gfx90a"),
    (0x40, "gfx940"),
    (0x41, "gfx1100"),
    (0x42, "gfx1013"),
    (0x43, "gfx1150"),
    (0x44, "gfx1103"),
    (0x45, "gfx1036"),
    (0x46, "gfx1101"),
    (0x47, "gfx1102"),
    (0x48, "gfx1200"),
    (0x4a, "gfx1151"),
    (0x4b, "gfx941"),
    (0x4c, "gfx942"),
    (0x4e, "gfx1201"),
    (0x4f, "gfx950"),
    (0x51, "gfx9-generic"),
    (0x52, "gfx10-1-generic"),
    (0x53, "gfx10-3-generic"),
    (0x54, "gfx11-generic"),
    (0x55, "gfx1152"),
    (0x58, "gfx1153"),
    (0x59, "gfx12-generic"),
    (0x5f, "gfx9-4-generic"),
];

/// Features by the position of their two bits: 2 there is off, 3 is on, other values mean
/// unspecified.
const FEATURES: [(&str, u32); 2] = [("sramecc", 10), ("xnack", 8)];

/// The target of a code object with these flags and this version of the ABI; none if they do not
/// specify one, or an unknown one.
pub(super) fn target(abi: u8, flags: u32) -> Option<AmdTarget> {
    if abi < FIRST_ABI {
        return None;
    }
    let mut machines = MACHINES.iter();
    let (_, processor) = machines.find(|(number, _)| *number == flags & MACHINE)?;
    let features = FEATURES.iter().filter_map(|&(name, shift)| {
        let on = match flags >> shift & 3 {
            2 => false,
            3 => true,
            _ => return None,
        };
        Some((name.to_owned(), on))
    });
    Some(AmdTarget {
        processor: (*processor).to_owned(),
        features: features.collect(),
    })
}

/// As [`target`], also of version 3, whose flags mention only features that are on.
pub(super) fn of_any_version(abi: u8, flags: u32) -> Option<AmdTarget> {
    if abi >= FIRST_ABI {
        return target(abi, flags);
    }
    let mut machines = MACHINES.iter();
    let (_, processor) = machines.find(|(number, _)| *number == flags & MACHINE)?;
    let on = [("sramecc", 0x200), ("xnack", 0x100)].into_iter();
    let on = on.filter(|&(_, flag)| flags & flag != 0);
    Some(AmdTarget {
        processor: (*processor).to_owned(),
        features: on.map(|(name, _)| (name.to_owned(), true)).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_say_what_a_code_object_is_for() {
        let said = |flags| target(2, flags).map(|target| target.to_string());
        assert_eq!(said(0x22c).as_deref(), Some("gfx900:xnack-"));
        assert_eq!(said(0xd3f).as_deref(), Some("gfx90a:sramecc+"));
        assert_eq!(said(0x036).as_deref(), Some("gfx1030"));
        assert_eq!(said(0x2ff), None);
        // Older versions have other bits.
        assert_eq!(target(1, 0x22c), None);
        let old = of_any_version(1, 0x130).map(|target| target.to_string());
        assert_eq!(old.as_deref(), Some("gfx908:xnack+"));
    }

    #[test]
    fn names_are_those_of_targets() {
        for (number, name) in MACHINES {
            let target = target(2, *number).expect("it is in the table");
            assert_eq!(name.parse(), Ok(target));
        }
    }
}
