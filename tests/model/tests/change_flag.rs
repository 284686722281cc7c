//! The flag by which wires are added and retired: no announced change is missed. The code is
//! host-rt's, over loom's primitives.

use std::sync::Arc;

use loom::thread;
use model::{Runs, explore};

use self::base::sync::{AtomicBool, Ordering};
use self::change_flag::ChangeFlag;

#[path = "../../../host-rt/src/serve/change_flag.rs"]
mod change_flag;

mod base {
    /// Replaces `base/sync.rs` of host-rt.
    pub(crate) mod sync {
        pub(crate) use loom::sync::atomic::{AtomicBool, Ordering};
    }
}

#[test]
fn a_taken_flag_shows_every_announced_change() {
    explore("two changes, one poller", Runs::All, || {
        let flag = Arc::new(ChangeFlag::new());
        let changes: Arc<[AtomicBool; 2]> = Arc::default();
        let threads = [0, 1].map(|index| {
            let (flag, changes) = (Arc::clone(&flag), Arc::clone(&changes));
            thread::spawn(move || {
                // Relaxed: the flag orders it.
                changes[index].store(true, Ordering::Relaxed);
                flag.set();
            })
        });
        let mut seen = [false; 2];
        let mut poll = || {
            if flag.take() {
                // Relaxed: as above.
                seen = [0, 1].map(|index| changes[index].load(Ordering::Relaxed));
            }
        };
        poll();
        for thread in threads {
            thread.join().expect("it only stores");
        }
        poll();
        assert_eq!(seen, [true; 2], "a change was missed");
    });
}
