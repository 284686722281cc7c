//! Every kind of argument whose data has no original on the host, in device
//! memory and on a device thread's stack.

use std::sync::{Arc, Mutex};

use conformance::Target;
use conformance_calls::{DEEP_STACK_BYTES, STACK_BYTES};
use revoff_host::Functions;
use revoff_host::shared_abi::map_kind::{IMPLICIT_BITS, MapKind};
use revoff_host::shared_abi::status::Status;

use crate::probe::{Probe, Seen};
use crate::raw::{Done, Form, Where, perform};
use crate::session::Session;
use crate::{Test, test};

pub(crate) const TESTS: &[Test] = &[
    test!(every_kind_in_memory),
    test!(every_kind_on_the_stack),
    test!(refused_kinds),
    test!(values),
    test!(null_and_empty),
    test!(forty_arguments),
    test!(sixty_four_marshalled_ranges),
    test!(more_ranges_than_can_be_marshalled),
    test!(many_ranges_in_memory),
    test!(overlapping_entries),
    test!(structures),
    test!(pointers),
    test!(descriptors),
    test!(alignment),
    test!(more_than_can_be_marshalled),
    test!(large_ranges_of_memory),
    test!(deep_stack)
        .alone_with(&[("REVOFF_HOST_STACK", "512K")])
        .only(Target::has_deep_stacks),
];

const BOTH: [Where; 2] = [Where::Memory, Where::Stack];

/// The copies of each kind if the data is not present: to the host, and back.
const KINDS: [(MapKind, bool, bool); 18] = [
    (MapKind::TO, true, false),
    (MapKind::FROM, false, true),
    (MapKind::TOFROM, true, true),
    (MapKind::ALLOC, false, false),
    (MapKind::FORCE_ALLOC, false, false),
    (MapKind::ZERO_LEN_ARRAY_SECTION, false, false),
    (MapKind::FORCE_TO, true, false),
    (MapKind::FORCE_FROM, false, true),
    (MapKind::FORCE_TOFROM, true, true),
    (MapKind::ALWAYS_TO, true, false),
    (MapKind::ALWAYS_FROM, false, true),
    (MapKind::ALWAYS_TOFROM, true, true),
    (MapKind::FIRSTPRIVATE, true, false),
    (MapKind::TO_PSET, true, false),
    (MapKind(MapKind::TO.0 | IMPLICIT_BITS as u16), true, false),
    (MapKind(MapKind::FROM.0 | IMPLICIT_BITS as u16), false, true),
    (
        MapKind(MapKind::TOFROM.0 | IMPLICIT_BITS as u16),
        true,
        true,
    ),
    (
        MapKind(MapKind::ALLOC.0 | IMPLICIT_BITS as u16),
        false,
        false,
    ),
];

/// Sizes on both sides of every limit: a word, data marshalled although the host reaches it, the size
/// of a slot, a block of the bounce area.
const SIZES: [usize; 8] = [1, 24, 127, 128, 129, 480, 5000, 60_000];

fn pattern(len: usize, seed: usize) -> Vec<u8> {
    (0..len).map(|i| (i * 7 + seed) as u8 | 1).collect()
}

type Notes = Arc<Mutex<Vec<Seen>>>;

/// A session whose `probe` records its arguments and then calls `body` with them.
pub(crate) fn probing(
    target: &Target,
    body: impl Fn(&mut [Seen]) -> Result<(), String> + Send + Sync + 'static,
) -> (Session, Notes) {
    let notes = Notes::default();
    let all = Arc::clone(&notes);
    let mut functions = Functions::new();
    functions
        .add(Probe::new("probe", move |args| {
            *all.lock().unwrap() = args.to_vec();
            body(args)
        }))
        .unwrap();
    (Session::new(target, &functions), notes)
}

