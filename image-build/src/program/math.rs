//! Replaces intrinsics for which LLVM has no code on GPUs by the functions in
//! device-std/overlay/core/src/intrinsics/libm.rs.

/// The file that changes, below `library`.
pub(super) const FILE: &str = "core/src/intrinsics/mod.rs";

/// The functions, of `f16`, `f32` and `f64` each.
const NAMES: &[&str] = &[
    "cos", "exp", "exp2", "log", "log10", "log2", "pow", "powi", "sin",
];

macro_rules! gpu {
    () => {
        "any(target_arch = \"nvptx64\", target_arch = \"amdgpu\")"
    };
}

/// The text of [`FILE`], changed; `None` if it is not as expected.
pub(super) fn replace(text: &str) -> Option<String> {
    let mut text = text.to_owned();
    for name in NAMES {
        for kind in ["f16", "f32", "f64"] {
            let declaration =
                format!("#[rustc_intrinsic]\n#[rustc_nounwind]\npub fn {name}{kind}(");
            let at = text.find(&declaration)?;
            text.insert_str(at, concat!("#[cfg(not(", gpu!(), "))]\n"));
        }
    }
    text.push_str(concat!("\n#[cfg(", gpu!(), ")]\nmod libm;\n"));
    text.push_str(concat!("#[cfg(", gpu!(), ")]\npub use libm::*;\n"));
    Some(text)
}
