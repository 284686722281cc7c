//! A broken device: requests that no device runtime writes. Each is an error of its launch, and the
//! runtime works on.

use conformance::Target;
use conformance_calls::forge::{Gcc, MAX_ENTRIES, MAX_ROWS, Native};
use revoff_host::shared_abi::image::HOST_ARCH;
use revoff_host::shared_abi::map_kind::MapKind;
use revoff_host::shared_abi::status::Status;
use revoff_host::shared_abi::wire::WireKind;
use revoff_host::shared_abi::wire::gcn_queue::CALL;
use revoff_host::shared_abi::wire::native::{
    ENTRY_ROWS, HEADER_ROWS, MAX_ARGS, MAX_LANES, MAX_MARSHALLED, PLACE_BOUNCE, PLACE_DEVICE,
    PLACE_SLOT, RequestMeta, lane_rows,
};
use revoff_host::{CallError, Functions, LaunchError, Report};

use crate::probe::Probe;
use crate::raw::words;
use crate::session::{Session, acting, read};
use crate::{Test, test};

pub(crate) const TESTS: &[Test] = &[
    test!(invalid_entries),
    test!(invalid_shapes).only(|target| target.wire == WireKind::NATIVE),
    test!(invalid_bounce_extents),
    test!(too_many_arguments),
    test!(sequence_numbers_and_tickets_that_jump),
    test!(unreachable_completion_words),
    test!(the_runtimes_own_memory_is_no_target),
    test!(messages_of_unknown_types).only(Target::has_text_messages),
    test!(requests_as_gcc_makes_them),
    test!(another_launch_is_named),
];

/// The last slot that callers claim: they take the first free one.
const SLOT: u32 = 31;

fn functions() -> Functions {
    let mut functions = acting(|what| what);
    functions
        .add(Probe::new("probe", |args| {
            for arg in args.iter_mut().filter(|arg| arg.kind.writes_device()) {
                arg.bytes.fill(0x77);
            }
            Ok(())
        }))
        .unwrap();
    functions
}

fn open(target: &Target) -> Session {
    Session::build(target, target.builder().slots(32), &functions())
}

/// A request of one lane with these arguments. It has as many rows as possible.
pub(crate) fn native(session: &Session, entries: &[[u64; 3]]) -> Native {
    with(session, entries.len() as u32, None, entries)
}

/// A request of one lane with `mapnum` arguments, an extent of some blocks, and these entries in its
/// rows.
fn with(
    session: &Session,
    mapnum: u32,
    extent: Option<(u32, u32)>,
    entries: &[[u64; 3]],
) -> Native {
    let meta = RequestMeta::new(1, MAX_ROWS as u32, extent.is_some(), mapnum);
    let mut data = [0; MAX_ROWS];
    let rows = [meta.0.into(), words(session).probe].into_iter();
    let extent = extent.map(|(first, blocks)| u64::from(first) | u64::from(blocks) << 32);
    let rows = rows.chain(extent).chain(entries.iter().flatten().copied());
    for (row, value) in data.iter_mut().zip(rows) {
        *row = value;
    }
    Native {
        slot: SLOT,
        jump: 0,
        lanes: 1,
        writing: 1,
        rows: MAX_ROWS as u32,
        missing: u32::MAX,
        data,
        in_bounce: 0,
        reserved: 0,
        entries: [[0; 3]; MAX_ENTRIES],
    }
}

pub(crate) fn entry(addr: u64, size: u64, kind: MapKind, place: u16, offset: u32) -> [u64; 3] {
    let tail = u64::from(kind.0) | u64::from(place) << 16 | u64::from(offset) << 32;
    [addr, size, tail]
}

pub(crate) type Result = std::result::Result<Report, LaunchError>;

