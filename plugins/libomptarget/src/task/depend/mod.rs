//! Dependences of target tasks that the device resolves.
//!
//! libomp runs a task when everything that it depends on has ended; so a kernel waits on the
//! host for the kernel before it. Where this library stands before libomp, so that programs
//! find the functions of `entry` here, the device waits instead.
//!
//! What a task comes after is worked out here, for the children of each task by themselves,
//! and libomp is told in terms of *places*, addresses that nobody has. A task writes a place
//! of its own, and reads those of the tasks that it has to come after.
//!
//! A target task has two. libomp's task writes the first, and has ended when its kernel is in
//! a queue; a *companion*, a task that is made beside it, reads that, and writes the second
//! when the kernel has ended. A task that is known to put a kernel into a queue reads the first
//! place of target tasks, and what is in flight then its queue waits for; everybody else, and
//! its companion, reads the second. So whoever waits on the host (`taskwait`, barriers, tasks of
//! the host, constructs that copy) waits for the kernel's end, by libomp's own means and without
//! a thread, and failures are told in the order of the dependences.
//!
//! What a task does is known from the last that had the same function. A kernel goes into its
//! queue like that only if its construct neither copies nor allocates nor frees, and all that
//! are in flight before it are such. Where that does not hold although it did the last time,
//! the thread that runs the task waits for what is in flight before it, and tasks like it are
//! no longer taken for such. A thread waits for nothing but what is in a queue already.
//!
//! | module | job |
//! |---|---|
//! | `entry` | the functions that stand before libomp's |
//! | `host` | tasks of the host's work, and waits |
//! | `lists` | what programs say that a task depends on |
//! | `siblings` | the children of each task, and which come after which |
//! | `record` | a task with dependences |
//! | `run` | what is done when libomp runs one |
//! | `kinds` | what is known of a task before it has dependences |
//! | `places` | addresses that nobody has |
//! | `stats` | who has resolved how many |

mod entry;
mod host;
mod kinds;
mod lists;
mod places;
mod record;
mod run;
mod siblings;
mod stats;

pub(crate) use self::host::{run_as_task, wait_for_dependences};
pub(crate) use self::run::{Current, current, forget_routines};
pub(crate) use self::stats::tell;
