//! Copies by the engines of a GPU, which perform them in order, whatever they wait for.
//!
//! | file | job |
//! |---|---|
//! | `work` | one copy |
//! | `engine` | the thread of an engine |

mod engine;
mod work;

pub(crate) use self::engine::{Engine, RunningKernels, copies, hold_copies, release_copies};
pub(crate) use self::work::{Operation, Rect, Side, Work};
