//! An emulated GPU, and how programs in this process add one.

use std::sync::{Arc, Mutex};

use ptx_emu::{Machine, Options};

use crate::context::Context;

/// Receives what the driver says: a line, such as a fault of a kernel.
pub type Report = Arc<dyn Fn(&str) + Send + Sync>;

/// A device.
pub(crate) struct Gpu {
    pub(crate) number: i32,
    pub(crate) machine: Machine,
    pub(crate) report: Report,
    pub(crate) primary: Mutex<Primary>,
}

/// A device's primary context.
#[derive(Default)]
pub(crate) struct Primary {
    /// The number of unreleased retains.
    pub(crate) retained: u32,
    pub(crate) flags: u32,
    pub(crate) context: Option<Arc<Context>>,
}

impl Gpu {
    pub(crate) fn new(number: i32, options: Options, report: Report) -> std::io::Result<Self> {
        Ok(Self {
            number,
            machine: Machine::new(options)?,
            report,
            primary: Mutex::default(),
        })
    }

    /// Major and minor number of the compute capability.
    pub(crate) fn capability(&self) -> (u32, u32) {
        let sm = self.machine.options().sm;
        (sm / 10, sm % 10)
    }

    /// The product's name.
    pub(crate) fn name(&self) -> String {
        format!("emulated sm_{}", self.machine.options().sm)
    }
}
