//! From the stub through a fake host into the closure, and back.

mod fake;

use fake::{Runtime, Seen, host};
use host_fn_test_calls::{
    __revoff_fn_ping, __revoff_fn_read_chunk, Colour, Lend, Many, Ping, ReadChunk, Report, Stats,
    Type, Values, lend, many, ping, read_chunk, report, r#type, values,
};
use revoff_fn::Failure;
use shared_abi::map_kind::MapKind;
use shared_abi::status::Status;

fn seen(size: usize, kind: MapKind, align: usize) -> Seen {
    Seen {
        size,
        kind: kind.with_align(align),
        null: false,
    }
}

#[test]
fn a_buffer_is_filled() {
    host(
        Runtime::Reports,
        ReadChunk::bind(|file, offset, buf| {
            assert_eq!((file, offset), (7, 1 << 40));
            assert_eq!(buf, [0; 5], "`Out` starts as the host made it");
            buf.copy_from_slice(b"hello");
            5
        }),
    );
    let mut buf = *b"xxxxx";
    assert_eq!(read_chunk(7, 1 << 40, &mut buf), Ok(5));
    assert_eq!(&buf, b"hello");
    assert_eq!(fake::word(), (&raw const __revoff_fn_read_chunk).addr());
    assert_eq!(
        fake::seen()[1..],
        [
            seen(8, MapKind::FIRSTPRIVATE_INT, 8),
            seen(5, MapKind::FROM, 1),
            seen(16, MapKind::FROM, 8),
        ]
    );
}

#[test]
fn memory_goes_both_ways_and_nothing_is_returned() {
    host(
        Runtime::Reports,
        Report::bind(|file, digest, stats| {
            assert_eq!(digest, &[9; 32]);
            stats.calls += u64::from(file);
        }),
    );
    let mut stats = Stats {
        calls: 40,
        bytes: 1,
    };
    assert_eq!(report(2, &[9; 32], &mut stats), Ok(()));
    assert_eq!(
        stats,
        Stats {
            calls: 42,
            bytes: 1
        }
    );
}

#[test]
fn a_call_without_parameters() {
    host(Runtime::Reports, Ping::bind(|| ()));
    assert_eq!(ping(), Ok(()));
    assert_eq!(fake::seen(), [seen(8, MapKind::FROM, 8)]);
    assert_eq!(fake::word(), (&raw const __revoff_fn_ping).addr());
}

#[test]
fn values_of_every_size() {
    let stats = Stats {
        calls: u64::MAX,
        bytes: 3,
    };
    host(
        Runtime::Reports,
        Values::bind(move |int, float, colour, large, wide, nothing| {
            assert_eq!((int, float, colour), (-1, -0.5, Colour([1, 2, 255])));
            assert_eq!((large, wide, nothing), (stats, u128::MAX - 1, []));
            Stats { calls: 1, bytes: 2 }
        }),
    );
    let back = values(-1, -0.5, Colour([1, 2, 255]), stats, u128::MAX - 1, []);
    assert_eq!(back, Ok(Stats { calls: 1, bytes: 2 }));
    assert_eq!(
        fake::seen()[2..5],
        [
            seen(3, MapKind::FIRSTPRIVATE_INT, 1),
            seen(16, MapKind::FIRSTPRIVATE, 8),
            seen(16, MapKind::FIRSTPRIVATE, 16),
        ]
    );
}

#[test]
fn every_form_that_lends() {
    host(
        Runtime::Reports,
        Lend::bind(|to, to_slice, tofrom, tofrom_slice, from, from_slice| {
            assert_eq!((*to, to_slice, *tofrom), (1, &[2, 3][..], 4));
            assert_eq!(tofrom_slice, [5, 6, 7]);
            *tofrom += 1;
            tofrom_slice.reverse();
            *from = -8;
            from_slice[1].bytes = 9;
            10
        }),
    );
    let (mut tofrom, mut tofrom_slice, mut from) = (4, [5, 6, 7], 0);
    let mut from_slice = [Stats {
        calls: 11,
        bytes: 11,
    }; 2];
    let back = lend(
        &1,
        &[2, 3],
        &mut tofrom,
        &mut tofrom_slice,
        &mut from,
        &mut from_slice,
    );
    assert_eq!(back, Ok(10));
    assert_eq!((tofrom, tofrom_slice, from), (5, [7, 6, 5], -8));
    assert_eq!(from_slice, [Stats::default(), Stats { calls: 0, bytes: 9 }]);
    assert_eq!(
        fake::seen(),
        [
            seen(4, MapKind::TO, 4),
            seen(4, MapKind::TO, 2),
            seen(8, MapKind::TOFROM, 8),
            seen(12, MapKind::TOFROM, 4),
            seen(16, MapKind::FROM, 16),
            seen(32, MapKind::FROM, 8),
            seen(32, MapKind::FROM, 16),
        ]
    );
}

