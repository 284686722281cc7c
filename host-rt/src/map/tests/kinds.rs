//! Every kind, present and absent.

use std::{convert::Infallible, ptr::NonNull};

use shared_abi::map_kind::{IMPLICIT_BITS, MapKind};

use super::sim::{BASE, Sim, arg, bytes, limited, mapper, pattern, run, run_with};
use crate::map::{Limits, MapError, PresentTable, RunError};

/// The treatment of data without an original.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Absent {
    Copied { to: bool, from: bool },
    Refused,
    Null,
}

/// Kind, absent, and for present data whether it is copied to and from the host.
const DATA: &[(MapKind, Absent, bool, bool)] = {
    use Absent::{Copied, Null, Refused};
    const NEITHER: Absent = Copied {
        to: false,
        from: false,
    };
    const TO: Absent = Copied {
        to: true,
        from: false,
    };
    const FROM: Absent = Copied {
        to: false,
        from: true,
    };
    const BOTH: Absent = Copied {
        to: true,
        from: true,
    };
    &[
        (MapKind::ALLOC, NEITHER, false, false),
        (MapKind::TO, TO, false, false),
        (MapKind::FROM, FROM, false, false),
        (MapKind::TOFROM, BOTH, false, false),
        (MapKind::FORCE_ALLOC, NEITHER, false, false),
        (MapKind::FORCE_TO, TO, true, false),
        (MapKind::FORCE_FROM, FROM, false, true),
        (MapKind::FORCE_TOFROM, BOTH, true, true),
        (MapKind::ALWAYS_TO, TO, true, false),
        (MapKind::ALWAYS_FROM, FROM, false, true),
        (MapKind::ALWAYS_TOFROM, BOTH, true, true),
        (MapKind::FORCE_PRESENT, Refused, false, false),
        (MapKind::ALWAYS_PRESENT_TO, Refused, true, false),
        (MapKind::ALWAYS_PRESENT_FROM, Refused, false, true),
        (MapKind::ALWAYS_PRESENT_TOFROM, Refused, true, true),
        (MapKind::ZERO_LEN_ARRAY_SECTION, NEITHER, false, false),
        (MapKind::DELETE, Null, false, false),
        (MapKind::RELEASE, Null, false, false),
        (MapKind::DELETE_ZERO_LEN_ARRAY_SECTION, Null, false, false),
    ]
};

fn implicit(kind: MapKind) -> MapKind {
    let low = (kind.0 & 0xff) as u8;
    let marked = MapKind(u16::from(low | IMPLICIT_BITS));
    // Kinds that use these bits themselves are never marked.
    if marked.base() == kind.base() {
        marked
    } else {
        kind
    }
}

#[test]
fn absent_data() {
    for &(plain, absent, _, _) in DATA {
        for kind in [plain, plain.with_align(16), implicit(plain)] {
            let mut sim = Sim::new(256);
            let before = sim.bytes.clone();
            let result = run(&mut sim, &[arg(kind, BASE + 32, 40)], |host| {
                if absent == Absent::Null {
                    assert!(host[0].ptr.is_null() && host[0].size == 0);
                    return;
                }
                assert!(host[0].exclusive && !host[0].present);
                assert_eq!(host[0].ptr.addr() % kind.align().unwrap(), 0);
                let fetched = matches!(absent, Absent::Copied { to: true, .. });
                for (i, byte) in bytes(&host[0]).iter_mut().enumerate() {
                    let expected = if fetched { before[32 + i] } else { 0 };
                    assert_eq!(*byte, expected, "{kind:?}");
                    *byte = 0xee;
                }
            });
            let Absent::Copied { to, from } = absent else {
                assert_eq!(sim.bytes, before);
                match result {
                    Ok(()) => assert_eq!(absent, Absent::Null),
                    Err(MapError::NotPresent { arg }) => {
                        assert_eq!(absent, Absent::Refused);
                        assert_eq!((arg.index, arg.addr, arg.size), (0, BASE + 32, 40));
                    }
                    Err(other) => panic!("{kind:?}: {other}"),
                }
                continue;
            };
            result.unwrap();
            let copy = (0, BASE + 32, 40);
            assert_eq!(
                sim.fetched,
                if to { vec![copy] } else { vec![] },
                "{kind:?}"
            );
            assert_eq!(
                sim.stored,
                if from { vec![copy] } else { vec![] },
                "{kind:?}"
            );
            let mut after = before.clone();
            if from {
                after[32..72].fill(0xee);
            }
            assert_eq!(sim.bytes, after, "{kind:?}");
        }
    }
}