/// Writes a pattern to all writable bytes.
fn overwrite(args: &mut [Seen]) -> Result<(), String> {
    for arg in args.iter_mut().filter(|arg| arg.kind.writes_device()) {
        arg.bytes = pattern(arg.bytes.len(), 100);
    }
    Ok(())
}

fn check_status(target: &Target, done: &Done, expected: Status) {
    // GCC's wires carry no status.
    let expected = if target.reports_status() {
        expected
    } else {
        Status::NONE
    };
    assert_eq!(done.status, expected);
}

fn every_kind(target: &Target, place: Where) {
    let (session, notes) = probing(target, overwrite);
    for size in SIZES {
        let before = pattern(size + 16, 3);
        for (kind, to, from) in KINDS {
            let done = perform(&session, place, &before, &[Form::at(8, size, kind)]);
            let what = format!("{size} bytes, {kind:?}, {place:?}");
            done.result
                .as_ref()
                .unwrap_or_else(|error| panic!("{what}: {error}"));
            check_status(target, &done, Status::DONE);

            let seen = notes.lock().unwrap().remove(0);
            assert_eq!((seen.kind, seen.size), (kind, size as u64), "{what}");
            let expected = if to {
                before[8..8 + size].to_vec()
            } else {
                vec![0; size]
            };
            assert!(seen.bytes == expected, "what the function sees: {what}");

            let mut after = before.clone();
            if from {
                after[8..8 + size].copy_from_slice(&pattern(size, 100));
            }
            assert!(done.data == after, "what the device has afterwards: {what}");
        }
    }
}

fn every_kind_in_memory(target: &Target) {
    every_kind(target, Where::Memory);
}

fn every_kind_on_the_stack(target: &Target) {
    every_kind(target, Where::Stack);
}

/// Kinds that require missing data, kinds without meaning in a call to the host, and invalid kinds.
fn refused_kinds(target: &Target) {
    let (session, notes) = probing(target, overwrite);
    let before = pattern(64, 3);
    let cases = [
        (MapKind::FORCE_PRESENT, "must be present"),
        (MapKind::ALWAYS_PRESENT_TO, "must be present"),
        (MapKind::ALWAYS_PRESENT_FROM, "must be present"),
        (MapKind::ALWAYS_PRESENT_TOFROM, "must be present"),
        (MapKind(0x2a), "cannot map this kind"),
        (MapKind(0x08), "cannot map this kind"),
        (MapKind(0xff), "cannot map this kind"),
        (
            MapKind::POINTER_TO_ZERO_LENGTH_ARRAY_SECTION,
            "cannot map this kind",
        ),
        (MapKind::ATTACH, "could be attached to"),
        (MapKind(MapKind::TO.0 | 13 << 8), "alignment"),
        (MapKind(MapKind::TO.0 | 200 << 8), "alignment"),
    ];
    for place in BOTH {
        for (kind, words) in cases {
            let done = perform(&session, place, &before, &[Form::at(8, 16, kind)]);
            let error = done.error();
            assert!(
                error.contains(words) && error.contains("probe"),
                "{kind:?}: {error}"
            );
            assert!(error.contains("argument 0"), "which argument: {error}");
            check_status(target, &done, Status::REFUSED_MAPPING);
            assert!(done.data == before, "{kind:?}: nothing came back");
        }
    }
    assert!(notes.lock().unwrap().is_empty(), "the function did not run");
}

fn values(target: &Target) {
    let (session, notes) = probing(target, |_| Ok(()));
    let forms = [0, 1, 0x1234_5678_9abc, (1 << 62) + 5].map(Form::value);
    for place in BOTH {
        perform(&session, place, &[0; 8], &forms).result.unwrap();
        let seen = std::mem::take(&mut *notes.lock().unwrap());
        let got: Vec<_> = seen.iter().map(|arg| arg.addr as u64).collect();
        assert_eq!(got, [0, 1, 0x1234_5678_9abc, (1 << 62) + 5]);
    }
}

