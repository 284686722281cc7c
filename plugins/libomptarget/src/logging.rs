//! What the libraries log, for those who ask by `REVOFF_LOG`.

use std::sync::Once;

/// What is shown of what the libraries log.
const LOG: &str = "REVOFF_LOG";

/// Shows it on standard error, unless the program has a subscriber of its own.
pub(crate) fn start() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        if std::env::var_os(LOG).is_some_and(|filter| !filter.is_empty()) {
            let filter = tracing_subscriber::EnvFilter::from_env(LOG);
            let shown = tracing_subscriber::fmt()
                .with_env_filter(filter)
                .with_writer(std::io::stderr);
            let _ = shown.try_init();
        }
    });
}