#[test]
fn present_data() {
    for &(plain, _, to, from) in DATA {
        for kind in [plain, implicit(plain)] {
            let mut sim = Sim::new(256);
            let before = sim.bytes.clone();
            let mut original = vec![0x55u8; 100];
            let host = NonNull::new(original.as_mut_ptr()).unwrap();
            let table = PresentTable::new();
            // SAFETY: `original` is used only through `host` until it is removed.
            unsafe { table.insert(host, BASE + 20, 100) }.unwrap();
            run_with(&mut sim, &[arg(kind, BASE + 32, 40)], &table, |args| {
                assert_eq!(args[0].ptr, host.as_ptr().wrapping_add(12));
                assert!(!args[0].exclusive && args[0].present);
                for (i, byte) in bytes(&args[0]).iter_mut().enumerate() {
                    assert_eq!(*byte, if to { before[32 + i] } else { 0x55 }, "{kind:?}");
                    *byte = 0xee;
                }
            })
            .unwrap();
            table.remove(BASE + 20).unwrap();
            assert_eq!(sim.fetched.len(), usize::from(to), "{kind:?}");
            assert_eq!(sim.stored.len(), usize::from(from), "{kind:?}");
            let mut after = before.clone();
            if from {
                after[32..72].fill(0xee);
            }
            assert_eq!(sim.bytes, after);
            assert!(original[12..52].iter().all(|b| *b == 0xee));
            assert!(
                original[..12]
                    .iter()
                    .chain(&original[52..])
                    .all(|b| *b == 0x55)
            );
        }
    }
}

#[test]
fn values_are_passed_as_they_are() {
    let mut sim = Sim::new(8);
    let kind = MapKind(MapKind::FIRSTPRIVATE_INT.0 | 0x200);
    run(
        &mut sim,
        &[
            arg(kind, 0, 0),
            arg(kind, u64::MAX, 4),
            arg(kind, 42, u64::MAX),
        ],
        |host| {
            let values: Vec<_> = host.iter().map(|h| h.ptr.addr()).collect();
            assert_eq!(values, [0, usize::MAX, 42]);
        },
    )
    .unwrap();
    assert_eq!((sim.fetch_calls, sim.store_calls), (0, 0));
}

#[test]
fn private_copies_are_aligned_and_stay_here() {
    let mut sim = Sim::new(512);
    let before = sim.bytes.clone();
    let args: Vec<_> = (0..9)
        .map(|log| {
            let kind = MapKind::FIRSTPRIVATE.with_align(1 << log);
            arg(kind, BASE + 3 + log, 17 + log)
        })
        .collect();
    run(&mut sim, &args, |host| {
        for (i, host) in host.iter().enumerate() {
            assert_eq!(host.ptr.addr() % (1 << i), 0);
            assert!(host.exclusive);
            let at = 3 + i;
            assert_eq!(bytes(host), &before[at..at + 17 + i]);
        }
        // They overlap on the device, but not here.
        host.iter().for_each(|host| bytes(host).fill(0));
    })
    .unwrap();
    assert_eq!((sim.fetch_calls, sim.fetched.len()), (1, 9));
    assert_eq!((sim.store_calls, sim.bytes), (0, before));
}

#[test]
fn null_arguments_are_skipped_whatever_their_kind() {
    let mut sim = Sim::new(8);
    let args: Vec<_> = (0..=0xff)
        .filter(|low| MapKind(*low).base() != MapKind::FIRSTPRIVATE_INT.0)
        .map(|low| arg(MapKind(low | 0xff00), 0, u64::MAX))
        .collect();
    run(&mut sim, &args, |host| {
        assert!(host.iter().all(|h| h.ptr.is_null() && h.size == 0));
    })
    .unwrap();
    assert_eq!((sim.fetch_calls, sim.store_calls), (0, 0));
}

#[test]
fn kinds_without_meaning_are_refused_by_name() {
    let known: Vec<u16> = DATA.iter().map(|row| row.0.0).collect();
    let others = [
        MapKind::FIRSTPRIVATE,
        MapKind::FIRSTPRIVATE_INT,
        MapKind::POINTER,
        MapKind::ALWAYS_POINTER,
        MapKind::ATTACH,
        MapKind::TO_PSET,
        MapKind::STRUCT,
    ];
    for low in 0..=0xff {
        let kind = MapKind(low);
        let base = kind.plain();
        if known.contains(&base.0) || others.contains(&base) {
            continue;
        }
        let error = run(&mut Sim::new(64), &[arg(kind, BASE, 8)], |_| ()).unwrap_err();
        assert!(
            matches!(error, MapError::UnsupportedKind { .. }),
            "{kind:?}"
        );
        assert!(
            error.to_string().contains(&format!("{low:#06x}")),
            "{error}"
        );
    }
    let error = run(
        &mut Sim::new(64),
        &[arg(MapKind::POINTER_TO_ZERO_LENGTH_ARRAY_SECTION, BASE, 0)],
        |_| (),
    );
    let text = error.unwrap_err().to_string();
    assert!(
        text.contains("POINTER_TO_ZERO_LENGTH_ARRAY_SECTION"),
        "{text}"
    );
}

#[test]
fn lone_data_is_aligned() {
    for log in 0..=12u32 {
        for addr in [BASE, BASE + 1, BASE + 48] {
            for size in [0, 1, 100] {
                let kind = MapKind::TOFROM.with_align(1 << log);
                run(&mut Sim::new(256), &[arg(kind, addr, size)], |host| {
                    assert!(!host[0].ptr.is_null());
                    assert_eq!(host[0].ptr.addr() % (1 << log), 0);
                    assert_eq!(host[0].size, size);
                })
                .unwrap();
            }
        }
    }
}

