//! Resources of the process are counted, and given back by the last `hsa_shut_down`. One test: the count is the
//! process's.

use std::ffi::c_void;
use std::ptr::{null, null_mut};
use std::sync::Arc;

use hsa_emu::{GpuOptions, Options, counts};
use hsa_runtime_sys::*;

/// The functions that host-rt calls.
fn runtime() -> Rocr {
    // SAFETY: they are the emulated runtime's.
    let rocr = unsafe { Rocr::linked_in(hsa_emu::functions::function) };
    rocr.unwrap_or_else(|error| panic!("{error}"))
}

/// Calls a function with valid arguments.
macro_rules! call {
    ($rocr:ident.$name:ident($($argument:expr),*)) => {{
        // SAFETY: the arguments are valid, as the function requires.
        unsafe { $rocr.$name($($argument),*) }
    }};
}

fn works(status: hsa_status_t) {
    assert_eq!(status, HSA_STATUS_SUCCESS, "a status");
}

#[test]
fn resources_are_counted_and_given_back() {
    let rocr = runtime();
    let mut signal = hsa_signal_t { handle: 0 };
    let create = |signal: &mut hsa_signal_t| call!(rocr.hsa_signal_create(1, 0, null(), signal));
    assert_eq!(create(&mut signal), HSA_STATUS_ERROR_NOT_INITIALIZED);
    let added = hsa_emu::add_gpu(GpuOptions {
        machine: Options::default(),
        memory: 1 << 20,
        is_strict: true,
        report: Arc::new(|_| ()),
    });
    let number = added.expect("a GPU");
    let agent = hsa_agent_t {
        handle: hsa_emu::agent_of(number),
    };
    works(call!(rocr.hsa_init()));
    works(call!(rocr.hsa_init()));
    assert_eq!(counts().held, 0);
    works(create(&mut signal));
    let mut queue = null_mut();
    works(call!(rocr.hsa_queue_create(
        agent,
        4,
        0,
        None,
        null_mut(),
        0,
        0,
        &raw mut queue
    )));
    let mut executable = hsa_executable_t { handle: 0 };
    works(call!(rocr.hsa_executable_create_alt(
        0,
        0,
        null(),
        &raw mut executable
    )));
    let mut pools: Vec<hsa_amd_memory_pool_t> = Vec::new();
    unsafe extern "C" fn collect(pool: hsa_amd_memory_pool_t, pools: *mut c_void) -> hsa_status_t {
        // SAFETY: the test's vector.
        unsafe { (*pools.cast::<Vec<hsa_amd_memory_pool_t>>()).push(pool) };
        HSA_STATUS_SUCCESS
    }
    let data = (&raw mut pools).cast();
    works(call!(rocr.hsa_amd_agent_iterate_memory_pools(
        agent,
        Some(collect),
        data
    )));
    let mut memory = null_mut();
    works(call!(rocr.hsa_amd_memory_pool_allocate(
        pools[0],
        64,
        0,
        &raw mut memory
    )));
    assert_eq!(counts().held, 4, "a signal, a queue, an executable, memory");
    works(call!(rocr.hsa_executable_destroy(executable)));
    assert_eq!(counts().held, 3);
    works(call!(rocr.hsa_shut_down()));
    assert_eq!(counts().held, 3, "it is used once more");
    works(call!(rocr.hsa_shut_down()));
    assert_eq!(counts().held, 0);
    assert_eq!(
        call!(rocr.hsa_shut_down()),
        HSA_STATUS_ERROR_NOT_INITIALIZED
    );
    works(call!(rocr.hsa_init()));
    assert_eq!(
        call!(rocr.hsa_signal_destroy(signal)),
        HSA_STATUS_ERROR_INVALID_SIGNAL
    );
    hsa_emu::remove_gpu(number);
    assert_eq!(
        call!(rocr.hsa_amd_memory_pool_allocate(pools[0], 64, 0, &raw mut memory)),
        HSA_STATUS_ERROR_INVALID_MEMORY_POOL
    );
}
