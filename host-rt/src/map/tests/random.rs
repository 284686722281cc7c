//! Random requests, compared with a naive model, and invalid ones.

use std::{collections::HashMap, convert::Infallible, ptr::NonNull};

use proptest::prelude::*;
use shared_abi::map_kind::MapKind;

use super::sim::{BASE, Sim, arg, bytes, limited, run_with};
use crate::map::{Arg, HostArg, Limits, MapError, PresentTable};

const MEMORY: usize = 256;
/// Ranges of the device that have originals: (offset, length).
const ORIGINALS: [(u64, usize); 2] = [(64, 32), (160, 48)];

/// Host memory as a map from device addresses to bytes: ranges that overlap on the device overlap
/// here, and addresses need no further treatment.
struct Model {
    device: Vec<u8>,
    host: HashMap<u64, u8>,
}

fn original_of(addr: u64, size: u64) -> Option<Result<(), ()>> {
    ORIGINALS.iter().find_map(|&(at, len)| {
        let (start, end) = (BASE + at, BASE + at + len as u64);
        if size == 0 || addr + size <= start || end <= addr {
            return None;
        }
        Some(if start <= addr && addr + size <= end {
            Ok(())
        } else {
            Err(())
        })
    })
}

fn always(kind: MapKind) -> bool {
    kind.0 & 0x10 != 0 || kind.0 & 0x80 != 0
}

/// The byte that argument `index` writes at `addr`.
fn written(index: usize, addr: u64, old: u8) -> u8 {
    old.wrapping_mul(3)
        .wrapping_add(addr as u8)
        .wrapping_add((index as u8).wrapping_mul(29))
}

impl Model {
    /// Runs a request; `Err` if it must be rejected.
    fn run(&mut self, args: &[Arg], seen: &mut Vec<Vec<u8>>) -> Result<(), ()> {
        for arg in args {
            if let Some(inside) = original_of(arg.addr, arg.size) {
                inside?;
            }
        }
        let present = |arg: &Arg| original_of(arg.addr, arg.size).is_some();
        let span = |arg: &Arg| arg.addr..arg.addr + arg.size;
        let at = |addr: u64| (addr - BASE) as usize;
        for arg in args.iter().filter(|arg| !present(arg)) {
            self.host.extend(span(arg).map(|addr| (addr, 0)));
        }
        for arg in args {
            if arg.kind.reads_device() && (always(arg.kind) || !present(arg)) {
                self.host
                    .extend(span(arg).map(|addr| (addr, self.device[at(addr)])));
            }
        }
        for (index, arg) in args.iter().enumerate() {
            seen.push(span(arg).map(|addr| self.host[&addr]).collect());
            for addr in span(arg) {
                let byte = self.host.get_mut(&addr).unwrap();
                *byte = written(index, addr, *byte);
            }
        }
        for arg in args {
            if arg.kind.writes_device() && (always(arg.kind) || !present(arg)) {
                span(arg).for_each(|addr| self.device[at(addr)] = self.host[&addr]);
            }
        }
        Ok(())
    }
}

/// Whether no argument marked as exclusive shares a byte with another.
fn exclusive_is_true(host: &[HostArg]) -> bool {
    let span = |arg: &HostArg| (arg.ptr.addr(), arg.ptr.addr() + arg.size as usize);
    host.iter().enumerate().all(|(i, one)| {
        !one.exclusive
            || one.size == 0
            || host.iter().enumerate().all(|(j, other)| {
                let ((a, b), (c, d)) = (span(one), span(other));
                i == j || other.size == 0 || b <= c || d <= a
            })
    })
}

fn data_kind() -> impl Strategy<Value = MapKind> {
    prop::sample::select(vec![
        MapKind::ALLOC,
        MapKind::TO,
        MapKind::FROM,
        MapKind::TOFROM,
        MapKind::FORCE_ALLOC,
        MapKind::FORCE_TO,
        MapKind::FORCE_FROM,
        MapKind::FORCE_TOFROM,
        MapKind::ALWAYS_TO,
        MapKind::ALWAYS_FROM,
        MapKind::ALWAYS_TOFROM,
    ])
}

/// Ranges of the device's memory, often within or beside originals.
fn data_args(max: usize) -> impl Strategy<Value = Vec<Arg>> {
    let one = (data_kind(), 0..MEMORY as u64, 0..40u64, 0..5u16);
    let whole = prop::collection::vec(one, 0..max);
    (whole, any::<bool>()).prop_map(|(args, avoid)| {
        args.into_iter()
            .map(|(kind, at, size, align)| {
                let size = size.min(MEMORY as u64 - at);
                arg(MapKind(kind.0 | align << 8), BASE + at, size)
            })
            .filter(|arg| !avoid || original_of(arg.addr, arg.size) != Some(Err(())))
            .collect()
    })
}

