//! Kernels that are C functions, which run on the caller's thread.

use std::fmt;
use std::sync::Mutex;

use corosensei::stack::DefaultStack;
use shared_abi::host_arch::ThreadContext;

use super::{HostDevice, active_launches, c_call, lock, thread};
use crate::device::{BlockShape, DeviceError, InlineCall, InlineLaunch, Outcome};

/// The stack of a kernel that can call the host, of the usual size for threads. Its pages are
/// allocated when they are touched.
const STACK: usize = 8 << 20;

/// Unused stacks, kept because creating one takes longer than many kernels. There are as many as
/// kernels have run at the same time.
#[derive(Default)]
pub(super) struct Stacks(Mutex<Vec<DefaultStack>>);

impl Stacks {
    fn take(&self) -> Result<DefaultStack, DeviceError> {
        if let Some(stack) = lock(&self.0).pop() {
            return Ok(stack);
        }
        DefaultStack::new(STACK).map_err(|reason| DeviceError::System {
            what: format!("reserving {STACK} bytes for a kernel's stack"),
            reason,
        })
    }

    fn give_back(&self, stack: DefaultStack) {
        lock(&self.0).push(stack);
    }
}

/// A kernel and its words, for the message of a signal handler: valid while the kernel runs.
struct Launched {
    name: *const str,
    words: *const [u64],
}

impl fmt::Display for Launched {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // SAFETY: the handler calls this on the thread that runs the kernel, during `run`, whose
        // argument keeps both alive.
        let (name, words) = unsafe { (&*self.name, &*self.words) };
        write!(f, "kernel `{name}`, run with the words")?;
        words.iter().try_for_each(|word| write!(f, " {word:#x}"))
    }
}

impl InlineLaunch for HostDevice {
    unsafe fn run(&self, run: InlineCall<'_>) -> Result<Outcome, DeviceError> {
        if (run.grid.teams, run.grid.threads) != (1, 1) {
            let reason = "a kernel of words runs once, on the thread of its caller";
            return Err(run.grid.bad(reason));
        }
        if run.block != BlockShape::default() {
            let reason = "its one device thread is no lane, and has no shared memory";
            return Err(run.grid.bad(reason));
        }
        let call = c_call::call_with(run.words.len()).ok_or(DeviceError::TooManyWords {
            device: "host",
            words: run.words.len(),
            most: c_call::MAX_WORDS,
        })?;
        let (code, words) = (run.kernel.address.0, run.words.as_ptr());
        let Some(caller) = run.caller else {
            // SAFETY: the module has found code at the address, and the caller vouches that the
            // function takes these words; `call` is the one for their number.
            unsafe { call(code, words) };
            return Ok(Ok(()));
        };
        let context = ThreadContext {
            team: 0,
            teams: 1,
            thread: 0,
            threads: 1,
            launch: caller.key,
            reserved: 0,
            stack_low: 0,
            stack_high: 0,
        };
        let stack = self.stacks.take()?;
        let active = active_launches::begin(caller.key, &caller.wake_host);
        // SAFETY: the module has found code at the address, and the caller vouches that the
        // function takes these words; `call` is the one for their number.
        let kernel = move || unsafe { call(code, words) };
        let launched = Launched {
            name: run.name,
            words: run.words,
        };
        // SAFETY: the caller vouches for the function's frames, too; `launched` and its pointers
        // outlive the call.
        let (stack, result) = unsafe {
            thread::run(
                kernel,
                &raw const launched,
                context,
                &caller.wake_host,
                stack,
            )
        };
        drop(active);
        self.stacks.give_back(stack);
        Ok(result)
    }
}
