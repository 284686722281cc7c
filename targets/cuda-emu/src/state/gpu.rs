//! An emulated GPU, and how programs in this process add one.

use std::sync::{Arc, Mutex};

use ptx_emu::{Machine, Options};

use super::Context;
use super::pools::{new_pool, remove_pool};

/// Receives what the driver says: a line, such as a fault of a kernel.
pub type Report = Arc<dyn Fn(&str) + Send + Sync>;

/// The properties of a GPU that are not those of the machine.
#[derive(Clone)]
pub struct GpuOptions {
    /// Those of the machine.
    pub machine: Options,
    /// Whether programs may rely on nothing that NVIDIA does not promise. Then a context has one copy engine,
    /// which performs the copies of all streams in the order in which they were queued (one that waits for a
    /// kernel delays all later ones), and pinned memory is not zero, as new pages of a system are, and as GCC's
    /// plugin for libgomp expects.
    pub is_strict: bool,
    /// Receives the driver's messages.
    pub report: Report,
}

/// A device.
pub(crate) struct Gpu {
    pub(crate) number: i32,
    pub(crate) machine: Machine,
    pub(crate) is_strict: bool,
    pub(crate) report: Report,
    pub(crate) primary: Mutex<Primary>,
    /// The handle of its default pool.
    pub(crate) default_pool: u64,
    /// The handle of the pool in use.
    pub(crate) pool: Mutex<u64>,
}

/// A device's primary context.
#[derive(Default)]
pub(crate) struct Primary {
    /// The number of unreleased retains.
    pub(crate) retained: u32,
    pub(crate) flags: u32,
    pub(crate) context: Option<Arc<Context>>,
}

impl Drop for Gpu {
    fn drop(&mut self) {
        remove_pool(self.default_pool);
    }
}

impl Gpu {
    pub(crate) fn new(number: i32, options: GpuOptions) -> std::io::Result<Self> {
        let pool = new_pool();
        Ok(Self {
            number,
            default_pool: pool,
            pool: Mutex::new(pool),
            machine: Machine::new(options.machine)?,
            is_strict: options.is_strict,
            report: options.report,
            primary: Mutex::default(),
        })
    }

    /// The number of its architecture: 90 for `sm_90`.
    pub(crate) fn sm(&self) -> u32 {
        self.machine.options().sm
    }

    /// Major and minor number of the compute capability.
    pub(crate) fn capability(&self) -> (u32, u32) {
        (self.sm() / 10, self.sm() % 10)
    }

    /// The product's name.
    pub(crate) fn name(&self) -> String {
        format!("emulated sm_{}", self.sm())
    }
}
