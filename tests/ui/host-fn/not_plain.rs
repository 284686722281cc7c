//! One of each form, with a type that is not plain data.

/// Holds padding, a `bool` and a pointer, and derives nothing.
pub struct Handle {
    open: bool,
    name: *const u8,
}

revoff_fn::host_functions! {
    /// A value.
    pub fn value(handle: Handle);
}

revoff_fn::host_functions! {
    /// A slice.
    pub fn slice(flags: &[bool]);
}

revoff_fn::host_functions! {
    /// A return type.
    pub fn returned() -> char;
}

fn main() {}
