//! A broken device that writes requests at random, half of them well-formed, so that mapping sees them: each is served,
//! or is an error of its launch. Memory of others, and another runtime, do not change. `ci/asan` runs this for more
//! rounds under the address sanitizer.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use conformance::Target;
use conformance_calls::forge::Gcc;
use revoff_host::LaunchError;
use revoff_host::shared_abi::map_kind::MapKind;
use revoff_host::shared_abi::wire::WireKind;
use revoff_host::shared_abi::wire::native::{PLACE_DEVICE, PLACE_SLOT};

use crate::forged::{entry, gcc, native, send_gcc, send_native};
use crate::probe::Probe;
use crate::random::{Random, rounds};
use crate::raw::{Words, words};
use crate::session::{Session, acting, read};
use crate::{Test, test};

pub(crate) const TESTS: &[Test] = &[test!(random_requests_are_served_or_fail)];

/// Words of the memory that requests name.
const WORDS: u64 = 256;

/// The most entries of a request, which have room in the rows of `native`.
const MAX_ENTRIES: u64 = 6;

/// Kinds that mapping treats in ways of their own.
const KINDS: [MapKind; 20] = [
    MapKind::ALLOC,
    MapKind::TO,
    MapKind::FROM,
    MapKind::TOFROM,
    MapKind::POINTER,
    MapKind::TO_PSET,
    MapKind::FORCE_PRESENT,
    MapKind::DELETE,
    MapKind::FIRSTPRIVATE,
    MapKind::FIRSTPRIVATE_INT,
    MapKind::ZERO_LEN_ARRAY_SECTION,
    MapKind::ALWAYS_TOFROM,
    MapKind::RELEASE,
    MapKind::STRUCT,
    MapKind::ALWAYS_POINTER,
    MapKind::POINTER_TO_ZERO_LENGTH_ARRAY_SECTION,
    MapKind::DELETE_ZERO_LEN_ARRAY_SECTION,
    MapKind::ATTACH,
    MapKind::FORCE_TOFROM,
    MapKind::ALWAYS_PRESENT_TOFROM,
];

/// Kinds of which a request with valid addresses is valid.
const PLAIN: [MapKind; 5] = [
    MapKind::TO,
    MapKind::FROM,
    MapKind::TOFROM,
    MapKind::FIRSTPRIVATE,
    MapKind::FIRSTPRIVATE_INT,
];

/// An argument: address, size, kind.
type Entry = (u64, u64, MapKind);

fn random_entry(random: &mut Random, memory: u64, is_plain: bool) -> Entry {
    let address = memory + 8 * random.below(WORDS);
    let size = 8 * (1 + random.below(8));
    if is_plain {
        // Not beyond the end.
        return (
            address.min(memory + 8 * (WORDS - 8)),
            size,
            random.of(&PLAIN),
        );
    }
    let address = match random.below(8) {
        0 => random.of(&[0, 1, u64::MAX, u64::MAX - 7, 1 << 47]),
        1 => address + 1 + random.below(7),
        _ => address,
    };
    let size = match random.below(4) {
        // The number of entries of a structure.
        0 => random.below(MAX_ENTRIES),
        1 => random.of(&[0, 1, 1 << 20, 1 << 40, u64::MAX, u64::MAX - address]),
        _ => size,
    };
    let kind = match random.below(8) {
        0 => MapKind(random.below(1 << 16) as u16),
        1 => MapKind(random.of(&KINDS).0 | (random.below(20) << 8) as u16),
        2 => MapKind(random.of(&KINDS).0 | 0x60),
        _ => random.of(&KINDS),
    };
    (address, size, kind)
}

/// Sends a request by a kernel of one thread.
fn send(
    session: &Session,
    target: &Target,
    random: &mut Random,
    entries: &[Entry],
    func: u64,
    is_plain: bool,
) -> crate::forged::Result {
    if target.wire == WireKind::NATIVE {
        let entries: Vec<_> = entries
            .iter()
            .map(|&(address, size, kind)| {
                // In rows after the entries, whatever these contain.
                let (place, offset) = match random.below(4) {
                    0 if is_plain && size <= 32 => (PLACE_SLOT, 0),
                    0 if !is_plain => (random.below(5) as u16, random.below(1 << 15) as u32),
                    _ => (PLACE_DEVICE, 0),
                };
                entry(address, size, kind, place, offset)
            })
            .collect();
        let mut request = native(session, &entries);
        request.data[1] = func;
        return send_native(session, &request).1;
    }
    let column = |of: fn(&Entry) -> u64| entries.iter().map(of).collect::<Vec<_>>();
    let (addrs, sizes) = (
        session.filled(&column(|entry| entry.0)),
        session.filled(&column(|entry| entry.1)),
    );
    let kinds: Vec<_> = entries.iter().map(|entry| entry.2.0).collect();
    let kinds = session.filled(&kinds);
    let request = Gcc {
        func,
        mapnum: entries.len() as u64,
        addrs: addrs.address().0,
        sizes: sizes.address().0,
        kinds: kinds.address().0,
        ..gcc(session)
    };
    send_gcc(session, request)
}

fn random_requests_are_served_or_fail(target: &Target) {
    let rounds = rounds(if target.is_emu() { 100 } else { 1000 });
    let served = Arc::new(AtomicU64::new(0));
    let count = Arc::clone(&served);
    let mut functions = acting(|what| what);
    let probe = Probe::new("probe", move |args| {
        // Relaxed: the launch has ended when it is read.
        count.fetch_add(1, Ordering::Relaxed);
        for arg in args.iter_mut().filter(|arg| arg.kind.writes_device()) {
            arg.bytes.fill(0x77);
        }
        Ok(())
    });
    functions.add(probe).expect("the first of its name");
    let other = Session::new(target, &functions);
    let other_memory = other.filled(&[0x4444_u64; WORDS as usize]);
    let session = Session::build(target, target.builder().slots(32), &functions);
    let before = session.filled(&[0x1111_u64; WORDS as usize]);
    let memory = session.filled(&[0x2222_u64; WORDS as usize]);
    let after = session.filled(&[0x3333_u64; WORDS as usize]);
    let Words {
        probe,
        unregistered,
        ..
    } = words(&session);
    // Without those by which the host marks a slot: the device then waits for itself.
    let strange = [1, unregistered, probe + 1, u64::MAX - 1];
    let mut random = Random(0x2545_f491);
    let mut failed = 0;
    for round in 0..rounds {
        let is_plain = random.one_in(2);
        let length = 1 + random.below(MAX_ENTRIES);
        let entries: Vec<_> = (0..length)
            .map(|_| random_entry(&mut random, memory.address().0, is_plain))
            .collect();
        let func = match is_plain {
            false if random.one_in(8) => random.of(&strange),
            _ => probe,
        };
        match send(&session, target, &mut random, &entries, func, is_plain) {
            Ok(_) => {}
            Err(LaunchError::Call { .. }) => failed += 1,
            Err(other) => panic!("round {round}: {other}, after {entries:x?}"),
        }
        if round % 100 == 99 {
            for (kept, value) in [(&before, 0x1111), (&after, 0x3333), (&other_memory, 0x4444)] {
                let words = read::<u64>(kept);
                assert!(words.iter().all(|&word| word == value), "round {round}");
            }
            session.works();
            other.works();
        }
    }
    let served = served.load(Ordering::Relaxed);
    assert!(
        served > rounds / 4 && failed > rounds / 8,
        "of {rounds} requests, {served} were served and {failed} failed"
    );
}
