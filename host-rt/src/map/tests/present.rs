//! The table of present data.

use std::{ptr::NonNull, sync::Arc, thread};

use shared_abi::map_kind::MapKind;

use super::sim::{BASE, Sim, arg, run_with};
use crate::map::{InsertError, PresentTable, RemoveError};

/// Inserts a range that is never accessed.
fn insert(table: &PresentTable, device: u64, len: usize) -> Result<(), InsertError> {
    // SAFETY: these tests map the data at most, and do not access it.
    unsafe { table.insert(NonNull::dangling(), device, len) }
}

#[test]
fn ranges_do_not_overlap() {
    let table = PresentTable::new();
    assert!(table.is_empty());
    insert(&table, 100, 10).unwrap();
    insert(&table, 120, 10).unwrap();
    for (device, len, other) in [
        (100, 10, 100),
        (95, 6, 100),
        (109, 1, 100),
        (90, 15, 100),
        (110, 11, 120),
        (1, 1000, 100),
        (129, 1, 120),
    ] {
        let error = insert(&table, device, len).unwrap_err();
        let InsertError::Overlap { range, present } = error else {
            panic!("{error}");
        };
        assert_eq!(
            (range.device, range.len, present.device),
            (device, len, other)
        );
    }
    insert(&table, 110, 10).unwrap();
    insert(&table, 99, 1).unwrap();
    assert_eq!(table.len(), 4);
    assert_eq!(table.remove(110).unwrap().len, 10);
    assert_eq!(table.remove(110), Err(RemoveError::NotFound(110)));
    assert_eq!(table.remove(101), Err(RemoveError::NotFound(101)));
    assert_eq!(table.len(), 3);
}

#[test]
fn ranges_that_are_none() {
    let table = PresentTable::new();
    for (device, len) in [(0, 8), (8, 0), (u64::MAX, 2), (u64::MAX - 7, 9)] {
        assert!(matches!(
            insert(&table, device, len),
            Err(InsertError::Range(_))
        ));
    }
    insert(&table, u64::MAX - 8, 8).unwrap();
}

#[test]
fn data_in_use_stays() {
    let table = PresentTable::new();
    insert(&table, BASE, 64).unwrap();
    insert(&table, BASE + 64, 64).unwrap();
    let args = [
        arg(MapKind::TO, BASE + 8, 8),
        arg(MapKind::TO, BASE + 16, 8),
    ];
    run_with(&mut Sim::new(0), &args, &table, |_| {
        let error = table.remove(BASE).unwrap_err();
        assert!(matches!(error, RemoveError::InUse(range) if range.device == BASE));
        // Neither other data nor the lock is held.
        table.remove(BASE + 64).unwrap();
        insert(&table, BASE + 64, 8).unwrap();
    })
    .unwrap();
    table.remove(BASE).unwrap();
}

#[test]
fn many_threads() {
    let table = Arc::new(PresentTable::new());
    let mut memory = vec![1u8; 4096];
    let host = NonNull::new(memory.as_mut_ptr()).unwrap();
    // SAFETY: `memory` is used again only after all threads have ended; none of them accesses its
    // bytes.
    unsafe { table.insert(host, BASE, 4096) }.unwrap();
    let addr = host.as_ptr().addr();
    thread::scope(|scope| {
        for t in 0..4u64 {
            let table = Arc::clone(&table);
            scope.spawn(move || {
                let mut sim = Sim::new(0);
                for i in 0..500 {
                    let own = BASE + 0x10000 * (t + 1);
                    insert(&table, own, 16).unwrap();
                    let args = [arg(MapKind::TOFROM, BASE + i, 8), arg(MapKind::TO, own, 16)];
                    run_with(&mut sim, &args, &table, |host| {
                        assert_eq!(host[0].ptr.addr(), addr + i as usize);
                    })
                    .unwrap();
                    table.remove(own).unwrap();
                }
            });
        }
    });
    assert_eq!(table.remove(BASE).unwrap().host, addr);
}