#[test]
fn empty_sections_have_an_address() {
    let table = PresentTable::new();
    let mut original = [0u64; 2];
    let host = NonNull::from(&mut original).cast::<u8>();
    // SAFETY: `original` is not used until the end of the test.
    unsafe { table.insert(host, BASE + 128, 16) }.unwrap();
    let kind = MapKind::ZERO_LEN_ARRAY_SECTION.with_align(8);
    let args = [
        arg(kind, BASE + 16, 0),
        arg(MapKind::TO, BASE, 32),
        arg(kind, BASE + 500, 0),
        arg(kind, BASE + 136, 0),
        arg(kind, BASE + 144, 0),
        arg(MapKind::TOFROM.with_align(8), BASE + 33, 0),
        arg(MapKind::DELETE_ZERO_LEN_ARRAY_SECTION, BASE + 300, 0),
        arg(MapKind::FIRSTPRIVATE.with_align(64), BASE + 1, 0),
        arg(MapKind::FORCE_PRESENT.with_align(64), BASE + 136, 0),
    ];
    let mut sim = Sim::new(64);
    run_with(&mut sim, &args, &table, |args| {
        assert_eq!(args[0].ptr, args[1].ptr.wrapping_add(16));
        assert!(args[1].exclusive, "nothing shares bytes with it");
        assert_eq!(args[3].ptr, host.as_ptr().wrapping_add(8));
        assert_eq!(args[4].ptr, host.as_ptr().wrapping_add(16));
        for i in [0, 2, 3, 4, 5] {
            assert!(!args[i].ptr.is_null() && args[i].ptr.addr() % 8 == 0);
        }
        assert!(args[6].ptr.is_null());
        assert_eq!(args[8].ptr, args[3].ptr);
        assert!(!args[7].ptr.is_null() && args[7].ptr.addr() % 64 == 0);
    })
    .unwrap();
    assert_eq!(sim.fetched, [(1, BASE, 32)]);
}

#[test]
fn one_batch_in_each_direction() {
    let mut sim = Sim::new(4096);
    let args: Vec<_> = (0..100)
        .map(|i| arg(MapKind::TOFROM, BASE + i * 32, 16))
        .collect();
    run(&mut sim, &args, |_| ()).unwrap();
    assert_eq!((sim.fetch_calls, sim.store_calls), (1, 1));
    assert_eq!((sim.fetched.len(), sim.stored.len()), (100, 100));
}

#[test]
fn a_failed_call_copies_nothing_back() {
    let mut sim = Sim::new(64);
    let before = sim.bytes.clone();
    let args = [arg(MapKind::TOFROM, BASE, 8)];
    let result = mapper().run(&args, &PresentTable::new(), &mut sim, |_, host| {
        bytes(&host[0]).fill(0);
        Err::<Infallible, _>("no")
    });
    assert!(matches!(result, Err(RunError::Call("no"))));
    assert_eq!((sim.store_calls, sim.bytes), (0, before));
}

#[test]
fn a_request_sees_nothing_of_the_one_before() {
    let mut mapper = limited(Limits::default());
    let table = PresentTable::new();
    let mut sim = Sim::new(100_000);
    for (kind, size) in [
        (MapKind::TO, 90_000),
        (MapKind::FROM, 90_000),
        (MapKind::ALLOC, 100_000),
        (MapKind::TO, 7),
        (MapKind::FROM, 100_000),
    ] {
        mapper
            .run(&[arg(kind, BASE, size)], &table, &mut sim, |_, host| {
                if kind != MapKind::TO {
                    assert!(bytes(&host[0]).iter().all(|byte| *byte == 0));
                }
                bytes(&host[0]).fill(0xff);
                Ok::<_, Infallible>(())
            })
            .unwrap();
    }
    assert_eq!(pattern(BASE), 1 + (BASE % 251) as u8);
}

#[test]
fn a_mapper_survives_a_panic() {
    let mut mapper = mapper();
    let table = PresentTable::new();
    let mut original = [0u8; 16];
    let host = NonNull::from(&mut original).cast::<u8>();
    // SAFETY: `original` is not used until it is removed.
    unsafe { table.insert(host, BASE, 16) }.unwrap();
    let mut sim = Sim::new(64);
    let args = [arg(MapKind::TO, BASE, 16), arg(MapKind::TO, BASE + 32, 16)];
    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        mapper.run(&args, &table, &mut sim, |_, _| -> Result<(), Infallible> {
            panic!("on purpose")
        })
    }));
    assert!(panicked.is_err());
    table.remove(BASE).unwrap();
    mapper
        .run(&args, &table, &mut sim, |_, host| {
            assert_eq!(host.len(), 2);
            Ok::<_, Infallible>(())
        })
        .unwrap();
}
