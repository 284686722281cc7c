//! The system's loader.

/// Why a library does not load, or a symbol is not found, in the loader's own words: those of
/// `libloading` are "dlopen failed", and the reason is its source.
pub(super) fn loader_reason(error: &dyn std::error::Error) -> String {
    match error.source() {
        Some(source) => source.to_string(),
        None => error.to_string(),
    }
}