fn null_and_empty(target: &Target) {
    let (session, notes) = probing(target, overwrite);
    let before = pattern(64, 5);
    let released = [
        MapKind::DELETE,
        MapKind::RELEASE,
        MapKind::DELETE_ZERO_LEN_ARRAY_SECTION,
    ];
    for place in BOTH {
        let mut forms = vec![
            Form::null(0, MapKind::TO),
            Form::null(16, MapKind::TOFROM),
            Form::at(8, 0, MapKind::TOFROM),
            Form::at(8, 0, MapKind::ZERO_LEN_ARRAY_SECTION),
            Form::at(24, 0, MapKind::FIRSTPRIVATE),
            Form::at(16, 8, MapKind::TOFROM),
        ];
        // For data that is not on the host, and for data mapped by the entry above.
        forms.extend(released.map(|kind| Form::at(40, 8, kind)));
        forms.extend(released.map(|kind| Form::at(16, 8, kind)));
        let done = perform(&session, place, &before, &forms);
        done.result.unwrap();
        let seen = std::mem::take(&mut *notes.lock().unwrap());
        assert_eq!(seen.len(), forms.len());
        assert_eq!((seen[0].addr, seen[1].addr), (0, 0), "null stays null");
        assert_eq!((seen[2].size, seen[3].size, seen[4].size), (0, 0, 0));
        assert_eq!(seen[5].bytes, before[16..24]);
        assert!(seen[6..9].iter().all(|arg| arg.addr == 0), "{seen:?}");
        assert!(
            seen[9..].iter().all(|arg| arg.addr == seen[5].addr),
            "{seen:?}"
        );
        let mut after = before.clone();
        after[16..24].copy_from_slice(&pattern(8, 100));
        assert!(done.data == after, "{place:?}");
    }
}

/// More than fit a slot of `native`.
fn forty_arguments(target: &Target) {
    let (session, notes) = probing(target, overwrite);
    for place in BOTH {
        for size in [8, 256] {
            let before = pattern(40 * size, 9);
            let forms: Vec<_> = (0..40)
                .map(|i| {
                    let kind = [MapKind::TO, MapKind::FROM, MapKind::TOFROM][i % 3];
                    Form::at(i * size, size, kind)
                })
                .collect();
            let done = perform(&session, place, &before, &forms);
            done.result.unwrap();
            let mut after = before.clone();
            for (i, seen) in notes.lock().unwrap().iter().enumerate() {
                let range = i * size..(i + 1) * size;
                if i % 3 == 1 {
                    assert_eq!(seen.bytes, vec![0; size]);
                } else {
                    assert_eq!(seen.bytes, before[range.clone()], "argument {i}");
                }
                if i % 3 != 0 {
                    after[range].copy_from_slice(&pattern(size, 100));
                }
            }
            assert!(done.data == after, "{place:?}, {size} bytes each");
        }
    }
}

fn words_on_the_stack(session: &Session, count: usize) -> (Vec<u8>, Done) {
    let before = pattern(count * 8, 9);
    let forms: Vec<_> = (0..count)
        .map(|i| Form::at(i * 8, 8, MapKind::TOFROM))
        .collect();
    let done = perform(session, Where::Stack, &before, &forms);
    (before, done)
}

fn sixty_four_marshalled_ranges(target: &Target) {
    let (session, _) = probing(target, overwrite);
    let (_, done) = words_on_the_stack(&session, 64);
    done.result.unwrap();
    assert_eq!(done.data, pattern(8, 100).repeat(64));
}

/// `native` has 64 bits for them. GCC's wires carry all of them as one piece.
fn more_ranges_than_can_be_marshalled(target: &Target) {
    let (session, notes) = probing(target, overwrite);
    let (before, done) = words_on_the_stack(&session, 65);
    if target.reports_status() {
        assert_eq!(done.status, Status::REFUSED_MAPPING);
        assert!(done.data == before);
        assert!(notes.lock().unwrap().is_empty(), "nobody asked the host");
    } else {
        done.result.unwrap();
        assert_eq!(done.data, pattern(8, 100).repeat(65));
    }
    // Nothing was left behind.
    words_on_the_stack(&session, 64).1.result.unwrap();
}

