//! Rejected requests, and very large requests.

use std::{convert::Infallible, error::Error, ptr::NonNull, sync::Arc, time::Duration};

use shared_abi::map_kind::MapKind;

use super::sim::{BASE, Sim, arg, limited, mapper, run, run_with};
use crate::device::{DeviceAddr, DeviceError};
use crate::map::{
    Arg, Budget, Limits, MapError, Mapper, Piece, PresentTable, RunError, Transfer, TransferError,
};

fn refused(limits: Limits, args: &[Arg]) -> MapError {
    let result = limited(limits).run(args, &PresentTable::new(), &mut Sim::new(256), |_, _| {
        Ok::<(), Infallible>(())
    });
    match result {
        Err(RunError::Map(error)) => error,
        _ => panic!("not refused"),
    }
}

#[test]
fn too_many_bytes() {
    let limits = Limits {
        max_bytes: 100,
        ..Limits::default()
    };
    for kind in [
        MapKind::ALLOC,
        MapKind::FROM,
        MapKind::FIRSTPRIVATE,
        MapKind::TO_PSET,
    ] {
        let error = refused(
            limits,
            &[arg(MapKind::TO, BASE, 60), arg(kind, BASE + 80, 41)],
        );
        let MapError::TooLarge { arg, total, limit } = error else {
            panic!("{error}");
        };
        assert_eq!((arg.index, total, limit), (1, 101, 100));
    }
    let error = refused(Limits::default(), &[arg(MapKind::ALLOC, BASE, 1 << 33)]);
    assert!(matches!(error, MapError::TooLarge { .. }));
    // Padding for alignment counts too.
    let kind = MapKind::TO.with_align(4096);
    assert!(matches!(
        refused(limits, &[arg(kind, BASE, 1)]),
        MapError::TooLarge { .. }
    ));
}

#[test]
fn present_data_is_not_limited_unless_it_is_copied() {
    let mut original = vec![0u8; 4096];
    let table = PresentTable::new();
    let host = NonNull::new(original.as_mut_ptr()).unwrap();
    // SAFETY: `original` is not used before the end of the test.
    unsafe { table.insert(host, BASE, 4096) }.unwrap();
    let mut mapper = limited(Limits {
        max_bytes: 100,
        ..Limits::default()
    });
    let mut sim = Sim::new(4096);
    for (kind, fits) in [(MapKind::TOFROM, true), (MapKind::ALWAYS_TO, false)] {
        let result = mapper.run(&[arg(kind, BASE, 4096)], &table, &mut sim, |_, _| {
            Ok::<(), Infallible>(())
        });
        assert_eq!(result.is_ok(), fits);
    }
}

#[test]
fn too_much_alignment() {
    for kind in [MapKind::TO, MapKind::FIRSTPRIVATE, MapKind::TO_PSET] {
        for log in [13u16, 63, 64, 255] {
            for size in [0, 8] {
                let kind = MapKind(kind.0 | log << 8);
                let error = refused(Limits::default(), &[arg(kind, BASE, size)]);
                assert!(matches!(error, MapError::Alignment { .. }), "{error}");
                assert!(error.to_string().contains(&format!("2^{log}")), "{error}");
            }
        }
    }
}

#[test]
fn ranges_that_wrap() {
    for kind in [
        MapKind::TO,
        MapKind::DELETE,
        MapKind::FIRSTPRIVATE,
        MapKind::TO_PSET,
        MapKind::FORCE_PRESENT,
    ] {
        let error = refused(Limits::default(), &[arg(kind, u64::MAX - 3, 5)]);
        assert!(matches!(error, MapError::Wraps { .. }), "{error}");
    }
    let args = [
        arg(MapKind::TO, BASE, 1),
        arg(MapKind::ATTACH, u64::MAX - 3, 0),
    ];
    assert!(matches!(
        refused(Limits::default(), &args),
        MapError::Wraps { .. }
    ));
}

#[test]
fn errors_name_the_argument() {
    let args = [
        arg(MapKind::TO, BASE, 1),
        arg(MapKind::FORCE_PRESENT.with_align(4), 0xabc0, 24),
    ];
    assert_eq!(
        refused(Limits::default(), &args).to_string(),
        "argument 1 (FORCE_PRESENT 0x0206, device address 0xabc0, size 24): \
         the data must be present on the host and is not"
    );
}

