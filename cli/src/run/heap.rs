//! The report of `revoff run` about a program's heap.

use revoff_host::targets::count::Count;
use revoff_host::{HeapRefusal, HeapUse};

/// The exit status of a program that aborts, as after a failed allocation.
const ABORTED: i32 = 128 + libc::SIGABRT;

/// The text to print when the program has ended with a status.
pub(super) fn report(heap: &HeapUse, status: i32) -> String {
    let mut text = String::new();
    if status == ABORTED
        && let Some(refusal) = &heap.refused
    {
        let reason = match refusal {
            HeapRefusal::Limit { least, limit } => format!(
                "has no room for {} more: --heap limits it to {}",
                Count(*least, "byte"),
                Count(*limit, "byte"),
            ),
            HeapRefusal::Device(said) => format!("cannot grow: {said}"),
        };
        text = format!("note: the program's heap {reason}\n");
    }
    if let Some(statistics) = &heap.statistics {
        text += &format!(
            "heap: {}, at most {} at a time\n\
             heap: never freed: {}, {}\n\
             heap: {} of device memory, after {}\n",
            Count(statistics.allocations, "allocation"),
            Count(statistics.peak_bytes, "byte"),
            Count(statistics.live, "allocation"),
            Count(statistics.live_bytes, "byte"),
            Count(heap.bytes, "byte"),
            Count(heap.growths, "growth"),
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_is_named_only_after_an_abort() {
        let mut heap = HeapUse::default();
        assert_eq!(report(&heap, ABORTED), "");
        let (least, limit) = (1, 1000);
        heap.refused = Some(HeapRefusal::Limit { least, limit });
        assert_eq!(report(&heap, 0), "");
        assert_eq!(
            report(&heap, ABORTED),
            "note: the program's heap has no room for 1 byte more: --heap limits it to 1000 bytes\n"
        );
    }
}
