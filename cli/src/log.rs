//! The runtime's events, on the standard error.

use std::env;
use std::io::{self, IsTerminal};

use anyhow::anyhow;
use tracing_subscriber::EnvFilter;

/// The variable that says which events are shown; none if it is not set, or empty.
const LOG: &str = "REVOFF_LOG";

/// Shows events from now on.
pub(crate) fn start() -> anyhow::Result<()> {
    let value = env::var_os(LOG).unwrap_or_default();
    let value = value.to_string_lossy();
    let wanted = if value.is_empty() { "off" } else { &*value };
    let filter = EnvFilter::try_new(wanted).map_err(|error| {
        anyhow!("environment variable {LOG}={value:?}: a level expected, such as debug ({error})")
    })?;
    // Who asks for no colours asks by this variable: https://no-color.org.
    let wants_colours = env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    tracing_subscriber::fmt()
        .with_writer(io::stderr)
        .with_ansi(wants_colours && io::stderr().is_terminal())
        .with_env_filter(filter)
        .init();
    Ok(())
}
