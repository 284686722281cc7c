//! Aborted calls: one thread completes each, and it completes the call whose record it has read. The
//! code is host-rt's, over loom's primitives.

use std::sync::Arc;

use loom::sync::atomic::{AtomicBool, AtomicU32};
use loom::thread;
use model::{Runs, explore};

use self::base::sync::Ordering::{Relaxed, SeqCst};
use self::call_state::CallState;

#[path = "../../../host-rt/src/serve/call_state.rs"]
#[expect(dead_code, reason = "only messages need to know aborted calls")]
mod call_state;

mod base {
    /// Replaces `base/sync.rs` of host-rt.
    pub(crate) mod sync {
        pub(crate) use loom::sync::atomic::{AtomicU64, Ordering, fence};
    }
}

/// Runs calls 1 to `calls` while `aborting` threads each try once to abort one.
fn explore_calls(name: &str, calls: u32, aborting: usize) {
    explore(name, Runs::All, move || {
        let state = Arc::new(CallState::new());
        // Two words, so that a mix of two records shows.
        let record: Arc<[AtomicU32; 2]> = Arc::default();
        let threads: Vec<_> = (0..aborting)
            .map(|_| {
                let (state, record) = (Arc::clone(&state), Arc::clone(&record));
                thread::spawn(move || {
                    let call = state.running()?;
                    let words = [0, 1].map(|word: usize| record[word].load(Relaxed));
                    state.abort(call).then_some(words)
                })
            })
            .collect();
        let mut completed = vec![0; calls as usize];
        for (call, completed) in (1..).zip(&mut completed) {
            record.iter().for_each(|word| word.store(call, Relaxed));
            state.begin();
            *completed += u32::from(state.end());
        }
        for thread in threads {
            if let Some([first, second]) = thread.join().expect("no assertion in it") {
                assert_eq!(first, second, "a record of two calls");
                completed[first as usize - 1] += 1;
            }
        }
        assert!(completed.iter().all(|&times| times == 1), "{completed:?}");
    });
}

#[test]
fn one_thread_completes_each_call() {
    explore_calls("two calls, a thread that aborts one", 2, 1);
    explore_calls("a call, two threads that abort it", 1, 2);
}

/// A call that begins while its launch is aborted is noticed by one side.
#[test]
fn no_call_is_missed() {
    explore("a call, a thread that aborts its launch", Runs::All, || {
        let state = Arc::new(CallState::new());
        let is_aborted = Arc::new(AtomicBool::new(false));
        let (calls, flag) = (Arc::clone(&state), Arc::clone(&is_aborted));
        let aborting = thread::spawn(move || {
            flag.store(true, Relaxed);
            // As `Launches::abort`.
            base::sync::fence(SeqCst);
            calls.running().is_some()
        });
        state.begin();
        let begins = !is_aborted.load(Relaxed);
        let is_found = aborting.join().expect("no assertion in it");
        assert!(!begins || is_found, "a call that nobody aborts");
    });
}