#[test]
fn failed_copies_name_the_address() {
    let mut sim = Sim::new(64);
    let error = run(&mut sim, &[arg(MapKind::TO, BASE + 60, 8)], |_| ()).unwrap_err();
    let MapError::Fetch(TransferError::Copy { device, len, .. }) = error else {
        panic!("{error}");
    };
    assert_eq!((device, len), (DeviceAddr(BASE + 60), 8));
    let error = run(&mut sim, &[arg(MapKind::FROM, BASE + 60, 8)], |_| ()).unwrap_err();
    assert!(matches!(error, MapError::Store(_)));
}

#[test]
fn half_present_ranges() {
    let mut original = [0u8; 32];
    let host = NonNull::from(&mut original).cast::<u8>();
    let table = PresentTable::new();
    // SAFETY: `original` is not used before the end of the test.
    unsafe { table.insert(host, BASE + 64, 32) }.unwrap();
    for (addr, size) in [(60, 8), (90, 8), (60, 50), (64, 33), (63, 33)] {
        for kind in [
            MapKind::TO,
            MapKind::ALLOC,
            MapKind::TO_PSET,
            MapKind::RELEASE,
        ] {
            let args = [arg(kind, BASE + addr, size)];
            let error = run_with(&mut Sim::new(256), &args, &table, |_| ()).unwrap_err();
            let MapError::Straddles { arg, present } = error else {
                panic!("{error}");
            };
            assert_eq!(
                (arg.addr, present.device, present.len),
                (BASE + addr, BASE + 64, 32)
            );
        }
    }
    for (addr, size) in [(56, 8), (96, 8)] {
        run_with(
            &mut Sim::new(256),
            &[arg(MapKind::TO, BASE + addr, size)],
            &table,
            |_| (),
        )
        .unwrap();
    }
}

#[test]
fn a_failed_queue_blames_no_copy_unless_there_is_only_one() {
    let mut byte = 0u8;
    let piece = |device| {
        // SAFETY: the piece is not copied.
        unsafe { Piece::new(0, device, NonNull::from(&mut byte), 1) }
    };
    let pieces: Vec<_> = [BASE, BASE + 1].map(piece).into();
    for pieces in [&pieces[..], &pieces[..1], &[]] {
        let reason = DeviceError::DependencyFailed {
            reason: "the engine stopped".into(),
        };
        let error = TransferError::of_any(pieces, reason);
        match (pieces.len(), &error) {
            (1, TransferError::Copy { device, .. }) => assert_eq!(*device, DeviceAddr(BASE)),
            (length, TransferError::AnyOf { count, .. }) => assert_eq!(*count, length),
            _ => panic!("{error}"),
        }
        assert!(error.source().unwrap().to_string().contains("stopped"));
    }
}

/// Copies nothing; the tests do not read the bytes.
struct NoCopies;

impl Transfer for NoCopies {
    fn fetch(&mut self, _: &[Piece]) -> Result<(), TransferError> {
        Ok(())
    }
    fn store(&mut self, _: &[Piece]) -> Result<(), TransferError> {
        Ok(())
    }
}

