//! Options of opening a device.

use std::sync::Arc;

use bus_cost::CountCosts;

use crate::base::env::Env;

/// Options of a device beyond its name.
pub(crate) struct OpenOptions<'a> {
    /// The environment's settings.
    pub(crate) env: &'a Env,
    /// The device thread to trace.
    pub(crate) trace: Option<&'a Trace>,
    /// The stack of a device thread of `host`, in bytes, instead of what the environment says.
    pub(crate) host_stack: Option<u64>,
    /// Whether to count what kernels do on the bus.
    pub(crate) costs: Option<&'a CountCosts>,
}

/// A device thread whose instructions are traced.
#[derive(Clone)]
pub struct Trace {
    /// The team's number.
    pub team: u32,
    /// The thread's number in the team.
    pub thread: u32,
    /// Receives a line for each instruction, from any thread.
    pub sink: Arc<dyn Fn(&str) + Send + Sync>,
}

impl std::fmt::Debug for Trace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Trace(team {}, thread {})", self.team, self.thread)
    }
}
