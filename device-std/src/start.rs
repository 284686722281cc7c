//! The kernel that runs a program.

use core::ffi::{c_char, c_int};
use core::ptr;

use revoff_device::thread;

use crate::{heap, threads};

unsafe extern "C" {
    /// The program's, made by the compiler: calls Rust's `main`.
    fn main(argc: c_int, argv: *const *const c_char) -> c_int;
}

unsafe extern "Rust" {
    /// The platform layer's: runs the destructors of the thread-local variables of `main`'s thread.
    fn std_end_main();
}

/// Runs the program: [`std_calls::kernel::NAME`] describes the parameters. The builder of the image
/// inserts the code for stacks on GPUs.
///
/// # Safety
/// The memory lives as long as the launch, and nobody else uses it. It is the only launch of the image
/// since it was loaded: variables keep addresses of this memory.
#[revoff_device::kernel]
pub(crate) unsafe fn revoff_main_1(
    heap: *mut u8,
    bytes: u64,
    threads: *mut u8,
    stacks: *mut u8,
    stack_bytes: u64,
    has_statistics: u32,
) {
    let _ = (stacks, stack_bytes);
    if thread::global() != 0 {
        return threads::serve();
    }
    // SAFETY: the caller's promise.
    unsafe {
        heap::open(heap, bytes as usize, has_statistics != 0);
        // Publishes the heap as well: other threads use it only after this.
        threads::open(threads);
    }
    let top = threads::TopOfStack::default();
    threads::set_stack_top(&top);
    // SAFETY: the compiler made it, with this signature. It gets its arguments from the host.
    let status = unsafe { main(0, ptr::null()) };
    // SAFETY: `main` has returned, and this thread runs nothing else of the program.
    unsafe { std_end_main() };
    heap::report();
    // The host reports a failed call; the kernel ends all the same.
    let _ = std_calls::std_exit(status);
    threads::end();
}