/// Data that the host reaches need not be marshalled: there is no limit.
fn many_ranges_in_memory(target: &Target) {
    let (session, notes) = probing(target, overwrite);
    let before = pattern(300 * 8, 9);
    let forms: Vec<_> = (0..300)
        .map(|i| Form::at(i * 8, 8, MapKind::TOFROM))
        .collect();
    let done = perform(&session, Where::Memory, &before, &forms);
    done.result.unwrap();
    assert_eq!(notes.lock().unwrap().len(), 300);
    assert_eq!(done.data, pattern(8, 100).repeat(300));
}

/// Ranges that share device memory share host memory.
fn overlapping_entries(target: &Target) {
    let (session, notes) = probing(target, |args| {
        // Only the last is written: 4 bytes in the middle of the first.
        args[2].bytes = vec![0xee; 4];
        Ok(())
    });
    for place in BOTH {
        for scale in [1, 40, 400] {
            let before = pattern(64 * scale, 11);
            let forms = [
                Form::at(0, 32 * scale, MapKind::TO),
                Form::at(16 * scale, 32 * scale, MapKind::TO),
                Form::at(24 * scale, 4, MapKind::TOFROM),
                Form::at(0, 32 * scale, MapKind::TO),
            ];
            let done = perform(&session, place, &before, &forms);
            done.result.unwrap();
            let seen = std::mem::take(&mut *notes.lock().unwrap());
            let base = seen[0].addr;
            assert_eq!(seen[1].addr, base + 16 * scale, "{place:?}, {scale}");
            assert_eq!(seen[2].addr, base + 24 * scale);
            assert_eq!(seen[3].addr, base);
            for (arg, form) in seen.iter().zip(&forms) {
                let start = form.offset as usize;
                assert!(arg.bytes == before[start..start + form.size as usize]);
            }
            let mut after = before.clone();
            after[24 * scale..24 * scale + 4].fill(0xee);
            assert!(done.data == after, "{place:?}, {scale}");
        }
    }
}

/// A structure of 64 bytes with two mapped members: they keep their distance, and the bytes between
/// them are not copied.
fn structures(target: &Target) {
    let (session, notes) = probing(target, overwrite);
    let before = pattern(64, 13);
    for place in BOTH {
        let forms = [
            Form::at(0, 2, MapKind::STRUCT),
            Form::at(8, 8, MapKind::TO),
            Form::at(40, 8, MapKind::TOFROM),
        ];
        let done = perform(&session, place, &before, &forms);
        done.result.unwrap();
        let seen = std::mem::take(&mut *notes.lock().unwrap());
        assert_eq!(seen[2].addr - seen[1].addr, 32, "{place:?}");
        assert_eq!(seen[1].bytes, before[8..16]);
        assert_eq!(seen[2].bytes, before[40..48]);
        let mut after = before.clone();
        after[40..48].copy_from_slice(&pattern(8, 100));
        assert!(done.data == after, "{place:?}");

        let header = Form::at(0, 3, MapKind::STRUCT);
        let done = perform(&session, place, &before, &[header, forms[1], forms[2]]);
        assert!(
            done.error().contains("only 2 entries follow"),
            "{}",
            done.error()
        );
        check_status(target, &done, Status::REFUSED_MAPPING);
        let forms = [Form::at(0, 1, MapKind::STRUCT), Form::value(3)];
        let done = perform(&session, place, &before, &forms);
        assert!(
            done.error().contains("cannot be a member"),
            "{}",
            done.error()
        );
    }
}