/// Small ranges that do not overlap, and values.
fn small_args() -> impl Strategy<Value = Vec<Arg>> {
    const KINDS: [MapKind; 4] = [
        MapKind::TO,
        MapKind::FROM,
        MapKind::TOFROM,
        MapKind::FIRSTPRIVATE_INT,
    ];
    let one = (
        prop::sample::select(&KINDS[..]),
        0..16u64,
        1..48u64,
        0..5u16,
    );
    prop::collection::vec(one, 1..5).prop_map(|args| {
        let args = args.into_iter().enumerate();
        args.map(|(index, (kind, at, size, align))| {
            let addr = BASE + index as u64 * 64 + at;
            arg(MapKind(kind.0 | align << 8), addr, size)
        })
        .collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn agrees_with_the_model(requests in prop::collection::vec(data_args(14), 1..4)) {
        let mut mapper = limited(Limits { keep_bytes: 1 << 16, ..Limits::default() });
        let mut sim = Sim::new(MEMORY);
        let table = PresentTable::new();
        let mut model = Model { device: sim.bytes.clone(), host: HashMap::new() };
        let mut originals = ORIGINALS.map(|(_, len)| vec![9u8; len]);
        for (&(at, len), original) in ORIGINALS.iter().zip(&mut originals) {
            let host = NonNull::new(original.as_mut_ptr()).unwrap();
            // SAFETY: used only through the table while requests run.
            unsafe { table.insert(host, BASE + at, len) }.unwrap();
            model.host.extend((0..len as u64).map(|i| (BASE + at + i, 9)));
        }
        for args in requests {
            let mut expected = Vec::new();
            let ok = model.run(&args, &mut expected).is_ok();
            let mut seen = Vec::new();
            let result = mapper.run(&args, &table, &mut sim, |_, host| {
                assert!(exclusive_is_true(host));
                for (index, host) in host.iter().enumerate() {
                    assert_eq!(host.size, args[index].size);
                    seen.push(bytes(host).to_vec());
                    for (i, byte) in bytes(host).iter_mut().enumerate() {
                        *byte = written(index, args[index].addr + i as u64, *byte);
                    }
                }
                Ok::<_, Infallible>(())
            });
            prop_assert_eq!(result.is_ok(), ok);
            if ok {
                prop_assert_eq!(&seen, &expected);
            }
            prop_assert_eq!(&sim.bytes, &model.device);
        }
        for (at, _) in ORIGINALS {
            table.remove(BASE + at).unwrap();
        }
        for (&(at, _), original) in ORIGINALS.iter().zip(&originals) {
            for (i, byte) in original.iter().enumerate() {
                prop_assert_eq!(*byte, model.host[&(BASE + at + i as u64)]);
            }
        }
    }

    /// The layout of small arguments agrees with the general one, which small limits choose.
    #[test]
    fn small_arguments_are_mapped_like_others(args in small_args()) {
        let run = |max_bytes| {
            let mut sim = Sim::new(MEMORY);
            let mut seen = Vec::new();
            let limits = Limits { max_bytes, ..Limits::default() };
            limited(limits).run(&args, &PresentTable::new(), &mut sim, |_, host| {
                assert!(exclusive_is_true(host));
                for (index, host) in host.iter().enumerate() {
                    seen.push((host.size, host.kind, host.exclusive, host.present));
                    if host.kind.plain() == MapKind::FIRSTPRIVATE_INT {
                        seen.push((host.ptr.addr() as u64, host.kind, false, false));
                        continue;
                    }
                    let align = host.kind.align().unwrap();
                    assert_eq!(host.ptr.addr() % align, 0);
                    for (i, byte) in bytes(host).iter_mut().enumerate() {
                        seen.push((u64::from(*byte), host.kind, false, false));
                        *byte = written(index, i as u64, *byte);
                    }
                }
                Ok::<_, Infallible>(())
            }).unwrap();
            (seen, sim.bytes, sim.fetched, sim.stored)
        };
        prop_assert_eq!(run(1 << 20), run(700));
    }

    #[test]
    fn garbage_is_an_error_at_worst(args in prop::collection::vec(garbage(), 0..40)) {
        let mut sim = Sim::new(MEMORY);
        // In half the runs the device's memory has valid pointers.
        for at in (0..MEMORY as u64).step_by(16) {
            sim.put_u64(BASE + at, BASE + at * 7 % 300);
        }
        let table = PresentTable::new();
        let mut originals = ORIGINALS.map(|(_, len)| vec![0u8; len]);
        for (&(at, len), original) in ORIGINALS.iter().zip(&mut originals) {
            let host = NonNull::new(original.as_mut_ptr()).unwrap();
            // SAFETY: used only through the table while the request runs.
            unsafe { table.insert(host, BASE + at, len) }.unwrap();
        }
        let result = run_with(&mut sim, &args, &table, |host| {
            assert!(exclusive_is_true_of_memory(host));
            for host in host {
                let value = host.kind.base() == MapKind::FIRSTPRIVATE_INT.0;
                if !value && host.size > 0 {
                    bytes(host).fill(0x77);
                }
            }
        });
        if let Err(error) = result {
            let _: MapError = error;
        }
        for (at, _) in ORIGINALS {
            table.remove(BASE + at).unwrap();
        }
    }
}

fn exclusive_is_true_of_memory(host: &[HostArg]) -> bool {
    let memory: Vec<_> = host
        .iter()
        .filter(|host| host.kind.base() != MapKind::FIRSTPRIVATE_INT.0)
        .copied()
        .collect();
    exclusive_is_true(&memory)
}

/// Any argument, often an almost valid one.
fn garbage() -> impl Strategy<Value = Arg> {
    let kinds: Vec<u16> = (0..=0xff)
        .filter(|low| MapKind(*low).name().is_some())
        .collect();
    let low = prop_oneof![9 => prop::sample::select(kinds), 1 => 0..=0xffu16];
    let high = prop_oneof![9 => 0..5u16, 1 => 0..=0xffu16];
    let near = (0..MEMORY as u64 / 4).prop_map(|at| BASE + at * 4);
    let addr = prop_oneof![20 => near, 1 => Just(0), 1 => any::<u64>(), 1 => u64::MAX - 40..];
    let size = prop_oneof![10 => 0..4u64, 10 => 0..64u64, 1 => any::<u64>(), 1 => (0..64u32).prop_map(|s| 1 << s)];
    (low, high, addr, size)
        .prop_map(|(low, high, addr, size)| arg(MapKind(low | high << 8), addr, size))
}
