//! Which copies the copy engines make.
//!
//! Without engines, copies are kernels of ROCr's. Source: ROCr, `GpuAgent::InitDma`, `GpuAgent::GetBlitObject`
//! and `Flag::Refresh`.

use hsa_runtime_sys::HSA_PROFILE_BASE;
use targets::DeviceArch;

/// The engines make copies within a GPU of fewer bytes than this, unless the environment says otherwise.
const FORCE_SIZE: u64 = 1 << 20;

/// Whether the engines of a GPU make copies of `len` bytes within it. `profile` is that of its agent, if it is known,
/// and `env` looks environment variables up.
pub(super) fn copy_within(
    arch: &DeviceArch,
    profile: Option<u32>,
    len: usize,
    env: impl Fn(&str) -> Option<String>,
) -> bool {
    let name = arch.to_string();
    let uses_engines = match env("HSA_ENABLE_SDMA").as_deref() {
        Some("0") => false,
        Some("1") => true,
        // Unstable on the former, and missing on the latter.
        _ => !name.starts_with("gfx8") && !name.starts_with("gfx1013"),
    };
    let force_size = match env("HSA_FORCE_SDMA_SIZE").filter(|value| !value.is_empty()) {
        // ROCr reads any text, into an `int`; only plain numbers are trusted here.
        Some(value) => value
            .parse::<i32>()
            .map_or(0, |size| size.max(0).cast_unsigned().into()),
        None => FORCE_SIZE,
    };
    uses_engines && profile == Some(HSA_PROFILE_BASE) && (len as u64) < force_size
}

#[cfg(test)]
mod tests {
    use hsa_runtime_sys::HSA_PROFILE_FULL;

    use super::*;

    #[test]
    fn copies_are_kernels_without_engines() {
        let ask = |arch: &str, profile, env: &[(&str, &str)]| {
            let env = |name: &str| {
                let found = env.iter().find(|pair| pair.0 == name);
                found.map(|pair| pair.1.to_owned())
            };
            let arch = arch.parse().expect("an architecture");
            copy_within(&arch, profile, 512 << 10, env)
        };
        let base = |arch, env| ask(arch, Some(HSA_PROFILE_BASE), env);
        for arch in ["gfx900", "gfx90a", "gfx1030", "gfx1100"] {
            assert!(base(arch, &[]), "{arch}");
            assert!(!ask(arch, Some(HSA_PROFILE_FULL), &[]), "{arch}");
            assert!(!ask(arch, None, &[]), "{arch}");
        }
        for arch in ["gfx803", "gfx1013"] {
            assert!(!base(arch, &[]), "{arch}");
            assert!(base(arch, &[("HSA_ENABLE_SDMA", "1")]), "{arch}");
        }
        assert!(!base("gfx90a", &[("HSA_ENABLE_SDMA", "0")]));
        assert!(base("gfx90a", &[("HSA_ENABLE_SDMA", "")]));
        for (size, expected) in [
            ("", true),
            ("524289", true),
            ("524288", false),
            ("1M", false),
            ("-1", false),
            ("4294967296", false),
        ] {
            let within = ask(
                "gfx90a",
                Some(HSA_PROFILE_BASE),
                &[("HSA_FORCE_SDMA_SIZE", size)],
            );
            assert_eq!(within, expected, "{size}");
        }
    }
}
