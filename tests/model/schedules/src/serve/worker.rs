//! Serving one request: the steps of host-rt's worker that other threads notice.

use std::sync::Arc;

use super::Server;
use super::call_context::{CallContext, CallGuard};
use super::call_state::CallState;
use super::poller::Found;
use crate::base::sync::{AtomicU32, Mutex, Ordering, lock};
use crate::wire::{Call, Status};

/// The call that a worker serves.
pub(super) struct Record {
    call: Mutex<Option<Arc<Call>>>,
    launch: AtomicU32,
    state: CallState,
}

impl Record {
    /// Completes the call if its function runs and it belongs to the launch.
    pub(super) fn abort(&self, key: u32) {
        let Some(running) = self.state.running() else {
            return;
        };
        let call = lock(&self.call).clone();
        // Relaxed: as in host-rt, `state` orders it.
        let is_chosen = self.launch.load(Ordering::Relaxed) == key;
        if is_chosen && self.state.abort(running) {
            call.expect("a call runs").complete(Status::Aborted);
        }
    }
}

pub(super) struct Worker(Arc<Record>);

impl Worker {
    pub(super) fn new(server: &Server, _keep_bytes: usize) -> Self {
        let record = Arc::new(Record {
            call: Mutex::new(None),
            launch: AtomicU32::new(0),
            state: CallState::new(),
        });
        lock(&server.requests.records).push(Arc::clone(&record));
        Self(record)
    }

    pub(super) fn serve(&mut self, server: &Arc<Server>, found: Found) {
        server.wait_for_text_before(&found);
        let request = found.request;
        // Relaxed: as in host-rt.
        if server.requests.refusing.load(Ordering::Relaxed) {
            return request.complete(Status::ShuttingDown);
        }
        let launch = request.launch();
        if server.requests.launches.is_aborted(launch) {
            return request.complete(Status::Aborted);
        }
        let in_function = server.enter_function(request.call().is_slow);
        let context = CallGuard::enter(CallContext { launch });
        let Self(record) = self;
        *lock(&record.call) = Some(Arc::clone(request.call()));
        record.launch.store(launch, Ordering::Relaxed);
        record.state.begin();
        // Again: see `CallState::begin`.
        let mut status = Status::Aborted;
        if !server.requests.launches.is_aborted(launch) {
            let call = request.call();
            call.runs.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            (call.function)();
            status = Status::Done;
        }
        let is_ours = record.state.end();
        drop((context, in_function));
        match is_ours {
            true => request.complete(status),
            false => request.forget(),
        }
    }
}
