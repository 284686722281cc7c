//! Dependences of target tasks that the device resolves.
//!
//! libomp runs a task when all of its predecessors have ended, so a kernel waits on the host for
//! the kernel before it. If this library is loaded before libomp, programs call the functions of
//! `interpose`, and the device waits instead.
//!
//! This module computes the predecessors of a task among its siblings, and passes them to libomp
//! as dependences on *task addresses*, which are not addresses of memory. A task writes an address
//! of its own, and reads those of its predecessors.
//!
//! A target task has two. libomp's task writes the first, and ends when its kernel is in a queue.
//! A *companion*, a second task, reads the first and writes the second when the kernel has ended.
//! A task that is known to enqueue a kernel reads the first address of target tasks, and its queue
//! waits for the kernels in flight; every other task, and its companion, reads the second. So
//! waits on the host (`taskwait`, barriers, tasks of the host, constructs that copy) last until
//! the kernel's end, by libomp's own means and without a thread, and failures are reported in the
//! order of the dependences.
//!
//! The behaviour of a task is predicted from the last one with the same function. A kernel is
//! enqueued in this way only if its construct neither copies nor allocates nor frees, and its
//! predecessors in flight are of that kind. If the prediction is wrong, the thread that runs the
//! task waits for the kernels in flight before it, and the prediction for such tasks changes. A
//! thread waits only for kernels that are in a queue already.
//!
//! | module | job |
//! |---|---|
//! | `host` | the host's work as tasks, and waits for dependences |
//! | `interpose` | functions that replace libomp's |
//! | `run` | running tasks with dependences |
//! | `launching` | predictions of tasks |
//! | `siblings` | the children of each task, and their predecessors |
//! | `record` | a task with dependences |
//! | `lists` | the dependences of a task |
//! | `kind` | the kind of a task |
//! | `address` | addresses that represent tasks |
//! | `stats` | counts of resolved dependences |

mod address;
mod host;
mod interpose;
mod kind;
mod launching;
mod lists;
mod record;
mod run;
mod siblings;
mod stats;

pub(crate) use self::host::{run_as_task, wait_for_dependences};
pub(crate) use self::launching::forget_routines;
pub(crate) use self::run::{CurrentTask, current};
pub(crate) use self::stats::report_stats;
