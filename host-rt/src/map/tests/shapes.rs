//! Structures, attached pointers and descriptors.

use std::ptr::NonNull;

use shared_abi::map_kind::MapKind;

use super::sim::{BASE, Sim, arg, bytes, run, run_with};
use crate::map::{HostArg, MapError, PresentTable};

fn pointer_at(arg: &HostArg, offset: usize) -> *mut u8 {
    let bytes: [u8; 8] = bytes(arg)[offset..offset + 8].try_into().unwrap();
    std::ptr::without_provenance_mut(usize::from_ne_bytes(bytes))
}

#[test]
fn members_share_one_memory_and_are_copied_one_by_one() {
    let mut sim = Sim::new(256);
    let before = sim.bytes.clone();
    let args = [
        // The structure begins before its first mapped member.
        arg(MapKind::STRUCT.with_align(8), BASE + 8, 3),
        arg(MapKind::TO, BASE + 16, 4),
        arg(MapKind::FROM, BASE + 32, 8),
        arg(MapKind::TOFROM, BASE + 48, 8),
        arg(MapKind::TO, BASE + 100, 4),
    ];
    run(&mut sim, &args, |host| {
        for i in 1..4 {
            let offset = args[i].addr - args[0].addr;
            assert_eq!(host[i].ptr, host[0].ptr.wrapping_add(offset as usize));
            assert!(host[i].exclusive);
        }
        assert_eq!(host[0].size, 0);
        assert_eq!(bytes(&host[1]), &before[16..20]);
        assert_eq!(bytes(&host[2]), [0; 8]);
        // SAFETY: the memory reaches from the first to the end of the last member.
        let gap = unsafe { std::slice::from_raw_parts(host[1].ptr.add(4), 12) };
        assert_eq!(gap, [0; 12]);
        bytes(&host[1]).fill(1);
        bytes(&host[2]).fill(2);
        bytes(&host[3]).fill(3);
    })
    .unwrap();
    let mut after = before;
    after[32..40].fill(2);
    after[48..56].fill(3);
    assert_eq!(sim.bytes, after);
    assert_eq!((sim.fetched.len(), sim.stored.len()), (3, 2));
}

#[test]
fn a_present_structure_is_not_copied() {
    let mut original = [7u8; 64];
    let host = NonNull::from(&mut original).cast::<u8>();
    let table = PresentTable::new();
    // SAFETY: `original` is not used before the end of the test.
    unsafe { table.insert(host, BASE, 64) }.unwrap();
    let args = [
        arg(MapKind::STRUCT, BASE, 2),
        arg(MapKind::TOFROM, BASE + 8, 8),
        arg(MapKind::ALWAYS_FROM, BASE + 24, 8),
    ];
    let mut sim = Sim::new(64);
    run_with(&mut sim, &args, &table, |args| {
        assert_eq!(args[0].ptr, host.as_ptr());
        assert_eq!(args[1].ptr, host.as_ptr().wrapping_add(8));
    })
    .unwrap();
    assert_eq!((sim.fetched, sim.stored), (vec![], vec![(2, BASE + 24, 8)]));
}

#[test]
fn bad_structures_are_refused() {
    let member = arg(MapKind::TO, BASE, 8);
    let refused = |args: &[_]| run(&mut Sim::new(64), args, |_| ()).unwrap_err();
    for count in [2, u64::MAX, 1 << 63] {
        let error = refused(&[arg(MapKind::STRUCT, BASE, count), member]);
        assert!(
            matches!(error, MapError::MemberCount { left: 1, .. }),
            "{error}"
        );
    }
    for kind in [
        MapKind::STRUCT,
        MapKind::FIRSTPRIVATE,
        MapKind::FIRSTPRIVATE_INT,
        MapKind(0x5c),
    ] {
        let error = refused(&[
            arg(MapKind::STRUCT, BASE, 2),
            member,
            arg(kind, BASE + 8, 0),
        ]);
        assert!(
            matches!(error, MapError::Member { header: 0, arg } if arg.index == 2),
            "{error}"
        );
    }
    // Far apart, so that the whole would be huge.
    let far = arg(MapKind::TO, 1 << 60, 8);
    let error = refused(&[arg(MapKind::STRUCT, BASE, 2), member, far]);
    assert!(
        matches!(error, MapError::TooLarge { arg, .. } if arg.index == 0),
        "{error}"
    );
}

