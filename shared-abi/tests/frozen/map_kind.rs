//! The meaning of the bits of a mapping kind.

use shared_abi::map_kind::MapKind;

#[test]
fn implicit_is_both_bits_and_none_below() {
    // Like GOMP_MAP_IMPLICIT_P: the five bits from 2 on are 11000.
    for (value, base) in [
        (0x61, 0x01),
        (0x62, 0x02),
        (0x63, 0x03),
        (0xe1, 0x81),
        (0x50, 0x50),
        (0x20, 0x20),
        (0x64, 0x64),
        (0x70, 0x70),
        (0x03, 0x03),
    ] {
        assert_eq!(MapKind(value).base(), base, "{value:#x}");
        assert_eq!(
            MapKind(0x0300 | value).base(),
            base,
            "{value:#x} with alignment"
        );
    }
}

#[test]
fn alignment_is_the_high_byte() {
    assert_eq!(MapKind(0x0001).align(), Some(1));
    assert_eq!(MapKind(0x0301).align(), Some(8));
    assert_eq!(MapKind(0x3f01).align(), Some(1 << 63));
    assert_eq!(MapKind(0x4001).align(), None);
    assert_eq!(MapKind(0xff01).align(), None);
    assert_eq!(MapKind::TOFROM.with_align(1), MapKind(0x0003));
    assert_eq!(MapKind(0x0703).with_align(64), MapKind(0x0603));
}

#[test]
fn names() {
    assert_eq!(MapKind::TO.name(), Some("TO"));
    assert_eq!(MapKind(0x0361).name(), Some("TO"));
    assert_eq!(MapKind(0x0e).name(), None);
    assert_eq!(format!("{:?}", MapKind(0x0303)), "TOFROM(0x0303)");
}

#[test]
fn directions() {
    let both = |kind: MapKind| (kind.reads_device(), kind.writes_device());
    assert_eq!(both(MapKind::ALLOC), (false, false));
    assert_eq!(both(MapKind::TO), (true, false));
    assert_eq!(both(MapKind::FROM), (false, true));
    assert_eq!(both(MapKind::TOFROM), (true, true));
    assert_eq!(both(MapKind::FIRSTPRIVATE), (true, false));
    assert_eq!(both(MapKind::FIRSTPRIVATE_INT), (false, false));
    assert_eq!(both(MapKind(0x0363)), (true, true));
}
