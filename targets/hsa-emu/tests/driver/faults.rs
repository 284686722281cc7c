//! Memory faults, and the process that ends without a handler for them.

use std::ffi::c_void;
use std::process::Command;
use std::sync::Mutex;

use hsa_runtime_sys::*;

use crate::gpu::{Gpu, cpu, free, function, hsa, signal, works};
use crate::queue::{Kernels, Queue, dispatch};

/// The events of this process: agents, addresses and reasons.
static EVENTS: Mutex<Vec<(u64, u64, u32)>> = Mutex::new(Vec::new());

type Callback = unsafe extern "C" fn(*const hsa_amd_event_t, *mut c_void) -> hsa_status_t;

unsafe extern "C" fn on_event(event: *const hsa_amd_event_t, _: *mut c_void) -> hsa_status_t {
    // SAFETY: an event of a memory fault, alive while this runs.
    let fault = unsafe { (*event).__bindgen_anon_1.memory_fault };
    let mut events = EVENTS.lock().unwrap();
    events.push((
        fault.agent.handle,
        fault.virtual_address,
        fault.fault_reason_mask,
    ));
    HSA_STATUS_SUCCESS
}

/// Stores to an address; returns the queue.
fn store_to(gpu: &Gpu, kernels: &Kernels, address: u64) -> Queue {
    let arguments = gpu.alloc_shared(16);
    // SAFETY: of this size, and unused.
    unsafe { arguments.cast::<[u64; 2]>().write([address, 1]) };
    let queue = Queue::new(gpu, 4);
    queue.push(&dispatch(kernels.object("store"), arguments, signal(1)));
    queue
}

#[test]
fn memory_faults_are_events() {
    works_once();
    let addresses = |gpu: &Gpu, kernels: &Kernels| {
        let freed = gpu.alloc(16);
        works(free(freed));
        let hidden = crate::gpu::alloc(crate::gpu::pool_of(cpu(), crate::gpu::FINE), 16);
        [
            (
                gpu.alloc(16).wrapping_byte_add(16),
                "right beyond the end of an allocation of 16",
            ),
            (
                gpu.alloc(12).wrapping_byte_add(8),
                "8 bytes past the start of an allocation of 12",
            ),
            (freed, "inside an allocation of 16 bytes that was freed"),
            (hidden, "may not access: call hsa_amd_agents_allow_access"),
            (kernels.address("constant"), "can only read"),
            (0x1_0000 as *mut c_void, "locked (hsa_amd_memory_lock)"),
        ]
    };
    for case in 0..6 {
        let gpu = Gpu::new();
        let Some(kernels) = Kernels::load(&gpu) else {
            return;
        };
        let (address, text) = addresses(&gpu, &kernels)[case];
        let address = match case {
            // Words are aligned.
            4 => address.addr() as u64 & !7,
            _ => address.addr() as u64,
        };
        let queue = store_to(&gpu, &kernels, address);
        let reason = match case {
            4 => HSA_AMD_MEMORY_FAULT_READ_ONLY,
            _ => HSA_AMD_MEMORY_FAULT_PAGE_NOT_PRESENT,
        };
        let expected = (gpu.agent.handle, address, reason.cast_unsigned());
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(20);
        while !EVENTS.lock().unwrap().contains(&expected) {
            assert!(std::time::Instant::now() < deadline, "no event for {text}");
            std::thread::yield_now();
        }
        assert!(gpu.has_said(text), "{text}: {:?}", gpu.said);
        assert_eq!(queue.failure(), 0, "the event is all");
    }
}

/// Registers the handler of this process.
fn works_once() {
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| {
        let _gpu = Gpu::new();
        works(hsa!(hsa_amd_register_system_event_handler(
            on_event => Callback, std::ptr::null_mut() => *mut c_void
        )));
    });
}

/// The variable that says what a child process does.
const CHILD: &str = "HSA_EMU_TEST_CHILD";

/// Runs a test of this program by itself, as a child; returns what it has written, and whether it was aborted.
fn child(test: &str, what: &str) -> (String, bool) {
    use std::os::unix::process::ExitStatusExt;

    let mut command = Command::new(std::env::current_exe().expect("this test's path"));
    command
        .args([test, "--exact", "--nocapture"])
        .env(CHILD, what);
    let output = command.output().expect("a child");
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    (text, output.status.signal() == Some(libc::SIGABRT))
}

#[test]
fn without_a_handler_the_process_ends() {
    if std::env::var_os(CHILD).is_some() {
        let gpu = Gpu::new();
        let Some(kernels) = Kernels::load(&gpu) else {
            return;
        };
        let _queue = store_to(&gpu, &kernels, 0x1_0000);
        std::thread::sleep(std::time::Duration::from_secs(20));
        return;
    }
    if crate::assemble::kernels().is_none() {
        return;
    }
    let (text, is_aborted) = child("faults::without_a_handler_the_process_ends", "fault");
    assert!(is_aborted, "{text}");
    assert_eq!(text.matches("kernel `store`").count(), 1, "{text}");
    assert!(text.contains("gfx90a` at 0x10000: no handler"), "{text}");
}

#[test]
fn a_handle_that_does_not_exist_ends_the_process() {
    let never = hsa_signal_t { handle: 0x1240 };
    match std::env::var(CHILD).as_deref() {
        Err(_) => {}
        Ok("signal") => {
            let _gpu = Gpu::new();
            let load: extern "C" fn(hsa_signal_t) -> i64 = function("hsa_signal_load_relaxed");
            load(never);
        }
        Ok(_) => {
            let _gpu = Gpu::new();
            let load: extern "C" fn(*const c_void) -> u64 =
                function("hsa_queue_load_read_index_relaxed");
            load(0x1240 as *const c_void);
        }
    }
    if std::env::var_os(CHILD).is_some() {
        return;
    }
    for (what, expected) in [
        (
            "signal",
            "hsa_signal_load_relaxed: signal 0x1240 does not exist",
        ),
        (
            "queue",
            "hsa_queue_load_read_index_relaxed: queue 0x1240 does not exist",
        ),
    ] {
        let (text, is_aborted) = child(
            "faults::a_handle_that_does_not_exist_ends_the_process",
            what,
        );
        assert!(is_aborted && text.contains(expected), "{text}");
    }
}