#[test]
fn a_structure_without_bytes_has_an_address() {
    let args = [
        arg(MapKind::STRUCT.with_align(16), BASE, 0),
        arg(MapKind::STRUCT, BASE, 1),
        arg(MapKind::TO, BASE, 0),
    ];
    run(&mut Sim::new(64), &args, |host| {
        assert!(
            host.iter()
                .all(|host| !host.ptr.is_null() && host.size == 0)
        );
    })
    .unwrap();
}

#[test]
fn a_free_pointer_points_to_the_entry_before() {
    for kind in [MapKind::POINTER, MapKind::ALWAYS_POINTER, MapKind::ATTACH] {
        for bias in [0, 40, u64::MAX] {
            let mut sim = Sim::new(256);
            let before = sim.bytes.clone();
            let args = [arg(MapKind::TO, BASE, 16), arg(kind, BASE + 64, bias)];
            run(&mut sim, &args, |host| {
                assert_eq!(host[1].size, 8);
                let expected = host[0].ptr.wrapping_sub(bias as usize);
                assert_eq!(pointer_at(&host[1], 0), expected);
            })
            .unwrap();
            assert_eq!((sim.fetched.len(), sim.store_calls), (1, 0));
            assert_eq!(sim.bytes, before);
        }
    }
}

#[test]
fn an_attached_pointer_keeps_its_device_value() {
    for kind in [MapKind::TOFROM, MapKind::FROM, MapKind::ALLOC, MapKind::TO] {
        let mut sim = Sim::new(256);
        sim.put_u64(BASE + 16, BASE + 128);
        let before = sim.bytes.clone();
        let args = [
            arg(kind, BASE, 32),
            arg(MapKind::TOFROM, BASE + 128, 8),
            arg(MapKind::ATTACH, BASE + 16, 0),
            arg(MapKind::ATTACH, BASE + 16, 0),
        ];
        // The second attaches the pointer to itself, which is invalid but harmless.
        run(&mut sim, &args, |host| {
            assert_eq!(host[2].ptr, host[0].ptr.wrapping_add(16));
            assert_eq!(pointer_at(&host[0], 16), host[2].ptr);
            bytes(&host[0])[0] = 0xee;
        })
        .unwrap();
        let mut after = before;
        if kind.writes_device() {
            if kind == MapKind::FROM {
                after[..32].fill(0);
                after[16..24].copy_from_slice(&(BASE + 128).to_ne_bytes());
            }
            after[0] = 0xee;
        }
        assert_eq!(sim.bytes, after, "{kind:?}");
        assert_eq!(sim.fetch_calls, 1);
    }
}

#[test]
fn a_member_pointer_leads_to_its_section() {
    let mut sim = Sim::new(256);
    sim.put_u64(BASE + 8, BASE + 128);
    let before = sim.bytes.clone();
    // s.p[2:4] of a structure s with a pointer to u32.
    let args = [
        arg(MapKind::STRUCT.with_align(8), BASE, 1),
        arg(MapKind::ALLOC.with_align(8), BASE + 8, 8),
        arg(MapKind::TOFROM.with_align(4), BASE + 136, 16),
        arg(MapKind::ATTACH, BASE + 8, 8),
    ];
    run(&mut sim, &args, |host| {
        let p = pointer_at(&host[1], 0);
        assert_eq!(p.wrapping_add(8), host[2].ptr);
        assert_eq!(bytes(&host[2]), &before[136..152]);
    })
    .unwrap();
    assert_eq!(sim.bytes, before);
    assert_eq!(sim.fetched, [(2, BASE + 136, 16)]);
}

