//! Rule 2 of the serving threads in every interleaving: either the standby notices a request at its
//! tick, or the thread that took the request notices that the standby has stopped ticking.

mod base {
    /// Replaces `base/sync.rs` of host-rt.
    pub(crate) mod sync {
        pub(crate) use loom::sync::atomic::{AtomicU64, Ordering};
    }
}

#[path = "../../../host-rt/src/serve/threads"]
mod threads {
    use std::sync::Arc;

    use model::{Runs, explore};

    use self::progress::Progress;

    #[expect(dead_code, reason = "one race is modelled")]
    mod progress;

    #[test]
    fn a_tick_races_with_a_request() {
        explore("standby, a tick and a request", Runs::All, || {
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
            let relies_on_standby = poller.join().expect("the poller has failed");
            assert!(!(has_stopped && relies_on_standby));
        });
    }
}
