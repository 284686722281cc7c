//! Arguments that a device may send, passed to an adapter directly.

use std::cell::Cell;
use std::ops::Range;

use host_fn_test_calls::{Lend, ReadChunk, Report, Values};
use revoff_fn::{BadArguments, Failure, HostFunction, RawArg};
use shared_abi::map_kind::MapKind;

const INT: MapKind = MapKind::FIRSTPRIVATE_INT;

/// Host memory for the arguments of one call, filled with ones. Cells, since
/// several arguments point into it.
#[repr(C, align(16))]
struct Memory([Cell<u8>; 512]);

impl Memory {
    fn new() -> Self {
        Memory([const { Cell::new(1) }; 512])
    }

    /// The `size` bytes at `offset`.
    fn at(&self, offset: usize, size: u64, kind: MapKind) -> RawArg {
        assert!(offset + size as usize <= 512);
        RawArg {
            ptr: self.0.as_ptr().cast_mut().cast::<u8>().wrapping_add(offset),
            size,
            kind,
        }
    }

    /// The bytes of a range.
    fn bytes(&self, range: Range<usize>) -> Vec<u8> {
        self.0[range].iter().map(Cell::get).collect()
    }
}

fn int(value: usize, size: u64) -> RawArg {
    RawArg {
        ptr: std::ptr::without_provenance_mut(value),
        size,
        kind: INT,
    }
}

/// Calls with arguments of one `Memory`.
fn call(function: &impl HostFunction, args: &[RawArg]) -> Result<(), Failure> {
    // SAFETY: the tests make their arguments with `Memory::at`, which stays inside
    // initialised memory that outlives the call, and with `int`.
    unsafe { function.call(args, &mut String::new()) }
}

fn refused(function: &impl HostFunction, args: &[RawArg]) -> BadArguments {
    match call(function, args) {
        Err(Failure::BadArguments(bad)) => bad,
        other => panic!("expected a refusal, got {other:?}"),
    }
}

/// The arguments that an honest device sends to `read_chunk`.
fn honest(memory: &Memory) -> [RawArg; 4] {
    [
        int(7, 4),
        int(8, 8),
        memory.at(0, 100, MapKind::FROM),
        memory.at(128, 16, MapKind::FROM.with_align(8)),
    ]
}

fn never() -> impl HostFunction {
    ReadChunk::bind(|_, _, _| panic!("must not run"))
}

#[test]
fn honest_arguments_pass_and_are_answered() {
    let memory = Memory::new();
    let args = honest(&memory);
    call(
        &ReadChunk::bind(|file, offset, buf| file + offset as u32 + buf.len() as u32),
        &args,
    )
    .unwrap();
    let reply = memory.bytes(128..144);
    assert_eq!(reply[..4], 115_u32.to_ne_bytes());
    assert_eq!(reply[4..8], [0; 4], "padding goes to the device as zeroes");
    assert_eq!(&reply[8..], b"returned");
    assert_eq!(memory.bytes(144..145), [1]);
}

#[test]
fn a_failure_leaves_no_mark() {
    let memory = Memory::new();
    let args = honest(&memory);
    // The memory holds an earlier reply.
    for (cell, byte) in memory.0[136..144].iter().zip(b"returned") {
        cell.set(*byte);
    }
    let mut message = String::new();
    let failing = ReadChunk::try_bind(|_, _, _| Err("no such file"));
    // SAFETY: `honest` describes cells of `memory`, which outlives the call.
    let result = unsafe { failing.call(&args, &mut message) };
    assert_eq!(result, Err(Failure::Function));
    assert_eq!(message, "no such file");
    assert_eq!(memory.bytes(128..144), [0; 16]);
}

#[test]
fn bits_beyond_the_value_do_not_matter() {
    let memory = Memory::new();
    let mut args = honest(&memory);
    args[0] = int(0xffff_ffff_0000_0007, 4);
    call(
        &ReadChunk::bind(|file, _, _| {
            assert_eq!(file, 7);
            0
        }),
        &args,
    )
    .unwrap();
}

#[test]
fn implicit_mappings_and_other_alignments_pass() {
    let memory = Memory::new();
    let mut args = honest(&memory);
    args[2].kind = MapKind((MapKind::FROM.0 | 0x60) | 0x0400);
    call(&ReadChunk::bind(|_, _, _| 0), &args).unwrap();
}