/// While the function runs, a pointer holds the host address of the data before it; afterwards its
/// old value.
fn pointers(target: &Target) {
    let (session, notes) = probing(target, |args| {
        let data = args.iter_mut().find(|arg| arg.kind == MapKind::TOFROM);
        data.expect("it was sent").bytes[0] = 0x42;
        Ok(())
    });
    let before = pattern(128, 17);
    for place in BOTH {
        for kind in [MapKind::POINTER, MapKind::ALWAYS_POINTER, MapKind::ATTACH] {
            let forms = [
                Form::at(0, 32, MapKind::TOFROM),
                // The pointer's value is 8 bytes after the data's start.
                Form::at(64, 0, kind),
            ];
            let done = perform(&session, place, &before, &forms);
            done.result.as_ref().unwrap();
            let seen = std::mem::take(&mut *notes.lock().unwrap());
            let pointer = u64::from_ne_bytes(seen[1].bytes[..8].try_into().unwrap());
            assert_eq!(pointer as usize, seen[0].addr, "{kind:?}, {place:?}");
            let mut after = before.clone();
            after[0] = 0x42;
            assert!(done.data == after, "{kind:?}, {place:?}");

            // Inside data that is copied both ways.
            let forms = [
                Form::at(0, 16, MapKind::TO),
                Form::at(24, 0, kind),
                Form::at(16, 32, MapKind::TOFROM),
            ];
            let done = perform(&session, place, &before, &forms);
            done.result.as_ref().unwrap();
            let seen = std::mem::take(&mut *notes.lock().unwrap());
            let pointer = u64::from_ne_bytes(seen[2].bytes[8..16].try_into().unwrap());
            assert_eq!(pointer as usize, seen[0].addr, "{kind:?}, {place:?}");
            let mut after = before.clone();
            after[16] = 0x42;
            assert!(
                done.data == after,
                "the device's pointer survives: {kind:?}, {place:?}"
            );
        }
    }
}

/// A Fortran descriptor: its pointer is translated, for any location of the descriptor.
fn descriptors(target: &Target) {
    let (session, notes) = probing(target, |_| Ok(()));
    let memory = session.filled(&pattern(32, 19));
    for place in BOTH {
        // A pointer to `memory`, some extents, and the data's own copy.
        let mut before = pattern(64, 21);
        before[..8].copy_from_slice(&memory.address().0.to_ne_bytes());
        let forms = [
            Form::at(0, 24, MapKind::TO_PSET),
            Form::at(0, 0, MapKind::POINTER),
        ];
        let done = perform(&session, place, &before, &forms);
        let error = done.error();
        assert!(error.contains("which is not mapped"), "{error}");
        assert!(error.contains(&format!("{}", memory.address())), "{error}");

        let forms = [
            Form::at(0, 24, MapKind::TO_PSET),
            Form::at(0, 0, MapKind::POINTER_TO_ZERO_LENGTH_ARRAY_SECTION),
        ];
        let done = perform(&session, place, &before, &forms);
        done.result.as_ref().unwrap();
        let seen = std::mem::take(&mut *notes.lock().unwrap());
        assert_eq!(seen[0].bytes[..8], [0; 8], "nothing to point to");
        assert_eq!(seen[0].bytes[8..], before[8..24]);
        assert!(done.data == before, "the device's descriptor is as it was");

        let forms = [
            Form::at(0, 24, MapKind::TO_PSET),
            Form::at(8, 0, MapKind::POINTER),
        ];
        let done = perform(&session, place, &before, &forms);
        assert!(
            done.error().contains("descriptor at argument 0"),
            "{}",
            done.error()
        );
    }
    // Copied data: its address is known only in device memory.
    let before = pattern(64, 23);
    let data = session.filled(&before);
    data.write(0, &[data.address().0 + 32]).unwrap();
    let forms = [
        Form::at(32, 16, MapKind::TO),
        Form::at(0, 24, MapKind::TO_PSET),
        Form::at(0, 0, MapKind::POINTER),
    ];
    let call = conformance_calls::RawCall {
        func: crate::raw::words(&session).probe,
        device: -2,
        ..Default::default()
    };
    let done = crate::raw::perform_as(&session, Where::Memory, &data, &forms, call);
    done.result.unwrap();
    let seen = std::mem::take(&mut *notes.lock().unwrap());
    let pointer = u64::from_ne_bytes(seen[1].bytes[..8].try_into().unwrap());
    assert_eq!(pointer as usize, seen[0].addr);
    assert_eq!(seen[0].bytes, before[32..48]);
}

