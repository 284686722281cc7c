pub use super::common::Args;
use crate::ffi::OsString;
use crate::sys::pal;

pub fn args() -> Args {
    // A host that has no arguments for the program is like one that starts it with none.
    let list = pal::text(pal::host::std_arguments).unwrap_or_default();
    // SAFETY: any bytes are an `OsString` of this platform.
    let argument = |bytes: &[u8]| unsafe { OsString::from_encoded_bytes_unchecked(bytes.to_vec()) };
    Args::new(pal::elements(&list).map(argument).collect())
}
