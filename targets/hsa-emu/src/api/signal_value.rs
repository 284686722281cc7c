//! Changes of a signal's value, one function for each memory order. A signal that does not exist ends the process.

use std::sync::atomic::Ordering;

use hsa_runtime_sys::*;

use super::order::without_store;
use crate::runtime::known_signal;

macro_rules! loads {
    ($($name:ident: $order:ident;)*) => {$(
        pub extern "C" fn $name(signal: hsa_signal_t) -> i64 {
            // The order of its name.
            known_signal(stringify!($name), signal).value().load(Ordering::$order)
        }
    )*};
}

loads! {
    hsa_signal_load_relaxed: Relaxed;
    hsa_signal_load_scacquire: Acquire;
    hsa_signal_load_acquire: Acquire;
}

macro_rules! stores {
    ($($name:ident: $order:ident;)*) => {$(
        pub extern "C" fn $name(signal: hsa_signal_t, value: i64) {
            // Release is at least the order of its name.
            known_signal(stringify!($name), signal).set(value);
        }
    )*};
}

stores! {
    hsa_signal_store_relaxed: Relaxed;
    hsa_signal_store_screlease: Release;
    hsa_signal_store_release: Release;
}

macro_rules! silent_stores {
    ($($name:ident: $order:ident;)*) => {$(
        /// Wakes no thread that waits.
        pub extern "C" fn $name(signal: hsa_signal_t, value: i64) {
            // The order of its name.
            let signal = known_signal(stringify!($name), signal);
            signal.value().store(value, Ordering::$order);
        }
    )*};
}

silent_stores! {
    hsa_signal_silent_store_relaxed: Relaxed;
    hsa_signal_silent_store_screlease: Release;
}

macro_rules! exchanges {
    ($($name:ident: $order:ident;)*) => {$(
        pub extern "C" fn $name(signal: hsa_signal_t, value: i64) -> i64 {
            let signal = known_signal(stringify!($name), signal);
            // The order of its name.
            let before = signal.value().swap(value, Ordering::$order);
            signal.wake();
            before
        }
    )*};
}

exchanges! {
    hsa_signal_exchange_relaxed: Relaxed;
    hsa_signal_exchange_scacquire: Acquire;
    hsa_signal_exchange_acquire: Acquire;
    hsa_signal_exchange_screlease: Release;
    hsa_signal_exchange_release: Release;
    hsa_signal_exchange_scacq_screl: AcqRel;
    hsa_signal_exchange_acq_rel: AcqRel;
}

macro_rules! compare_exchanges {
    ($($name:ident: $order:ident;)*) => {$(
        pub extern "C" fn $name(signal: hsa_signal_t, expected: i64, value: i64) -> i64 {
            let signal = known_signal(stringify!($name), signal);
            let orders = (Ordering::$order, const { without_store(Ordering::$order) });
            // The order of its name.
            let result = signal.value().compare_exchange(expected, value, orders.0, orders.1);
            signal.wake();
            result.unwrap_or_else(|before| before)
        }
    )*};
}

compare_exchanges! {
    hsa_signal_cas_relaxed: Relaxed;
    hsa_signal_cas_scacquire: Acquire;
    hsa_signal_cas_acquire: Acquire;
    hsa_signal_cas_screlease: Release;
    hsa_signal_cas_release: Release;
    hsa_signal_cas_scacq_screl: AcqRel;
    hsa_signal_cas_acq_rel: AcqRel;
}

macro_rules! changes {
    ($($name:ident: $operation:ident, $order:ident;)*) => {$(
        pub extern "C" fn $name(signal: hsa_signal_t, value: i64) {
            let signal = known_signal(stringify!($name), signal);
            // The order of its name.
            signal.value().$operation(value, Ordering::$order);
            signal.wake();
        }
    )*};
}

changes! {
    hsa_signal_add_relaxed: fetch_add, Relaxed;
    hsa_signal_add_scacquire: fetch_add, Acquire;
    hsa_signal_add_acquire: fetch_add, Acquire;
    hsa_signal_add_screlease: fetch_add, Release;
    hsa_signal_add_release: fetch_add, Release;
    hsa_signal_add_scacq_screl: fetch_add, AcqRel;
    hsa_signal_add_acq_rel: fetch_add, AcqRel;
    hsa_signal_subtract_relaxed: fetch_sub, Relaxed;
    hsa_signal_subtract_scacquire: fetch_sub, Acquire;
    hsa_signal_subtract_acquire: fetch_sub, Acquire;
    hsa_signal_subtract_screlease: fetch_sub, Release;
    hsa_signal_subtract_release: fetch_sub, Release;
    hsa_signal_subtract_scacq_screl: fetch_sub, AcqRel;
    hsa_signal_subtract_acq_rel: fetch_sub, AcqRel;
    hsa_signal_and_relaxed: fetch_and, Relaxed;
    hsa_signal_and_scacquire: fetch_and, Acquire;
    hsa_signal_and_acquire: fetch_and, Acquire;
    hsa_signal_and_screlease: fetch_and, Release;
    hsa_signal_and_release: fetch_and, Release;
    hsa_signal_and_scacq_screl: fetch_and, AcqRel;
    hsa_signal_and_acq_rel: fetch_and, AcqRel;
    hsa_signal_or_relaxed: fetch_or, Relaxed;
    hsa_signal_or_scacquire: fetch_or, Acquire;
    hsa_signal_or_acquire: fetch_or, Acquire;
    hsa_signal_or_screlease: fetch_or, Release;
    hsa_signal_or_release: fetch_or, Release;
    hsa_signal_or_scacq_screl: fetch_or, AcqRel;
    hsa_signal_or_acq_rel: fetch_or, AcqRel;
    hsa_signal_xor_relaxed: fetch_xor, Relaxed;
    hsa_signal_xor_scacquire: fetch_xor, Acquire;
    hsa_signal_xor_acquire: fetch_xor, Acquire;
    hsa_signal_xor_screlease: fetch_xor, Release;
    hsa_signal_xor_release: fetch_xor, Release;
    hsa_signal_xor_scacq_screl: fetch_xor, AcqRel;
    hsa_signal_xor_acq_rel: fetch_xor, AcqRel;
}
