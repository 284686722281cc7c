//! An executor for asynchronous host functions.

use revoff_fn::BoxFuture;
use revoff_host::Spawn;
use tokio::runtime::Runtime;

/// An executor with one thread.
pub(crate) fn executor() -> Runtime {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    builder.worker_threads(1).enable_time().build().unwrap()
}

/// Runs calls on it.
pub(crate) fn on(executor: &Runtime) -> impl Spawn {
    let handle = executor.handle().clone();
    move |call: BoxFuture<'static, ()>| drop(handle.spawn(call))
}
