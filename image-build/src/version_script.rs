//! Shared objects whose symbols have versions. Cargo writes version scripts itself, and linkers take only one,
//! so such an object is linked from a static library.

use std::path::Path;
use std::process::Command;

use crate::error::{BuildError, io_at};

/// An option for objects that are never unloaded, because their threads outlive any call.
pub(crate) const STAYS_LOADED: &str = "-Wl,-z,nodelete";

/// The system's libraries that the standard library needs.
const SYSTEM: [&str; 6] = ["-lgcc_s", "-lutil", "-lrt", "-lpthread", "-lm", "-ldl"];

/// Makes a static library the shared object `to`, called `name`, whose symbols have the versions of a script.
/// `options` are more options for `cc`.
///
/// # Errors
/// `cc` is missing, or fails.
pub(crate) fn link_with_versions(
    library: &Path,
    script: &Path,
    name: &str,
    options: &[&str],
    to: &Path,
) -> Result<(), BuildError> {
    let mut cc = Command::new("cc");
    cc.args(["-shared", "-Wl,--gc-sections", "-Wl,--whole-archive"]);
    cc.arg(library).arg("-Wl,--no-whole-archive");
    cc.arg(format!("-Wl,-soname,{name}"));
    cc.arg(format!("-Wl,--version-script={}", script.display()));
    cc.args(options).args(SYSTEM).arg("-o").arg(to);
    let status = cc.status().map_err(io_at(Path::new("cc")))?;
    if !status.success() {
        return Err(BuildError::Request(format!(
            "{} was not linked: cc has said why",
            to.display()
        )));
    }
    Ok(())
}
