//! Memory pools. All of them are the device's memory.

use std::collections::HashMap;
use std::sync::{LazyLock, Mutex};

use emu_driver::process::{handle, lock};

/// Values of attributes that were set, by pool.
pub(crate) static POOLS: LazyLock<Mutex<HashMap<u64, HashMap<u32, u64>>>> =
    LazyLock::new(Mutex::default);

/// A new pool.
pub(crate) fn new_pool() -> u64 {
    let pool = handle();
    lock(&POOLS).insert(pool, HashMap::new());
    pool
}

/// Removes a pool. Returns whether it was there.
pub(crate) fn remove_pool(pool: u64) -> bool {
    lock(&POOLS).remove(&pool).is_some()
}