pub(crate) fn send_native(session: &Session, request: &Native) -> (Status, Result) {
    let request = session.filled(&[*request]);
    let status = session.filled(&[u32::MAX]);
    let result = session.run("forge_native", (1, 1), &[&request, &status]);
    (Status(read::<u32>(&status)[0]), result)
}

pub(crate) fn gcc(session: &Session) -> Gcc {
    Gcc {
        func: words(session).probe,
        mapnum: 0,
        addrs: 0,
        sizes: 0,
        kinds: 0,
        signal: 0,
        jump: 0,
        kind: CALL,
    }
}

/// With a completion word in device memory, as in GCC's own code.
pub(crate) fn send_gcc(session: &Session, mut request: Gcc) -> Result {
    let signal = session.zeroed::<u32>(1);
    request.signal = signal.address().0;
    let request = session.filled(&[request]);
    session.run("forge_gcc", (1, 1), &[&request, &signal])
}

/// Without a completion word: `gcn-queue` replies in the slot.
fn send_in_slot(session: &Session, request: Gcc) -> Result {
    let signal = session.zeroed::<u32>(1);
    let request = session.filled(&[Gcc {
        signal: 0,
        ..request
    }]);
    session.run("forge_gcc", (1, 1), &[&request, &signal])
}

fn text(result: &Result) -> String {
    match result {
        Err(error) => error.to_string(),
        Ok(_) => panic!("the launch ended well"),
    }
}

/// Arguments that are all rejected, wherever they came from: address, size, kind.
fn absurd(memory: u64) -> Vec<(u64, u64, MapKind, &'static str)> {
    vec![
        (memory, u64::MAX, MapKind::TO, "end of the address space"),
        (memory, u64::MAX - memory, MapKind::TO, "the limit is"),
        (memory, 1 << 50, MapKind::FROM, "the limit is"),
        (u64::MAX, 8, MapKind::TO, "end of the address space"),
        (memory, 65, MapKind::TO, "not (all) allocated"),
        (memory + 64, 8, MapKind::FROM, "not (all) allocated"),
        (0x1000, 8, MapKind::TO, "does not reach"),
        (8, 8, MapKind::TOFROM, "does not reach"),
        (memory, 8, MapKind(0x2a), "cannot map this kind"),
        (memory, 8, MapKind(0xffff), "cannot map this kind"),
        (memory, 8, MapKind(0x6201), "alignment 2^98"),
        (memory, u64::MAX, MapKind::STRUCT, "entries follow"),
        (
            memory,
            u64::MAX,
            MapKind::TO_PSET,
            "end of the address space",
        ),
        (memory, 8, MapKind::ATTACH, "could be attached to"),
    ]
}

fn invalid_entries(target: &Target) {
    let session = open(target);
    let memory = session.zeroed::<u64>(8);
    for (addr, size, kind, words) in absurd(memory.address().0) {
        let text = if target.wire == WireKind::NATIVE {
            let request = native(&session, &[entry(addr, size, kind, PLACE_DEVICE, 0)]);
            let (status, result) = send_native(&session, &request);
            assert_eq!(status, Status::REFUSED_MAPPING);
            text(&result)
        } else {
            let (addrs, sizes) = (session.filled(&[addr]), session.filled(&[size]));
            let kinds = session.filled(&[kind.0]);
            let request = Gcc {
                mapnum: 1,
                addrs: addrs.address().0,
                sizes: sizes.address().0,
                kinds: kinds.address().0,
                ..gcc(&session)
            };
            text(&send_gcc(&session, request))
        };
        // An unreachable address is a cause, which only debug text has.
        let expected = if words.contains("reach") || words.contains("allocated") {
            "copying"
        } else {
            words
        };
        assert!(
            text.contains(expected),
            "{addr:#x}, {size}, {kind:?}: {text}"
        );
    }
    if target.wire == WireKind::NATIVE {
        marshalled_badly(&session, memory.address().0);
    }
    session.works();
}

