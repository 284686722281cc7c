//! The heap of a program.

use std_calls::{HeapPiece, HeapStatistics};

use super::super::heap::{FIRST, GRAIN, HeapRefusal, first_piece};
use super::*;
use crate::runtime::Runtime;

/// Services with a heap, and the size of its first piece.
fn with_heap(limit: u64) -> (Arc<Services>, u64) {
    let services = build(Services::builder());
    let runtime = Runtime::open("host").unwrap();
    let first = first_piece(&runtime, limit);
    services.heap.open(&runtime, limit, first).unwrap();
    (services, first)
}

/// The size of a further piece of at least so many bytes; `None` if there is none.
fn grow(services: &Services, least: u64) -> Option<u64> {
    let mut piece = HeapPiece::default();
    match services.grow_heap(least, &mut piece) {
        Ok(_) => {
            assert_ne!(piece.address, 0);
            Some(piece.bytes)
        }
        failed => {
            assert_eq!(number(failed), libc::ENOMEM);
            None
        }
    }
}

#[test]
fn pieces_double_the_heap_up_to_its_limit() {
    let (services, first) = with_heap(FIRST * 7);
    assert_eq!(first, FIRST);
    let sizes = [1, 1, 1, 1].map(|least| grow(&services, least));
    assert_eq!(sizes, [Some(FIRST), Some(2 * FIRST), Some(3 * FIRST), None]);
    let heap = services.heap().unwrap();
    assert_eq!((heap.bytes, heap.growths), (FIRST * 7, 3));
    let (least, limit) = (1, FIRST * 7);
    assert_eq!(heap.refused, Some(HeapRefusal::Limit { least, limit }));
}

#[test]
fn a_piece_is_as_large_as_the_allocation_needs() {
    let (services, _) = with_heap(FIRST * 7 + 1);
    assert_eq!(grow(&services, FIRST * 5 + 1), Some(FIRST * 5 + GRAIN));
    let left = FIRST + 1 - GRAIN;
    assert_eq!(grow(&services, left + 1), None);
    assert_eq!(grow(&services, u64::MAX), None);
    assert_eq!(grow(&services, left), Some(left));
}

#[test]
fn small_limits_are_the_first_piece() {
    assert_eq!(with_heap(1000).1, 1000);
}

#[test]
fn without_a_launch_there_is_no_heap() {
    let services = build(Services::builder());
    assert_eq!(grow(&services, 1), None);
    // Nobody gets the report.
    services.heap_statistics(HeapStatistics::default());
    assert!(services.heap().is_none());
}

#[test]
fn statistics_are_kept() {
    let (services, _) = with_heap(1000);
    let statistics = HeapStatistics {
        allocations: 4,
        live: 3,
        live_bytes: 2,
        peak_bytes: 1,
    };
    services.heap_statistics(statistics);
    assert_eq!(services.heap().unwrap().statistics, Some(statistics));
}