/// The processor time of this thread, in which waits for a processor do not count.
fn processor_time() -> Duration {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `time` is writable.
    let result = unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    assert_eq!(result, 0, "{}", std::io::Error::last_os_error());
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

#[test]
fn many_arguments_take_no_time() {
    let n = 65536u64;
    type Shape = Box<dyn Fn(u64) -> Arg>;
    let shapes: [(&str, Shape); 7] = [
        ("same", Box::new(|_| arg(MapKind::TOFROM, BASE, 64))),
        (
            "chain",
            Box::new(|i| arg(MapKind::TOFROM, BASE + i * 8, 16)),
        ),
        (
            "nest",
            Box::new(move |i| arg(MapKind::TOFROM, BASE + i, 60_000 - i.min(59_999))),
        ),
        (
            "apart, falling",
            Box::new(move |i| arg(MapKind::FROM, BASE + (n - i) * 64, 8)),
        ),
        (
            "in the first",
            Box::new(|i| match i {
                0 => arg(MapKind::ALLOC, BASE, 1 << 20),
                _ => arg(MapKind::ALWAYS_PRESENT_TOFROM, BASE + i, 8),
            }),
        ),
        (
            "pointers",
            Box::new(|i| match i {
                0 => arg(MapKind::FROM, BASE, 1 << 20),
                _ => arg(MapKind::ATTACH, BASE + i * 4, i),
            }),
        ),
        (
            "structures",
            Box::new(move |i| match i % 2 {
                0 => arg(MapKind::STRUCT, BASE + i * 64, 1),
                _ => arg(MapKind::TOFROM, BASE + i * 64, 8),
            }),
        ),
    ];
    let table = PresentTable::new();
    let mut mapper = mapper();
    for (name, shape) in shapes {
        let args: Vec<_> = (0..n).map(shape).collect();
        let before = processor_time();
        mapper
            .run(&args, &table, &mut NoCopies, |_, _| Ok::<_, Infallible>(()))
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        // Milliseconds even unoptimised; quadratic would be minutes.
        let used = processor_time() - before;
        assert!(used < Duration::from_secs(5), "{name}: {used:?}");
    }
    // Headers that all declare everything after them as members.
    let args: Vec<_> = (0..n)
        .map(|i| arg(MapKind::STRUCT, BASE, n - 1 - i))
        .collect();
    assert!(matches!(
        refused(Limits::default(), &args),
        MapError::Member { .. }
    ));
}

#[test]
fn shares_of_a_budget_count_however_small() {
    let budget = Budget::new(10_000);
    let shares = [1, 4096, 4096].map(|bytes| budget.share(bytes));
    assert!(shares.iter().all(Option::is_some));
    assert_eq!(budget.used(), 8193);
    assert!(budget.share(1808).is_none());
    drop(shares);
    assert_eq!(budget.used(), 0);
}

#[test]
fn requests_in_flight_share_a_budget() {
    let budget = Budget::new(10_000);
    let mapper = || Mapper::new(Limits::default(), Arc::clone(&budget));
    let (mut outer, mut inner) = (mapper(), mapper());
    let nothing = PresentTable::new();
    let ask = |mapper: &mut Mapper, bytes: u64, call: &mut dyn FnMut()| {
        let args = [
            arg(MapKind::ALLOC, BASE, bytes / 2),
            arg(MapKind::FIRSTPRIVATE, BASE, bytes / 2),
        ];
        mapper.run(&args, &nothing, &mut Sim::new(1 << 14), |_, _| {
            call();
            Ok::<(), Infallible>(())
        })
    };
    ask(&mut outer, 6000, &mut || {
        assert_eq!(budget.used(), 6000);
        let error = ask(&mut inner, 4102, &mut || unreachable!("it is refused")).unwrap_err();
        let text = error.to_string();
        for word in ["4102", "6000", "10000", "REVOFF_REQUEST_MEMORY"] {
            assert!(text.contains(word), "{word}: {text}");
        }
        assert_eq!(budget.used(), 6000, "a refused request holds nothing");
        // Small requests are not counted, and those that fit are.
        ask(&mut inner, 4000, &mut || assert_eq!(budget.used(), 6000)).unwrap();
        let args = [arg(MapKind::TO, BASE, 5000)];
        let foreign = inner.run_unmapped(&args, &|_, _| false, || -> Result<(), Infallible> {
            unreachable!("what another runtime maps is refused, too")
        });
        assert!(matches!(
            foreign,
            Err(RunError::Map(MapError::OverBudget { .. }))
        ));
    })
    .unwrap();
    ask(&mut inner, 10_000, &mut || {
        assert_eq!(budget.used(), 10_000)
    })
    .unwrap();
    // Many arguments need memory, regardless of their sizes.
    let args = vec![arg(MapKind::TO, 0, 0); 1000];
    let many = inner.run(&args, &PresentTable::default(), &mut Sim::new(0), |_, _| {
        Ok::<(), Infallible>(())
    });
    assert!(matches!(
        many,
        Err(RunError::Map(MapError::OverBudget { .. }))
    ));
    assert_eq!(budget.used(), 0);
}