/// Bytes that are declared to be in the slot, or in the extent, and cannot be.
fn marshalled_badly(session: &Session, memory: u64) {
    let fits = (MAX_ROWS as u64 - u64::from(HEADER_ROWS + ENTRY_ROWS)) * 8;
    let reply_fits = u64::from(lane_rows(words(session).lanes, 1) - 1) * 8;
    let (both, back) = (MapKind::TOFROM, MapKind::FROM);
    let cases = [
        (fits + 1, both, PLACE_SLOT, 0),
        (reply_fits + 1, back, PLACE_SLOT, 0),
        (1 << 16, both, PLACE_SLOT, 0),
        (u64::MAX - 3, back, PLACE_SLOT, 0),
        (8, both, PLACE_BOUNCE, 0),
        (8, both, 3, 0),
        (8, both, u16::MAX, 0),
    ];
    for (size, kind, place, offset) in cases {
        let request = native(session, &[entry(memory, size, kind, place, offset)]);
        let (status, result) = send_native(session, &request);
        assert_eq!(status, Status::REFUSED_MAPPING, "{size}, {place}");
        let text = text(&result);
        assert!(
            text.contains("argument 0 has an invalid location"),
            "{text}"
        );
    }
    // All rows that the entry leaves.
    let rest = entry(memory, fits, both, PLACE_SLOT, 0);
    let (status, result) = send_native(session, &native(session, &[rest]));
    result.unwrap();
    assert_eq!(status, Status::DONE);
}

/// Numbers of lanes and rows that no slot has, and requests of which a part never arrives.
fn invalid_shapes(target: &Target) {
    let session = open(target);
    let max_lanes = words(&session).lanes;
    let expect_error = |request: &Native, expected: &str| {
        let (status, result) = send_native(&session, request);
        assert_eq!(status, Status::REFUSED_MAPPING, "{expected}");
        let text = text(&result);
        assert!(text.contains(expected), "{text}");
        // The slot works on.
        let (status, result) = send_native(&session, &native(&session, &[]));
        assert_eq!(status, Status::DONE, "after {expected}");
        result.unwrap();
    };
    let shape = |lanes, rows| {
        let mut request = native(&session, &[]);
        request.data[0] = RequestMeta::new(lanes, rows, false, 0).0.into();
        request
    };
    if max_lanes < MAX_LANES {
        expect_error(&shape(max_lanes + 1, 2), "requests of");
        expect_error(&shape(MAX_LANES, 2), "requests of 64 lanes");
    }
    expect_error(&shape(1, 1), "a request of 1 row,");
    for (lanes, rows) in [(max_lanes, 64), (2, 1)] {
        if lanes > 1 && lanes <= max_lanes {
            let request = Native {
                lanes,
                writing: lanes,
                rows: 2,
                ..shape(lanes, rows)
            };
            expect_error(&request, "a request of");
        }
    }
    // One row of the only lane, or all rows of the last lane.
    for missing in [1, MAX_ROWS as u32 - 1] {
        let request = Native {
            missing,
            ..native(&session, &[])
        };
        expect_error(&request, "an incomplete request");
    }
    if max_lanes > 1 {
        let request = Native {
            lanes: max_lanes,
            writing: max_lanes - 1,
            rows: 2,
            ..shape(max_lanes, 2)
        };
        expect_error(&request, "an incomplete request");
    }
    session.works();
}

