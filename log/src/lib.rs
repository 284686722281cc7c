//! Shows the libraries' log on the standard error: for programs, and for plugins of programs that
//! do not know of it. Libraries themselves never print.

use std::env::{self, VarError};
use std::io::{self, IsTerminal};

use tracing_subscriber::Layer;
use tracing_subscriber::filter::{ParseError, Targets};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{fmt, registry};

/// The variable with the filter; empty for no output.
const LOG: &str = "REVOFF_LOG";

/// The environment's filter is invalid.
#[derive(Debug, thiserror::Error)]
#[error("environment variable {LOG}={value:?}: a level expected, such as debug ({reason})")]
pub struct FilterError {
    /// The value.
    value: String,
    /// The reason.
    reason: ParseError,
}

/// Shows the log by the filter in the environment, or by `unset` if there is none, and writes the timeline and
/// the metrics that the environment asks for, unless the program has installed a subscriber.
///
/// # Errors
/// The environment's filter is invalid. Nothing is shown then.
pub fn show(unset: Option<&str>) -> Result<(), FilterError> {
    let filter = filter(env::var(LOG), unset)?;
    let telemetry = revoff_telemetry::layer();
    if filter.is_none() && telemetry.is_none() {
        return Ok(());
    }
    // This variable turns colours off: https://no-color.org.
    let wants_colours = env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    let lines = fmt::layer()
        .with_writer(io::stderr)
        .with_ansi(wants_colours && io::stderr().is_terminal());
    let lines = filter.map(|filter| lines.with_filter(filter));
    // Fails if the program has a subscriber, which stays.
    let _ = registry().with(lines).with(telemetry).try_init();
    Ok(())
}

/// The filter for a value of the variable.
fn filter(
    value: Result<String, VarError>,
    unset: Option<&str>,
) -> Result<Option<Targets>, FilterError> {
    let text = match value {
        Ok(text) => text,
        Err(VarError::NotPresent) => unset.unwrap_or_default().to_owned(),
        Err(VarError::NotUnicode(bytes)) => bytes.to_string_lossy().into_owned(),
    };
    if text.is_empty() {
        return Ok(None);
    }
    let filter = text.parse::<Targets>();
    filter.map(Some).map_err(|reason| FilterError {
        value: text,
        reason,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Result<Option<String>, FilterError> {
        let filter = filter(Ok(text.to_owned()), Some("warn"))?;
        Ok(filter.map(|filter| filter.to_string()))
    }

    #[test]
    fn nothing_is_shown_unless_somebody_asks() {
        assert_eq!(of("").unwrap(), None);
        assert!(matches!(filter(Err(VarError::NotPresent), None), Ok(None)));
        let shown = filter(Err(VarError::NotPresent), Some("warn")).unwrap();
        assert_eq!(
            shown.map(|shown| shown.to_string()),
            Some("warn".to_owned())
        );
        assert_eq!(of("debug").unwrap().as_deref(), Some("debug"));
    }

    #[test]
    fn what_is_no_filter_is_named() {
        let error = of("nonsense===").unwrap_err().to_string();
        let texts = ["REVOFF_LOG=\"nonsense===\"", "such as debug"];
        assert!(texts.iter().all(|text| error.contains(text)), "{error}");
    }
}
