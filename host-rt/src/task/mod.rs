//! Tasks with dependencies: kernels and copies on devices, functions on the host.
//!
//! ```no_run
//! use revoff_host::{Functions, Grid, Image, Runtime, task};
//!
//! # fn main() -> revoff_host::Result<()> {
//! let runtime = Runtime::open("host")?;
//! let program = runtime.load(&Image::open("libsteps.so")?, &Functions::new())?;
//! let step = program.kernel("step")?;
//! let (x, y) = (runtime.alloc(8000)?, runtime.alloc(8000)?);
//! let grid = Grid { teams: 1, threads: 64 };
//!
//! task::scope(|tasks| {
//!     // SAFETY: `step` reads the first buffer and writes the second, 1000 `u64`s each.
//!     unsafe { tasks.target(&step, grid, (&x, &y, 1000u32)) }.reads(&x).writes(&y).spawn()?;
//!     unsafe { tasks.target(&step, grid, (&y, &x, 1000u32)) }.reads(&y).writes(&x).spawn()?;
//!     let sum = tasks.try_host(|| {
//!         let mut values = vec![0u64; 1000];
//!         x.read(0, &mut values)?;
//!         Ok::<u64, revoff_host::RuntimeError>(values.iter().sum())
//!     });
//!     let sum = sum.reads(&x).named("sum").spawn()?.wait()?;
//!     assert_eq!(sum, 0);
//!     Ok(())
//! })
//! # }
//! ```
//!
//! The second kernel is queued at once, without waiting for the first: the device resolves the
//! dependency. Target tasks depend on *host* tasks by a counter, and on *target* tasks of the same
//! kind of device by events. In the other cases the host waits: a host task for a target task, and
//! a task of one kind of device for one of another, on threads that only wait for the queues of
//! devices.
//!
//! | file | job |
//! |---|---|
//! | `rules` | dependencies between tasks |
//! | `graph` | the graph: starts, ends and failures |
//! | `slab` | storage of the graph |
//! | `work` | the work of a task |
//! | `spans` | spans of tasks, for the log's subscriber |
//! | `pool` | threads that run host tasks |
//! | `queue` | a queue |
//! | `watch` | the thread that waits for its operations |
//! | `devices` | choice of a queue for a target task |
//! | `shared` | the data of a scope, and the tasks that its threads run |
//! | `dispatch` | running ready tasks, and recording their ends |
//! | `wait` | waiting for tasks, and the end of a scope |
//! | `scope`, `spawn`, `args`, `handle`, `group` | the public interface |
//! | `error` | failures of tasks |

mod args;
mod devices;
mod dispatch;
pub(crate) mod error;
mod graph;
mod group;
mod handle;
mod pool;
mod queue;
mod rules;
mod scope;
mod shared;
mod slab;
mod spans;
mod spawn;
mod wait;
mod watch;
mod work;

pub use self::args::{TaskArg, TaskArgs};
pub use self::error::{DependencyError, TaskError, TaskName};
pub use self::graph::{Resolve, Stats};
pub use self::group::Group;
pub use self::handle::TaskHandle;
pub use self::rules::{Access, Locations, merged};
pub use self::scope::{Options, Tasks, scope};
pub use self::spawn::Task;
