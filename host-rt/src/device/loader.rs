//! The system's loader.

/// Why a library does not load, or a symbol is not found, in the loader's own words: those of
/// `libloading` are "dlopen failed", and the reason is its source.
pub(super) fn loader_reason(error: &dyn std::error::Error) -> String {
    match error.source() {
        Some(source) => source.to_string(),
        None => error.to_string(),
    }
}

/// `reason` without the name of the library that it begins with, for messages that name it.
pub(super) fn without<'a>(library: &str, reason: &'a str) -> &'a str {
    let rest = reason.strip_prefix(library);
    rest.and_then(|rest| rest.strip_prefix(": "))
        .unwrap_or(reason)
}

#[cfg(test)]
mod tests {
    use super::without;

    #[test]
    fn a_library_is_named_once() {
        let library = "libcuda.so.1";
        let reason = "cannot open shared object file";
        assert_eq!(without(library, &format!("{library}: {reason}")), reason);
        assert_eq!(without(library, "libdl.so: too old"), "libdl.so: too old");
    }
}
