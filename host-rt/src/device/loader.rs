//! The system's loader.

/// The system loader's reason why a library cannot be loaded or a symbol is missing: `libloading`'s
/// errors say only "dlopen failed", and have the reason as their source.
pub(super) fn loader_reason(error: &dyn std::error::Error) -> String {
    match error.source() {
        Some(source) => source.to_string(),
        None => error.to_string(),
    }
}

/// `reason` without the library's name at its start, for messages that name it.
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