/// An extent outside of the area, or longer than allowed.
fn invalid_bounce_extents(target: &Target) {
    let session = open(target);
    let memory = session.zeroed::<u64>(8);
    if target.wire == WireKind::NATIVE {
        for (first, blocks) in [
            (0, 33),
            (0, u32::MAX),
            (u32::MAX, 1),
            (u32::MAX, u32::MAX),
            (1024, 1),
            (1023, 2),
            (1 << 18, 32),
        ] {
            let entry = entry(memory.address().0, 8, MapKind::TO, PLACE_BOUNCE, 0);
            let request = with(&session, 1, Some((first, blocks)), &[entry]);
            let (status, result) = send_native(&session, &request);
            assert_eq!(status, Status::REFUSED_MAPPING);
            let text = text(&result);
            assert!(
                text.contains("the bounce area has no extent"),
                "{blocks} blocks at {first}: {text}"
            );
        }
        // The end of a valid extent is the end of its data.
        for (size, offset) in [
            (16 << 10 | 1, 0),
            (8, 16 << 10),
            (u64::MAX, 0),
            (8, u32::MAX - 7),
        ] {
            let entry = entry(memory.address().0, size, MapKind::TO, PLACE_BOUNCE, offset);
            let request = with(&session, 1, Some((0, 1)), &[entry]);
            let (status, result) = send_native(&session, &request);
            assert_eq!(status, Status::REFUSED_MAPPING, "{size} at {offset}");
            assert!(text(&result).contains("argument 0 has an invalid location"));
        }
    } else {
        // Argument arrays at invalid addresses.
        let good = memory.address().0;
        for (addrs, sizes, kinds) in [
            (0, good, good),
            (good, 0x10, good),
            (good, good, u64::MAX),
            (u64::MAX - 7, good, good),
            (good + 64, good, good),
        ] {
            let request = Gcc {
                mapnum: 2,
                addrs,
                sizes,
                kinds,
                ..gcc(&session)
            };
            let text = text(&send_gcc(&session, request));
            assert!(
                text.contains("cannot read the argument arrays: the host does not reach"),
                "{text}"
            );
        }
    }
    session.works();
}

fn too_many_arguments(target: &Target) {
    let session = open(target);
    let memory = session.zeroed::<u64>(8);
    let counts = if target.wire == WireKind::NATIVE {
        [65_537, 1 << 17, 1 << 18, MAX_ARGS.into()]
    } else {
        [65_537, 1 << 31, u64::from(u32::MAX), u64::MAX]
    };
    for count in counts {
        let result = if target.wire == WireKind::NATIVE {
            let request = with(&session, count as u32, Some((0, 32)), &[]);
            let (status, result) = send_native(&session, &request);
            assert_eq!(status, Status::REFUSED_MAPPING);
            result
        } else {
            let request = Gcc {
                mapnum: count,
                addrs: memory.address().0,
                sizes: memory.address().0,
                kinds: memory.address().0,
                ..gcc(&session)
            };
            send_gcc(&session, request)
        };
        let text = text(&result);
        assert!(
            text.contains("arguments, at most 65536 are allowed"),
            "{text}"
        );
    }
    if target.wire == WireKind::NATIVE {
        let refused = |request: Native, expected: &str| {
            let (status, result) = send_native(&session, &request);
            assert_eq!(status, Status::REFUSED_MAPPING);
            let text = text(&result);
            assert!(text.contains(expected), "{text}");
        };
        // As many as are allowed, but the list is not in the extent.
        for (mapnum, blocks) in [(700, 1), (65_536, 32)] {
            let request = with(&session, mapnum, Some((0, blocks)), &[]);
            refused(request, "does not fit in an extent of");
        }
        refused(
            with(&session, 17, None, &[]),
            "does not fit in an extent of 0 blocks",
        );
        // Fewer rows than entries.
        let mut few = native(&session, &[]);
        few.data[0] = RequestMeta::new(1, 7, false, 2).0.into();
        refused(few, "a list of 2 arguments does not fit in 7 rows");
        // More marshalled ranges than bits.
        let marshalled = entry(memory.address().0, 8, MapKind::TO, PLACE_BOUNCE, 0);
        let many = |mapnum| Native {
            in_bounce: MAX_ENTRIES as u32,
            entries: [marshalled; MAX_ENTRIES],
            ..with(&session, mapnum, Some((0, 1)), &[])
        };
        let (status, result) = send_native(&session, &many(MAX_MARSHALLED));
        result.unwrap();
        assert_eq!(status, Status::DONE);
        refused(many(MAX_MARSHALLED + 1), "marshals more than 64 arguments");
    }
    session.works();
}