#[test]
fn empty_slices() {
    host(
        Runtime::Reports,
        Lend::bind(|_, to_slice, _, tofrom_slice, _, from_slice| {
            assert!(to_slice.is_empty() && tofrom_slice.is_empty() && from_slice.is_empty());
            1
        }),
    );
    assert_eq!(lend(&0, &[], &mut 0, &mut [], &mut 0, &mut []), Ok(1));
    let null: Vec<_> = fake::seen().iter().map(|seen| seen.null).collect();
    assert_eq!(null, [false, true, false, true, false, true, false]);
}

#[test]
fn nine_parameters_and_a_keyword() {
    host(
        Runtime::Reports,
        Many::bind(|a, b, c, d, e, f, g, h, i| a + b + c + d + e + f + g + h + i),
    );
    assert_eq!(many(1, 2, 3, 4, 5, 6, 7, 8, 9), Ok(45));
    host(Runtime::Reports, Type::bind(|value| value + 1));
    assert_eq!(r#type(1), Ok(2));
    assert_eq!(Type::NAME, "type");
}

#[test]
fn a_runtime_without_status_still_says_what_succeeded() {
    host(Runtime::ReportsNothing, ReadChunk::bind(|_, _, _| 3));
    assert_eq!(read_chunk(1, 2, &mut []), Ok(3));
    host(
        Runtime::ReportsNothing,
        ReadChunk::try_bind(|_, _, _| Err("gone")),
    );
    let error = read_chunk(1, 2, &mut []).unwrap_err();
    assert_eq!(error.status(), Status::NONE);
    assert_eq!(
        error.to_string(),
        "call to the host failed: no status reported"
    );
}

#[test]
fn a_function_that_fails() {
    host(
        Runtime::Reports,
        ReadChunk::try_bind(|file, _, buf| {
            buf.fill(1);
            if file == 0 {
                Ok(0)
            } else {
                Err(format!("no file {file}"))
            }
        }),
    );
    let mut buf = [5; 2];
    let error = read_chunk(3, 0, &mut buf).unwrap_err();
    assert_eq!(error.status(), Status::FUNCTION_FAILED);
    assert_eq!(
        error.to_string(),
        "call to the host failed: host function failed"
    );
    assert_eq!(fake::message(), "no file 3");
    assert_eq!(fake::failure(), Some(Failure::Function));
    assert_eq!(buf, [5; 2]);
    assert_eq!(read_chunk(0, 0, &mut buf), Ok(0));
}

#[test]
fn nobody_answers() {
    host(Runtime::Silent, Ping::bind(|| ()));
    assert_eq!(ping().unwrap_err().status(), Status::NONE);
    for status in [Status::NO_SUCH_FUNCTION, Status::SHUTTING_DOWN, Status(77)] {
        host(Runtime::Refuses(status), Ping::bind(|| ()));
        assert_eq!(ping().unwrap_err().status(), status);
    }
}

/// A C function under the name of a typed one runs and is `DONE`, but writes no reply.
#[test]
fn done_without_a_result_is_an_error() {
    host(Runtime::Refuses(Status::DONE), Ping::bind(|| ()));
    let error = ping().unwrap_err();
    assert_eq!(
        error.to_string(),
        "the host function ran and sent no result"
    );
}

/// A host with another declaration, if no check of signatures has rejected it.
#[test]
fn a_host_of_another_declaration() {
    host(
        Runtime::Reports,
        Report::bind(|_, _, _| panic!("must not run")),
    );
    assert_eq!(
        read_chunk(1, 2, &mut [0; 3]).unwrap_err().status(),
        Status::REFUSED_MAPPING
    );
    assert!(matches!(fake::failure(), Some(Failure::BadArguments(_))));
}