#[test]
fn a_present_pointer_is_left_alone() {
    let mut original = [0x1122_3344u64; 4];
    let host = NonNull::from(&mut original).cast::<u8>();
    let table = PresentTable::new();
    // SAFETY: `original` is used again only after it was removed.
    unsafe { table.insert(host, BASE + 64, 32) }.unwrap();
    let args = [
        arg(MapKind::TO, BASE, 16),
        arg(MapKind::ATTACH, BASE + 72, 8),
    ];
    run_with(&mut Sim::new(128), &args, &table, |args| {
        assert_eq!(args[1].ptr, host.as_ptr().wrapping_add(8));
        assert_eq!(args[1].size, 8);
    })
    .unwrap();
    table.remove(BASE + 64).unwrap();
    assert_eq!(original, [0x1122_3344; 4]);
}

#[test]
fn a_pointer_needs_an_entry_before_it() {
    let pointer = arg(MapKind::ATTACH, BASE, 0);
    let refused = |args: &[_]| run(&mut Sim::new(64), args, |_| ()).unwrap_err();
    assert!(matches!(refused(&[pointer]), MapError::NoTarget { .. }));
    let value = arg(MapKind::FIRSTPRIVATE_INT, 0xdead, 8);
    assert!(matches!(
        refused(&[value, pointer]),
        MapError::NoTarget { .. }
    ));
    // Pointers to null and to absent data are null.
    for before in [arg(MapKind::TO, 0, 8), arg(MapKind::RELEASE, BASE + 32, 8)] {
        run(
            &mut Sim::new(64),
            &[before, arg(MapKind::ATTACH, BASE, 24)],
            |host| {
                assert!(pointer_at(&host[1], 0).is_null());
            },
        )
        .unwrap();
    }
}

const DESCRIPTOR: u64 = BASE + 64;

fn descriptor(kind: MapKind, offset: u64) -> [crate::map::Arg; 2] {
    [
        arg(MapKind::TO_PSET.with_align(8), DESCRIPTOR, 32),
        arg(kind, DESCRIPTOR + offset, offset),
    ]
}

#[test]
fn a_descriptor_points_to_the_mapped_array() {
    for kind in [
        MapKind::POINTER,
        MapKind::ALWAYS_POINTER,
        MapKind::POINTER_TO_ZERO_LENGTH_ARRAY_SECTION,
    ] {
        for offset in [0, 8, 24] {
            let mut sim = Sim::new(256);
            sim.put_u64(DESCRIPTOR + offset, BASE + 4);
            let before = sim.bytes.clone();
            let [pset, pointer] = descriptor(kind, offset);
            let args = [arg(MapKind::TOFROM, BASE, 16), pset, pointer];
            run(&mut sim, &args, |host| {
                let data = host[0].ptr.wrapping_add(4);
                assert_eq!(pointer_at(&host[1], offset as usize), data);
                assert_eq!(host[2].ptr, data);
                let other = if offset == 0 { 8 } else { 0 };
                assert_eq!(bytes(&host[1])[other], before[64 + other]);
            })
            .unwrap();
            assert_eq!(sim.bytes, before);
            assert_eq!((sim.fetch_calls, sim.store_calls), (1, 1));
        }
    }
}

#[test]
fn a_descriptor_inside_other_data_is_restored() {
    let mut sim = Sim::new(256);
    sim.put_u64(DESCRIPTOR, BASE);
    let before = sim.bytes.clone();
    let [pset, pointer] = descriptor(MapKind::POINTER, 0);
    let args = [
        arg(MapKind::FROM, DESCRIPTOR, 48),
        arg(MapKind::TO, BASE, 16),
        pset,
        pointer,
        // Named twice: the second must not take the host address for the device's.
        pointer,
    ];
    run(&mut sim, &args, |host| {
        assert_eq!(pointer_at(&host[0], 0), host[1].ptr);
        assert_eq!(host[4].ptr, host[1].ptr);
        bytes(&host[0])[40] = 0xee;
    })
    .unwrap();
    assert_eq!(sim.bytes[..96], before[..96]);
    assert_eq!(sim.bytes[104], 0xee);
}

