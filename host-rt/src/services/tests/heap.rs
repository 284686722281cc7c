//! The growth of the heap, and what a program reports about it.

use std::sync::Mutex;

use std_calls::{HeapPiece, HeapStatistics};

use super::*;

#[test]
fn the_launcher_gives_memory() {
    let services = build(Services::builder().grow_heap(|least| {
        if least > 100 {
            return Err(io::ErrorKind::OutOfMemory.into());
        }
        Ok(HeapPiece {
            address: 0x1000,
            bytes: 128,
        })
    }));
    let mut piece = HeapPiece::default();
    assert_eq!(services.grow_heap(100, &mut piece).unwrap(), 0);
    assert_eq!((piece.address, piece.bytes), (0x1000, 128));
    assert_eq!(number(services.grow_heap(101, &mut piece)), libc::ENOMEM);
}

#[test]
fn without_a_launcher_a_heap_does_not_grow() {
    let services = build(Services::builder());
    let grown = services.grow_heap(1, &mut HeapPiece::default());
    assert_eq!(number(grown), libc::ENOMEM);
    // Nobody gets the report.
    services.heap_statistics(HeapStatistics::default());
}

#[test]
fn the_launcher_gets_the_report() {
    let reported = Arc::new(Mutex::new(None));
    let to = Arc::clone(&reported);
    let services = build(Services::builder().on_heap_statistics(move |statistics| {
        *to.lock().unwrap() = Some(statistics);
    }));
    let statistics = HeapStatistics {
        allocations: 4,
        live: 3,
        live_bytes: 2,
        peak_bytes: 1,
    };
    services.heap_statistics(statistics);
    assert_eq!(*reported.lock().unwrap(), Some(statistics));
}
