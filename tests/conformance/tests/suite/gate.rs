//! A gate for host functions and tasks.

use std::sync::{Arc, Condvar, Mutex};

use revoff_host::Functions;

use crate::session::acting;

/// Blocks threads until it is opened.
#[derive(Default)]
pub(crate) struct Gate(Mutex<bool>, Condvar);

impl Gate {
    pub(crate) fn open(&self) {
        *self.0.lock().unwrap() = true;
        self.1.notify_all();
    }

    pub(crate) fn close(&self) {
        *self.0.lock().unwrap() = false;
    }

    pub(crate) fn pass(&self) {
        let mut open = self.0.lock().unwrap();
        while !*open {
            open = self.1.wait(open).unwrap();
        }
    }
}

/// Functions of which `act` returns its argument when the gate is open.
pub(crate) fn acting_behind(gate: &Arc<Gate>) -> Functions {
    let gate = Arc::clone(gate);
    acting(move |what| {
        gate.pass();
        what
    })
}