/// `native`: the slot's sequence number is not the next one. `gcc-ring`, `gcn-queue`: the ticket
/// counter has gone backwards. The wire must work on as far as it can.
fn sequence_numbers_and_tickets_that_jump(target: &Target) {
    let session = open(target);
    match target.wire {
        WireKind::NATIVE => {
            for jump in [1, 5, 1 << 31, u32::MAX - 2] {
                let request = Native {
                    jump,
                    ..native(&session, &[])
                };
                let (_, result) = send_native(&session, &request);
                let text = text(&result);
                assert!(text.contains("slot 31 has sequence number"), "{text}");
                // The slot works on.
                let (status, result) = send_native(&session, &native(&session, &[]));
                assert_eq!(status, Status::DONE, "after a jump of {jump}");
                result.unwrap();
            }
            session.works();
        }
        WireKind::GCC_RING | WireKind::GCN_QUEUE => {
            let request = Gcc {
                jump: u32::MAX - 99,
                ..gcc(&session)
            };
            let text = text(&send_jump(&session, request));
            let counter = if target.wire == WireKind::GCC_RING {
                "next_slot is"
            } else {
                "next_output is"
            };
            assert!(text.contains(counter), "{text}");
            // The wire is lost, but not the device: a kernel without calls runs.
            let flag = session.filled(&[1u32]);
            session.run("wait_for", (1, 1), &[&flag]).unwrap();
        }
        // There is no counter.
        _ => session.works(),
    }
}

fn send_jump(session: &Session, request: Gcc) -> Result {
    let signal = session.zeroed::<u32>(1);
    let request = session.filled(&[request]);
    session.run("forge_gcc", (1, 1), &[&request, &signal])
}

/// `gcc-ring`, `gcn-queue`: the device chooses where the completion is written.
fn unreachable_completion_words(target: &Target) {
    let session = open(target);
    if [WireKind::GCC_RING, WireKind::GCN_QUEUE].contains(&target.wire) {
        let signal = session.zeroed::<u32>(1);
        for bad in [
            1,
            0x1000,
            u64::MAX,
            signal.address().0 + 2,
            signal.address().0 + 64,
        ] {
            let request = Gcc {
                signal: bad,
                ..gcc(&session)
            };
            let request = session.filled(&[request]);
            let result = session.run("forge_gcc", (1, 1), &[&request, &signal]);
            let text = text(&result);
            let expected = format!(
                "wire `{}`: the host does not reach 4 bytes",
                target.wire.name().unwrap()
            );
            assert!(text.contains(&expected), "{text}");
            assert_eq!(read::<u32>(&signal), [0]);
        }
    }
    session.works();
}

/// If a device could have its own configuration overwritten, it would use the new contents.
fn the_runtimes_own_memory_is_no_target(target: &Target) {
    let session = open(target);
    let services = session.program.global(HOST_ARCH).unwrap();
    let services = services.map(|global| global.address.0);
    for reserved in words(&session).reserved.into_iter().chain(services) {
        let result = if target.wire == WireKind::NATIVE {
            let request = entry(reserved, 8, MapKind::FROM, PLACE_DEVICE, 0);
            let (status, result) = send_native(&session, &native(&session, &[request]));
            assert_eq!(status, Status::REFUSED_MAPPING);
            result
        } else {
            let (addrs, sizes) = (session.filled(&[reserved]), session.filled(&[8u64]));
            let kinds = session.filled(&[MapKind::FROM.0]);
            let request = Gcc {
                mapnum: 1,
                addrs: addrs.address().0,
                sizes: sizes.address().0,
                kinds: kinds.address().0,
                ..gcc(&session)
            };
            send_gcc(&session, request)
        };
        let text = text(&result);
        assert!(text.contains("copying results"), "{text}");
        if [WireKind::GCC_RING, WireKind::GCN_QUEUE].contains(&target.wire) {
            let signal = session.zeroed::<u32>(1);
            let request = session.filled(&[Gcc {
                signal: reserved,
                ..gcc(&session)
            }]);
            let result = session.run("forge_gcc", (1, 1), &[&request, &signal]);
            let text = self::text(&result);
            assert!(text.contains("the runtime's own variables"), "{text}");
        }
    }
    session.works();
}