#[test]
fn count() {
    let memory = Memory::new();
    let args = honest(&memory);
    assert_eq!(
        refused(&never(), &args[..3]),
        BadArguments::Count {
            expected: 4,
            found: 3
        }
    );
    assert_eq!(
        refused(&never(), &[]),
        BadArguments::Count {
            expected: 4,
            found: 0
        }
    );
    let five = [args[0], args[1], args[2], args[3], args[0]];
    assert_eq!(
        refused(&never(), &five),
        BadArguments::Count {
            expected: 4,
            found: 5
        }
    );
}

#[test]
fn kind_of_each_argument() {
    for argument in 0..4 {
        for kind in [
            MapKind::TO,
            MapKind::TOFROM,
            MapKind::STRUCT,
            MapKind::ALLOC,
            MapKind(0xffff),
        ] {
            let memory = Memory::new();
            let mut args = honest(&memory);
            // Memory for the argument, in case the adapter accepts it.
            args[argument] = memory.at(256, args[argument].size, kind);
            let expected = if argument < 2 { INT } else { MapKind::FROM };
            assert_eq!(
                refused(&never(), &args),
                BadArguments::Kind {
                    argument,
                    expected,
                    found: kind
                }
            );
        }
    }
}

/// A value where memory is declared would be an address of the device's choice.
#[test]
fn a_value_in_place_of_memory() {
    let memory = Memory::new();
    let mut args = honest(&memory);
    args[2] = int(0x1000, 100);
    assert!(matches!(
        refused(&never(), &args),
        BadArguments::Kind { argument: 2, .. }
    ));
    let mut args = honest(&memory);
    args[3] = int(0x1000, 16);
    assert!(matches!(
        refused(&never(), &args),
        BadArguments::Kind { argument: 3, .. }
    ));
}

#[test]
fn size_of_values_and_reply() {
    for (argument, expected) in [(0, 4), (1, 8), (3, 16)] {
        for found in [0, 1, expected - 1, expected + 1, 2 * expected] {
            let memory = Memory::new();
            let mut args = honest(&memory);
            args[argument].size = found;
            assert_eq!(
                refused(&never(), &args),
                BadArguments::Size {
                    argument,
                    expected,
                    found
                }
            );
        }
    }
}

#[test]
fn size_of_single_references() {
    let memory = Memory::new();
    let report = Report::bind(|_, _, _| panic!("must not run"));
    let mut args = [
        int(1, 4),
        memory.at(0, 31, MapKind::TO),
        memory.at(64, 16, MapKind::TOFROM),
        memory.at(128, 8, MapKind::FROM),
    ];
    assert_eq!(
        refused(&report, &args),
        BadArguments::Size {
            argument: 1,
            expected: 32,
            found: 31
        }
    );
    args[1].size = 32;
    args[2].size = 8;
    assert_eq!(
        refused(&report, &args),
        BadArguments::Size {
            argument: 2,
            expected: 16,
            found: 8
        }
    );
}

fn lend_args(memory: &Memory) -> [RawArg; 7] {
    [
        memory.at(0, 4, MapKind::TO),
        memory.at(16, 4, MapKind::TO),
        memory.at(32, 8, MapKind::TOFROM),
        memory.at(48, 12, MapKind::TOFROM),
        memory.at(64, 16, MapKind::FROM),
        memory.at(80, 32, MapKind::FROM),
        memory.at(128, 32, MapKind::FROM),
    ]
}

#[test]
fn slices_of_no_whole_number_of_elements() {
    for (argument, element) in [(1, 2), (3, 4), (5, 16)] {
        let memory = Memory::new();
        let mut args = lend_args(&memory);
        args[argument].size -= 1;
        let found = args[argument].size;
        assert_eq!(
            refused(
                &Lend::bind(|_, _, _, _, _, _| panic!("must not run")),
                &args
            ),
            BadArguments::Elements {
                argument,
                element,
                found
            }
        );
    }
}

#[test]
fn alignment_and_null() {
    for (argument, align) in [(0, 4), (1, 2), (2, 8), (3, 4), (4, 16), (5, 8), (6, 16)] {
        let memory = Memory::new();
        let mut args = lend_args(&memory);
        // Overlaps no other argument, but is misaligned by one.
        args[argument] = memory.at(257, args[argument].size, args[argument].kind);
        let found = args[argument].ptr.addr() as u64;
        let lend = Lend::bind(|_, _, _, _, _, _| panic!("must not run"));
        assert_eq!(
            refused(&lend, &args),
            BadArguments::Address {
                argument,
                align,
                found
            }
        );
        args[argument].ptr = std::ptr::null_mut();
        assert_eq!(
            refused(&lend, &args),
            BadArguments::Address {
                argument,
                align,
                found: 0
            }
        );
    }
}

