//! What kernels have printed and nobody has looked at when they end.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use shared_abi::wire::{WireKind, gcn_queue};

use super::idle::Idle;
use super::pool::Role;
use super::{Server, Waiting, wire_index};

/// Last looks for what is printed: who watches does those that were asked for.
#[derive(Debug, Default)]
pub(super) struct LastLooks {
    asked: AtomicU64,
    /// Written by who watches.
    done: AtomicU64,
}

impl Server {
    /// Sees to it that everything is printed that kernels have, one of which has ended, or by
    /// `until` what can be.
    pub(crate) fn print_the_rest(&self, until: Option<Instant>) {
        // The wires on which there may be something.
        let shared = &self.wires[wire_index(WireKind::GCN_QUEUE)];
        if shared.get().is_none() && !self.launch_queues.are_used() {
            return;
        }
        // Release: what the kernel did is there for whoever sees the number.
        let look = self.last_looks.asked.fetch_add(1, Ordering::Release) + 1;
        self.bell.ring();
        let mut idle = Idle::new(Waiting::Adaptive);
        // Acquire: what was found, an error perhaps, is there for us.
        while self.last_looks.done.load(Ordering::Acquire) < look {
            // Where all threads are inside of host functions, nobody watches.
            let has_looked = self.with_role(|role| {
                // A panic is one of the application's subscriber, as in `thread`; what
                // it was told of has been passed over.
                let look = AssertUnwindSafe(|| self.print_what_is_asked_for(role));
                if let Err(panic) = catch_unwind(look) {
                    std::mem::forget(panic);
                }
            });
            if has_looked {
                continue;
            }
            if until.is_some_and(|until| Instant::now() >= until) {
                return;
            }
            idle.wait();
        }
    }

    /// Does the last looks that were asked for.
    pub(super) fn print_what_is_asked_for(&self, role: &mut Role) {
        let asked = self.last_looks.asked.load(Ordering::Acquire);
        // Relaxed: only the holder of the role writes it.
        if self.last_looks.done.load(Ordering::Relaxed) == asked {
            return;
        }
        self.meet_sources(role);
        for source in &mut role.sources {
            // What was there at first is among as many as there are slots.
            for _ in 0..gcn_queue::SLOTS {
                let found = source.watcher.poll_text();
                if !self.passed_over(&source.wire, found) {
                    break;
                }
            }
        }
        self.last_looks.done.store(asked, Ordering::Release);
    }
}
