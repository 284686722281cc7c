//! Numbers that kernels print.

/// `%ld\n`.
pub(crate) fn integer_line(value: i64) -> String {
    format!("{value}\n")
}

/// `%f\n`.
pub(crate) fn double_line(value: f64) -> String {
    if value.is_nan() {
        let sign = if value.is_sign_negative() { "-" } else { "" };
        format!("{sign}nan\n")
    } else {
        format!("{value:.6}\n")
    }
}
