//! The target specifications: the compiler's own, with another operating system.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};
use targets::arch::Arch;

use crate::device::Toolchain;
use crate::error::{BuildError, io_at};

/// The name of the operating system, in `cfg(target_os)`.
const OS: &str = "revoff";

/// The kind of device that a program is built for.
#[derive(Clone, Copy, Debug)]
pub enum StdTarget {
    /// The `host` device of this machine.
    Host,
    /// A GPU.
    Gpu(&'static Arch),
}

impl StdTarget {
    /// Its name: "host", "sm_70".
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            StdTarget::Host => "host",
            StdTarget::Gpu(arch) => arch.name,
        }
    }

    /// The target of the compiler that it is derived from.
    fn base(self, toolchain: &Toolchain) -> &str {
        match self {
            StdTarget::Host => toolchain.host(),
            StdTarget::Gpu(arch) => arch.target.rust_triple(),
        }
    }

    /// The specification, as JSON.
    ///
    /// `linker` is the program that takes the linker's place for GPUs.
    pub(crate) fn specification(
        self,
        toolchain: &Toolchain,
        linker: &Path,
    ) -> Result<String, BuildError> {
        let base = self.base(toolchain);
        let output = Command::new(toolchain.rustc())
            .args(["-Zunstable-options", "--print", "target-spec-json"])
            .args(["--target", base])
            .env("RUSTC_BOOTSTRAP", "1")
            .output()
            .map_err(io_at(toolchain.rustc()))?;
        let unknown = |reason: String| BuildError::Tool {
            tool: toolchain.rustc().to_owned(),
            input: Path::new(base).to_owned(),
            said: reason,
        };
        if !output.status.success() {
            return Err(unknown(
                String::from_utf8_lossy(&output.stderr).into_owned(),
            ));
        }
        let mut specification: Value = serde_json::from_slice(&output.stdout)
            .map_err(|error| unknown(format!("its target specification: {error}")))?;
        let fields = specification
            .as_object_mut()
            .ok_or_else(|| unknown("its target specification is no object".to_owned()))?;
        for (name, value) in self.changes(linker) {
            fields.insert(name.to_owned(), value);
        }
        Ok(specification.to_string())
    }

    /// The fields that differ from the compiler's specification.
    fn changes(self, linker: &Path) -> Vec<(&'static str, Value)> {
        let mut changes = vec![
            ("os", json!(OS)),
            ("env", json!("")),
            ("target-family", json!([])),
            ("panic-strategy", json!("abort")),
            // A device thread has no register for it; the platform layer has its own tables.
            ("has-thread-local", json!(false)),
            ("executables", json!(true)),
            ("only-cdylib", json!(false)),
            ("dynamic-linking", json!(false)),
            // These come from the compiler's command line, or do not apply.
            ("metadata", json!({})),
        ];
        match self {
            StdTarget::Host => changes.extend([
                // The image is a shared object.
                ("position-independent-executables", json!(false)),
                ("static-position-independent-executables", json!(false)),
                ("crt-static-respected", json!(false)),
                ("relocation-model", json!("pic")),
                // A panic does not unwind.
                ("default-uwtable", json!(false)),
            ]),
            StdTarget::Gpu(arch) => {
                changes.push(("cpu", json!(arch.name)));
                // A script: the compiler's output becomes the image, and nothing is linked.
                changes.push(("linker", json!(linker)));
                // With LLVM's builtins, `compiler-builtins` would be no part of the one unit of code that
                // a program is, and it has the mathematical functions. Without them, LLVM does not turn
                // loops into calls of memcpy, which it would only turn back to loops for GPUs.
                changes.push(("no-builtins", json!(true)));
                // Machine code comes from the program as a whole: see `stack`.
                changes.push(("obj-is-bitcode", json!(true)));
            }
        }
        changes
    }
}
