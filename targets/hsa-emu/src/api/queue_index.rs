//! The indexes of a queue, one function for each memory order. A queue that does not exist ends the process.

use std::sync::atomic::Ordering;

use hsa_runtime_sys::*;

use super::order::without_store;
use crate::runtime::known_queue;

macro_rules! loads {
    ($($name:ident: $index:ident, $order:ident;)*) => {$(
        pub extern "C" fn $name(queue: *const hsa_queue_t) -> u64 {
            let queue = known_queue(stringify!($name), queue);
            // The order of its name.
            queue.ring().$index().load(Ordering::$order)
        }
    )*};
}

loads! {
    hsa_queue_load_read_index_relaxed: read_index, Relaxed;
    hsa_queue_load_read_index_scacquire: read_index, Acquire;
    hsa_queue_load_read_index_acquire: read_index, Acquire;
    hsa_queue_load_write_index_relaxed: write_index, Relaxed;
    hsa_queue_load_write_index_scacquire: write_index, Acquire;
    hsa_queue_load_write_index_acquire: write_index, Acquire;
}

macro_rules! stores {
    ($($name:ident: $index:ident, $order:ident;)*) => {$(
        pub extern "C" fn $name(queue: *const hsa_queue_t, value: u64) {
            let queue = known_queue(stringify!($name), queue);
            // The order of its name.
            queue.ring().$index().store(value, Ordering::$order);
        }
    )*};
}

stores! {
    hsa_queue_store_read_index_relaxed: read_index, Relaxed;
    hsa_queue_store_read_index_screlease: read_index, Release;
    hsa_queue_store_read_index_release: read_index, Release;
    hsa_queue_store_write_index_relaxed: write_index, Relaxed;
    hsa_queue_store_write_index_screlease: write_index, Release;
    hsa_queue_store_write_index_release: write_index, Release;
}

macro_rules! additions {
    ($($name:ident: $order:ident;)*) => {$(
        pub extern "C" fn $name(queue: *const hsa_queue_t, count: u64) -> u64 {
            let queue = known_queue(stringify!($name), queue);
            // The order of its name.
            queue.ring().write_index().fetch_add(count, Ordering::$order)
        }
    )*};
}

additions! {
    hsa_queue_add_write_index_relaxed: Relaxed;
    hsa_queue_add_write_index_scacquire: Acquire;
    hsa_queue_add_write_index_acquire: Acquire;
    hsa_queue_add_write_index_screlease: Release;
    hsa_queue_add_write_index_release: Release;
    hsa_queue_add_write_index_scacq_screl: AcqRel;
    hsa_queue_add_write_index_acq_rel: AcqRel;
}

macro_rules! compare_exchanges {
    ($($name:ident: $order:ident;)*) => {$(
        pub extern "C" fn $name(queue: *const hsa_queue_t, expected: u64, value: u64) -> u64 {
            let queue = known_queue(stringify!($name), queue);
            let orders = (Ordering::$order, const { without_store(Ordering::$order) });
            // The order of its name.
            let index = queue.ring().write_index();
            let result = index.compare_exchange(expected, value, orders.0, orders.1);
            result.unwrap_or_else(|before| before)
        }
    )*};
}

compare_exchanges! {
    hsa_queue_cas_write_index_relaxed: Relaxed;
    hsa_queue_cas_write_index_scacquire: Acquire;
    hsa_queue_cas_write_index_acquire: Acquire;
    hsa_queue_cas_write_index_screlease: Release;
    hsa_queue_cas_write_index_release: Release;
    hsa_queue_cas_write_index_scacq_screl: AcqRel;
    hsa_queue_cas_write_index_acq_rel: AcqRel;
}
