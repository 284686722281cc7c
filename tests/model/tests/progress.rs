//! Rule 2 of the serving threads, alone and in every interleaving: a request is noticed by the
//! standby at its tick, or the thread that took it notices that the standby has stopped to tick.

/// Replaces `serve/sync.rs` of host-rt.
mod sync {
    pub(crate) use loom::sync::atomic::{AtomicU64, Ordering};
}

#[path = "../../../host-rt/src/serve/threads"]
mod threads {
    use std::sync::Arc;

    use model::{Runs, explore};

    use self::progress::Progress;

    #[expect(dead_code, reason = "one race is modelled")]
    mod progress;

    #[test]
    fn a_tick_meets_a_request() {
        explore("standby, a tick meets a request", Runs::All, || {
            let progress = Arc::new(Progress::new());
            progress.start_ticking();
            let poller = {
                let progress = Arc::clone(&progress);
                loom::thread::spawn(move || {
                    progress.count();
                    progress.is_ticking()
                })
            };
            let has_stopped = progress.stop_ticking_at(0);
            let relies_on_it = poller.join().expect("the poller has failed");
            assert!(!(has_stopped && relies_on_it));
        });
    }
}