fn messages_of_unknown_types(target: &Target) {
    let session = open(target);
    for kind in [CALL + 1, 1 << 31, u32::MAX] {
        let request = Gcc {
            kind,
            ..gcc(&session)
        };
        let result = send_jump(&session, request);
        let text = text(&result);
        assert!(
            text.contains(&format!("a message of type {kind}")),
            "{text}"
        );
        session.works();
    }
}

/// Without a bounce extent: arrays, data and completion word in device memory. They are served like
/// others; their launch is unknown.
fn requests_as_gcc_makes_them(target: &Target) {
    let session = open(target);
    if target.wire == WireKind::NATIVE {
        // Its requests come only from `device-rt`; this is one, word by word.
        let data = session.filled(&[1u64; 64]);
        let entries = [
            entry(data.address().0, 256, MapKind::TOFROM, PLACE_DEVICE, 0),
            entry(5, 8, MapKind::FIRSTPRIVATE_INT, PLACE_DEVICE, 0),
        ];
        let (status, result) = send_native(&session, &native(&session, &entries));
        result.unwrap();
        assert_eq!(status, Status::DONE);
        assert_eq!(read::<u8>(&data)[..256], [0x77; 256]);
        return session.works();
    }
    for size in [8, 100, 10_000] {
        let data = session.filled(&vec![1u8; size]);
        let addrs = session.filled(&[data.address().0, 5]);
        let sizes = session.filled(&[size as u64, 4]);
        let kinds = session.filled(&[MapKind::TOFROM.0, MapKind::FIRSTPRIVATE_INT.0]);
        let request = Gcc {
            mapnum: 2,
            addrs: addrs.address().0,
            sizes: sizes.address().0,
            kinds: kinds.address().0,
            ..gcc(&session)
        };
        send_gcc(&session, request).unwrap();
        assert!(read::<u8>(&data) == vec![0x77; size]);
        if target.wire == WireKind::GCN_QUEUE {
            // In the form of GCC 13 to 16; at the end, more of them than slots.
            let data = session.filled(&vec![1u8; size]);
            let addrs = session.filled(&[data.address().0, 5]);
            let request = Gcc {
                addrs: addrs.address().0,
                ..request
            };
            for _ in 0..400 {
                send_in_slot(&session, request).unwrap();
            }
            assert!(read::<u8>(&data) == vec![0x77; size]);
        }
    }
    // An invalid function word fails in all cases.
    let request = Gcc {
        func: 0xdead,
        ..gcc(&session)
    };
    match send_gcc(&session, request) {
        Err(LaunchError::Call {
            first:
                CallError::NoSuchFunction {
                    word: 0xdead,
                    name: None,
                },
            ..
        }) => {}
        other => panic!("{other:?}"),
    }
    session.works();
}

/// A request with an unknown launch is blamed on all running launches.
fn another_launch_is_named(target: &Target) {
    let session = open(target);
    if target.wire == WireKind::NATIVE {
        for launch in [u32::MAX, 1 << 20] {
            let mut request = native(&session, &[]);
            request.data[0] |= u64::from(launch) << 32;
            request.data[1] = 0xdead;
            let (status, result) = send_native(&session, &request);
            assert_eq!(status, Status::NO_SUCH_FUNCTION);
            assert!(text(&result).contains("0xdead"));
        }
    }
    session.works();
}