#[test]
fn a_descriptor_may_point_to_present_data_or_nowhere() {
    let mut original = [0u8; 32];
    let host = NonNull::from(&mut original).cast::<u8>();
    let table = PresentTable::new();
    // SAFETY: `original` is not used before the end of the test.
    unsafe { table.insert(host, BASE + 192, 32) }.unwrap();
    let mut sim = Sim::new(256);
    sim.put_u64(DESCRIPTOR, BASE + 200);
    sim.put_u64(DESCRIPTOR + 8, 0);
    let args = [
        arg(MapKind::TO_PSET, DESCRIPTOR, 32),
        arg(MapKind::POINTER, DESCRIPTOR, 0),
        arg(MapKind::POINTER, DESCRIPTOR + 8, 8),
    ];
    run_with(&mut sim, &args, &table, |args| {
        assert_eq!(pointer_at(&args[0], 0), host.as_ptr().wrapping_add(8));
        assert!(pointer_at(&args[0], 8).is_null());
        assert!(matches!(
            table.remove(BASE + 192),
            Err(crate::map::RemoveError::InUse(_))
        ));
    })
    .unwrap();
    table.remove(BASE + 192).unwrap();
}

#[test]
fn a_present_descriptor_has_the_hosts_own_pointers() {
    let mut original = [0x1234u64, 0, 0, 0];
    let host = NonNull::from(&mut original).cast::<u8>();
    let table = PresentTable::new();
    // SAFETY: `original` is used again only after it was removed.
    unsafe { table.insert(host, DESCRIPTOR, 32) }.unwrap();
    let mut sim = Sim::new(256);
    run_with(&mut sim, &descriptor(MapKind::POINTER, 0), &table, |args| {
        assert_eq!(args[0].ptr, host.as_ptr());
        assert_eq!(args[1].ptr.addr(), 0x1234);
    })
    .unwrap();
    assert_eq!(sim.fetch_calls, 0);
    table.remove(DESCRIPTOR).unwrap();
    assert_eq!(original[0], 0x1234);
}

#[test]
fn a_descriptor_of_an_empty_array() {
    let mut sim = Sim::new(256);
    sim.put_u64(DESCRIPTOR, BASE + 200);
    let [pset, pointer] = descriptor(MapKind::POINTER, 0);
    run(
        &mut sim,
        &[arg(MapKind::TO, BASE + 200, 0), pset, pointer],
        |host| {
            assert!(!host[0].ptr.is_null());
            assert_eq!(pointer_at(&host[1], 0), host[0].ptr);
        },
    )
    .unwrap();
    // Not mapped.
    let zero_len = descriptor(MapKind::POINTER_TO_ZERO_LENGTH_ARRAY_SECTION, 0);
    run(&mut sim_with_target(BASE + 200), &zero_len, |host| {
        assert!(pointer_at(&host[0], 0).is_null() && host[1].ptr.is_null());
    })
    .unwrap();
}

fn sim_with_target(target: u64) -> Sim {
    let mut sim = Sim::new(256);
    sim.put_u64(DESCRIPTOR, target);
    sim
}

#[test]
fn bad_descriptors_are_refused() {
    for target in [1, BASE + 200, u64::MAX] {
        let mut sim = sim_with_target(target);
        let error = run(&mut sim, &descriptor(MapKind::POINTER, 0), |_| ()).unwrap_err();
        assert!(
            matches!(error, MapError::UnmappedTarget { target: t, .. } if t == target),
            "{error}"
        );
    }
    for (addr, size) in [
        (DESCRIPTOR, 8),
        (DESCRIPTOR + 8, 0),
        (DESCRIPTOR + 25, 25),
        (DESCRIPTOR + 32, 32),
        (1, u64::MAX),
    ] {
        let pset = arg(MapKind::TO_PSET, DESCRIPTOR, 32);
        let args = [pset, arg(MapKind::POINTER, addr, size)];
        let error = run(&mut Sim::new(256), &args, |_| ()).unwrap_err();
        assert!(
            matches!(error, MapError::NotInDescriptor { descriptor: 0, .. }),
            "{error}"
        );
    }
}
