//! How a device is to be opened.

use std::sync::Arc;

use crate::base::env::Env;

/// Options of a device beyond its name.
pub(crate) struct OpenOptions<'a> {
    /// What the environment says.
    pub(crate) env: &'a Env,
    /// The device thread to follow.
    pub(crate) trace: Option<&'a Trace>,
}

/// A device thread, each instruction of which is told.
#[derive(Clone)]
pub struct Trace {
    /// The team's number.
    pub team: u32,
    /// The thread's number in the team.
    pub thread: u32,
    /// Takes a line for each instruction, from any thread.
    pub sink: Arc<dyn Fn(&str) + Send + Sync>,
}

impl std::fmt::Debug for Trace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Trace(team {}, thread {})", self.team, self.thread)
    }
}