#[test]
fn empty_slices_lie_anywhere() {
    let memory = Memory::new();
    for address in [0, 1, 0xdead_beef, usize::MAX] {
        let mut args = lend_args(&memory);
        for argument in [1, 3, 5] {
            args[argument].ptr = std::ptr::without_provenance_mut(address);
            args[argument].size = 0;
        }
        call(
            &Lend::bind(|_, a, _, b, _, c| (a.len() + b.len() + c.len()) as u128),
            &args,
        )
        .unwrap();
    }
    // Once more inside another argument.
    let mut args = lend_args(&memory);
    args[3] = RawArg { size: 0, ..args[4] };
    args[3].kind = MapKind::TOFROM;
    args[3].ptr = args[3].ptr.wrapping_add(4);
    call(&Lend::bind(|_, _, _, _, _, _| 0), &args).unwrap();
}

#[test]
fn large_values_need_no_alignment_but_memory() {
    let memory = Memory::new();
    let mut args = [
        int(1, 1),
        int(0, 8),
        int(0x03_0201, 3),
        memory.at(1, 16, MapKind::FIRSTPRIVATE),
        memory.at(33, 16, MapKind::FIRSTPRIVATE),
        int(0, 0),
        memory.at(128, 24, MapKind::FROM),
    ];
    call(
        &Values::bind(|_, _, colour, stats, wide, _| {
            assert_eq!(colour.0, [1, 2, 3]);
            assert_eq!(wide, u128::from_ne_bytes([1; 16]));
            stats
        }),
        &args,
    )
    .unwrap();
    args[3].ptr = std::ptr::null_mut();
    let never = Values::bind(|_, _, _, _, _, _| panic!("must not run"));
    assert!(matches!(
        refused(&never, &args),
        BadArguments::Address { argument: 3, .. }
    ));
    args[3] = int(0x1000, 16);
    assert!(matches!(
        refused(&never, &args),
        BadArguments::Kind { argument: 3, .. }
    ));
}

#[test]
fn memory_of_two_arguments_is_refused_where_one_writes() {
    // Each pair of `lend`'s arguments, with the second moved onto the first's last byte, rounded
    // down to an alignment that suits both, because alignment is checked later.
    for argument in 1..7 {
        for other in 0..argument {
            let memory = Memory::new();
            let mut args = lend_args(&memory);
            let last = args[other].ptr.addr() + args[other].size as usize - 1;
            let base = (&raw const memory.0).addr();
            args[argument] = memory.at(last - base, args[argument].size, args[argument].kind);
            let bad = refused(
                &Lend::bind(|_, _, _, _, _, _| panic!("must not run")),
                &args,
            );
            if (other, argument) == (0, 1) {
                // Both are read only, so the alignment is reported.
                assert!(
                    matches!(bad, BadArguments::Address { argument: 1, .. }),
                    "{bad}"
                );
                continue;
            }
            let BadArguments::Overlap { .. } = bad else {
                panic!("{other}, {argument}: {bad}")
            };
        }
    }
}

#[test]
fn reading_the_same_memory_twice_is_fine() {
    let memory = Memory::new();
    let mut args = lend_args(&memory);
    args[1].ptr = args[0].ptr;
    call(
        &Lend::bind(|a, b, _, _, _, _| {
            assert_eq!((*a, b.len()), (0x0101_0101, 2));
            0
        }),
        &args,
    )
    .unwrap();
}

#[test]
fn ranges_that_touch_are_no_overlap() {
    let memory = Memory::new();
    let mut args = honest(&memory);
    args[2] = memory.at(28, 100, MapKind::FROM);
    call(&ReadChunk::bind(|_, _, _| 0), &args).unwrap();
}

#[test]
fn the_reply_is_an_argument_like_others() {
    let memory = Memory::new();
    let mut args = honest(&memory);
    args[2] = memory.at(29, 100, MapKind::FROM);
    assert_eq!(
        refused(&never(), &args),
        BadArguments::Overlap {
            argument: 3,
            other: 2
        }
    );
}

#[test]
fn messages_name_argument_and_values() {
    let text = Failure::from(BadArguments::Size {
        argument: 2,
        expected: 8,
        found: 12,
    })
    .to_string();
    assert!(
        text.contains("argument 2 has 12 bytes, its type has 8"),
        "{text}"
    );
    let kind = BadArguments::Kind {
        argument: 0,
        expected: MapKind::TO,
        found: MapKind(0x0302),
    };
    assert_eq!(
        kind.to_string(),
        "argument 0 is mapped as FROM(0x0302), declared as TO(0x0001)"
    );
}