/// The high byte of a kind requests an alignment, independently of the device's address.
fn alignment(target: &Target) {
    let (session, notes) = probing(target, overwrite);
    let before = pattern(256, 25);
    for place in BOTH {
        for log in 0..=12 {
            for kind in [MapKind::TOFROM, MapKind::FIRSTPRIVATE, MapKind::ALLOC] {
                let forms = [
                    Form::at(64, 40, kind.with_align(1 << log)),
                    Form::at(129, 7, MapKind::TO.with_align(1 << log)),
                ];
                let done = perform(&session, place, &before, &forms);
                done.result.as_ref().unwrap();
                let seen = std::mem::take(&mut *notes.lock().unwrap());
                assert_eq!(seen[0].addr % (1 << log), 0, "{kind:?}, 2^{log}, {place:?}");
                assert_eq!(seen[1].addr % (1 << log), 0, "{kind:?}, 2^{log}, {place:?}");
                assert_eq!(seen[1].bytes, before[129..136]);
            }
        }
    }
}

/// Twice the whole data, at the same place: on `native` each range is marshalled separately.
fn more_than_can_be_marshalled(target: &Target) {
    let (session, notes) = probing(target, |_| Ok(()));
    let before = pattern(STACK_BYTES, 27);
    let forms = [Form::at(0, STACK_BYTES, MapKind::TO); 9];
    let done = perform(&session, Where::Stack, &before, &forms);
    if target.reports_status() {
        assert_eq!(done.status, Status::REFUSED_MAPPING);
        assert!(notes.lock().unwrap().is_empty(), "nobody asked the host");
    } else {
        done.result.unwrap();
        let seen = std::mem::take(&mut *notes.lock().unwrap());
        assert_eq!(seen.len(), 9);
        assert!(seen.iter().all(|arg| arg.bytes == before));
    }
    let done = perform(&session, Where::Stack, &before, &forms[..7]);
    done.result.unwrap();
    assert!(notes.lock().unwrap().iter().all(|arg| arg.bytes == before));
}

fn large_ranges_of_memory(target: &Target) {
    let (session, notes) = probing(target, overwrite);
    let size = 3 << 20;
    let before = pattern(2 * size, 29);
    let forms = [
        Form::at(0, size, MapKind::TO),
        Form::at(size, size, MapKind::TOFROM),
    ];
    let done = perform(&session, Where::Memory, &before, &forms);
    done.result.unwrap();
    let seen = std::mem::take(&mut *notes.lock().unwrap());
    assert!(seen[0].bytes == before[..size] && seen[1].bytes == before[size..]);
    assert!(done.data[..size] == before[..size]);
    assert!(done.data[size..] == pattern(size, 100));
}

/// More than any block of the bounce area, from a stack with enough room.
fn deep_stack(target: &Target) {
    let (session, notes) = probing(target, overwrite);
    let size = 300 << 10;
    assert!(size < DEEP_STACK_BYTES);
    let before = pattern(size + 8, 31);
    let forms = [
        Form::at(0, size, MapKind::TOFROM),
        Form::at(size, 8, MapKind::TO),
    ];
    let done = perform(&session, Where::DeepStack, &before, &forms);
    done.result.unwrap();
    let seen = std::mem::take(&mut *notes.lock().unwrap());
    assert!(seen[0].bytes == before[..size]);
    assert_eq!(seen[1].bytes, before[size..]);
    assert!(done.data[..size] == pattern(size, 100));
    assert_eq!(done.data[size..], before[size..]);
}
