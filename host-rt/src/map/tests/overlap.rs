//! Arguments that share bytes.

use shared_abi::map_kind::MapKind;

use super::sim::{BASE, Sim, arg, bytes, run};
use crate::map::MapError;

#[test]
fn a_part_lies_in_the_whole_in_either_order() {
    let whole = arg(MapKind::TOFROM, BASE + 8, 64);
    let part = arg(MapKind::TOFROM, BASE + 24, 8);
    for (args, w, p) in [([whole, part], 0, 1), ([part, whole], 1, 0)] {
        let mut sim = Sim::new(128);
        run(&mut sim, &args, |host| {
            assert_eq!(host[p].ptr, host[w].ptr.wrapping_add(16));
            assert!(!host[p].exclusive && !host[w].exclusive);
            bytes(&host[p]).fill(0xee);
        })
        .unwrap();
        assert_eq!(
            sim.fetched,
            [(w, BASE + 8, 64)],
            "the part has come with it"
        );
        assert_eq!(sim.stored, [(w, BASE + 8, 64)]);
        assert!(sim.bytes[24..32].iter().all(|byte| *byte == 0xee));
    }
}

#[test]
fn ranges_that_overlap_in_part_are_one_memory() {
    let mut sim = Sim::new(128);
    let before = sim.bytes.clone();
    let args = [
        arg(MapKind::FROM, BASE + 16, 16),
        arg(MapKind::TO, BASE, 20),
        arg(MapKind::ALLOC, BASE + 30, 10),
        arg(MapKind::TOFROM, BASE + 40, 4),
    ];
    run(&mut sim, &args, |host| {
        assert_eq!(host[0].ptr, host[1].ptr.wrapping_add(16));
        assert_eq!(host[2].ptr, host[1].ptr.wrapping_add(30));
        assert_eq!(bytes(&host[1]), &before[..20]);
        assert_eq!(&bytes(&host[0])[..4], &before[16..20]);
        assert!(bytes(&host[0])[4..].iter().all(|byte| *byte == 0));
        let exclusive: Vec<_> = host.iter().map(|host| host.exclusive).collect();
        assert_eq!(exclusive, [false, false, false, true]);
        bytes(&host[2])[0] = 0xee;
    })
    .unwrap();
    assert_eq!(sim.fetched, [(1, BASE, 20), (3, BASE + 40, 4)]);
    assert_eq!(sim.stored, [(0, BASE + 16, 16), (3, BASE + 40, 4)]);
    assert_eq!(sim.bytes[30], 0xee);
}

#[test]
fn neighbours_are_apart() {
    let mut sim = Sim::new(128);
    let args = [
        arg(MapKind::TO, BASE, 8),
        arg(MapKind::TO, BASE + 8, 8),
        arg(MapKind::TO, BASE + 16, 8),
    ];
    run(&mut sim, &args, |host| {
        assert!(host.iter().all(|host| host.exclusive));
    })
    .unwrap();
}

#[test]
fn what_a_part_asks_for_is_copied() {
    let mut sim = Sim::new(128);
    let before = sim.bytes.clone();
    let args = [
        arg(MapKind::ALLOC, BASE, 64),
        arg(MapKind::TO, BASE + 8, 8),
        arg(MapKind::FROM, BASE + 32, 8),
    ];
    run(&mut sim, &args, |host| {
        let whole = bytes(&host[0]);
        assert_eq!(&whole[8..16], &before[8..16]);
        assert!(whole[..8].iter().chain(&whole[16..]).all(|byte| *byte == 0));
        whole.fill(0xee);
    })
    .unwrap();
    let mut after = before;
    after[32..40].fill(0xee);
    assert_eq!(sim.bytes, after);
}

#[test]
fn data_of_the_same_call_is_present() {
    for kind in [
        MapKind::FORCE_PRESENT,
        MapKind::ALWAYS_PRESENT_TO,
        MapKind::ALWAYS_PRESENT_FROM,
        MapKind::ALWAYS_PRESENT_TOFROM,
        MapKind::RELEASE,
    ] {
        let mut sim = Sim::new(128);
        let before = sim.bytes.clone();
        let args = [arg(MapKind::ALLOC, BASE, 64), arg(kind, BASE + 8, 8)];
        run(&mut sim, &args, |host| {
            assert_eq!(host[1].ptr, host[0].ptr.wrapping_add(8));
            assert!(!host[0].exclusive && !host[1].exclusive);
            let expected = if kind.reads_device() { before[8] } else { 0 };
            assert_eq!(bytes(&host[1])[0], expected);
            bytes(&host[1]).fill(0xee);
        })
        .unwrap();
        assert_eq!(sim.bytes[8] == 0xee, kind.writes_device());
    }
    let args = [
        arg(MapKind::ALLOC, BASE, 64),
        arg(MapKind::FORCE_PRESENT, BASE + 60, 8),
    ];
    let error = run(&mut Sim::new(128), &args, |_| ()).unwrap_err();
    assert!(matches!(error, MapError::NotPresent { arg } if arg.index == 1));
}

#[test]
fn parts_are_aligned_as_on_the_device() {
    let args = [
        arg(MapKind::TO, BASE + 1, 100),
        arg(MapKind::TO.with_align(16), BASE + 16, 16),
        arg(MapKind::TO.with_align(512), BASE + 512, 16),
        arg(MapKind::ALLOC, BASE + 16, 500),
    ];
    run(&mut Sim::new(1024), &args, |host| {
        assert_eq!(host[1].ptr.addr() % 16, 0);
        assert_eq!(host[2].ptr.addr() % 512, 0);
        assert_eq!(host[1].ptr, host[0].ptr.wrapping_add(15));
    })
    .unwrap();
}

#[test]
fn exclusive_is_said_of_no_two_arguments_that_share() {
    // Chains and nested ranges; a later range may overlap a much earlier one.
    let ranges = [
        (0, 50),
        (2, 3),
        (10, 5),
        (12, 30),
        (60, 5),
        (64, 8),
        (80, 4),
    ];
    let args = ranges.map(|(at, size)| arg(MapKind::TO, BASE + at, size));
    run(&mut Sim::new(128), &args, |host| {
        let exclusive: Vec<_> = host.iter().map(|host| host.exclusive).collect();
        assert_eq!(exclusive, [false, false, false, false, false, false, true]);
    })
    .unwrap();
}
