pub use super::common::Args;
use crate::sys::pal;

pub fn args() -> Args {
    // A host that has no arguments for the program is like one that starts it with none.
    let list = pal::text(pal::host::std_arguments).unwrap_or_default();
    Args::new(pal::elements(&list).map(|bytes| pal::os_string(bytes.to_vec())).collect())
}
