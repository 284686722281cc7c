//! Choice of the image that suits a device best.

use std::fmt;

use crate::arch::{self, ARCHES, Arch};
use crate::device_arch::{AmdFit, AmdTarget, DeviceArch, Sm, Variant};
use crate::offload_binary::{Entry, ImageKind};

/// An image to choose from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Candidate<'a> {
    /// The target triple.
    pub triple: &'a str,
    /// The architecture, in the notation of [`DeviceArch`]; may be empty for a machine.
    pub arch: &'a str,
    /// The kind of image.
    pub kind: ImageKind,
}

impl<'a> From<&Entry<'a>> for Candidate<'a> {
    fn from(entry: &Entry<'a>) -> Self {
        Self {
            triple: entry.triple,
            arch: entry.arch,
            kind: entry.image_kind,
        }
    }
}

/// `sm_70, ptx`.
impl fmt::Display for Candidate<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let for_what = if self.arch.is_empty() {
            self.triple
        } else {
            self.arch
        };
        write!(f, "{for_what}, {}", self.kind)
    }
}

/// How well an image fits; the best is last. Images of different families are never compared, since
/// a device has one.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Fit {
    /// The nearest architecture; of these, machine code; of these, the image that uses most of the
    /// architecture.
    Nvidia {
        number: u32,
        is_cubin: bool,
        variant: Variant,
    },
    /// The processor itself before a generic one; of these, the image with most fixed features.
    Amd {
        fit: AmdFit,
        features: usize,
    },
    Host,
}

fn fit(device: &DeviceArch, candidate: &Candidate<'_>) -> Option<Fit> {
    if !device.is_of(candidate.triple) {
        return None;
    }
    match device {
        DeviceArch::Nvidia(of) | DeviceArch::Emulated(of) => {
            let sm: Sm = candidate.arch.parse().ok()?;
            // clang calls the output of its assembler an object.
            let is_cubin = matches!(candidate.kind, ImageKind::CUBIN | ImageKind::OBJECT);
            let runs = if is_cubin {
                matches!(device, DeviceArch::Nvidia(_)) && sm.cubin_runs_on(*of)
            } else {
                candidate.kind == ImageKind::PTX && sm.ptx_runs_on(*of)
            };
            runs.then_some(Fit::Nvidia {
                number: sm.number,
                is_cubin,
                variant: sm.variant,
            })
        }
        DeviceArch::Amd(device) if candidate.kind == ImageKind::OBJECT => {
            let target: AmdTarget = candidate.arch.parse().ok()?;
            let fit = target.runs_on(device)?;
            Some(Fit::Amd {
                fit,
                features: target.features.len(),
            })
        }
        DeviceArch::Host(_) if candidate.kind == ImageKind::OBJECT => Some(Fit::Host),
        _ => None,
    }
}

/// The index of the candidate that suits `device` best; the first if several do so equally.
///
/// - NVIDIA: the highest architecture that runs there, and of several images for
///   that one machine code before PTX.
/// - AMD: the same processor before a generic one that covers it, with no feature
///   that contradicts the device's.
/// - A machine: the same architecture in the triple.
///
/// # Errors
/// No candidate runs there.
pub fn choose(device: &DeviceArch, candidates: &[Candidate<'_>]) -> Result<usize, NoMatch> {
    let mut best: Option<(Fit, usize)> = None;
    for (index, candidate) in candidates.iter().enumerate() {
        if let Some(fit) = fit(device, candidate)
            && best.as_ref().is_none_or(|(other, _)| fit > *other)
        {
            best = Some((fit, index));
        }
    }
    best.map(|(_, index)| index).ok_or_else(|| NoMatch {
        device: device.clone(),
        held: candidates.iter().map(ToString::to_string).collect(),
    })
}

/// No image of a file runs on a device.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "nothing in it runs on {device}; it holds {} ({})",
    if held.is_empty() { "nothing".to_owned() } else { held.join("; ") },
    WayOut(device)
)]
pub struct NoMatch {
    /// The device.
    pub device: DeviceArch,
    /// The images of the file.
    pub held: Vec<String>,
}

/// The row of the table to build for, so that the image runs on `device`; `None` if the table has
/// none, or the device is a machine.
#[must_use]
pub fn to_build(device: &DeviceArch) -> Option<&'static Arch> {
    // The table begins with the oldest.
    ARCHES
        .iter()
        .rev()
        .find(|arch| match (device, arch.name.parse()) {
            (
                DeviceArch::Nvidia(device) | DeviceArch::Emulated(device),
                Ok(DeviceArch::Nvidia(sm)),
            ) => sm.ptx_runs_on(*device),
            (DeviceArch::Amd(device), Ok(DeviceArch::Amd(target))) => {
                target.runs_on(device).is_some()
            }
            _ => false,
        })
}

/// The way to build an image for a device, for messages.
#[derive(Clone, Copy, Debug)]
pub struct WayOut<'a>(pub &'a DeviceArch);

impl fmt::Display for WayOut<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.0, to_build(self.0)) {
            (_, Some(Arch { name, .. })) => write!(
                f,
                "build one for it: `revoff_build::images(..).arch(\"{name}\")` in the build script, \
                 or, in a clone of revoff, `cargo xtask images --kernel-crate DIR --arch {name}`"
            ),
            (DeviceArch::Host(_), None) => f.write_str(
                "build a shared object for this machine: `revoff_build::images(..).host()` in the \
                 build script, or, in a clone of revoff, `cargo xtask images --kernel-crate DIR \
                 --target host`",
            ),
            (_, None) => write!(
                f,
                "images are built for {} only; a row in targets/src/arch.rs adds another",
                arch::names()
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NVPTX: &str = "nvptx64-nvidia-cuda";
    const AMD: &str = "amdgcn-amd-amdhsa";
    const X86: &str = "x86_64-unknown-linux-gnu";

    /// A candidate in short form, such as `sm_70 ptx`; `-` means no architecture.
    fn candidate(words: &str) -> Candidate<'_> {
        let (arch, kind) = words.split_once(' ').expect("two words");
        let kind = ImageKind::ALL
            .into_iter()
            .find(|k| k.name() == Some(kind))
            .expect(kind);
        let (triple, arch) = match arch {
            _ if arch.starts_with("sm_") => (NVPTX, arch),
            _ if arch.starts_with("gfx") => (AMD, arch),
            triple => (triple, ""),
        };
        Candidate { triple, arch, kind }
    }

    fn chosen<'a>(device: &str, held: &[&'a str]) -> Option<&'a str> {
        let candidates: Vec<_> = held.iter().map(|words| candidate(words)).collect();
        let device = device.parse().expect("a device");
        choose(&device, &candidates).ok().map(|index| held[index])
    }

    #[test]
    fn what_is_emulated_runs_ptx_alone() {
        let device = DeviceArch::Emulated("sm_86".parse().expect("an architecture"));
        let held = [
            "sm_86 cubin",
            "sm_80 object",
            "sm_70 ptx",
            "sm_80 ptx",
            "sm_90 ptx",
        ];
        let candidates = held.map(candidate);
        assert_eq!(choose(&device, &candidates), Ok(3));
        assert!(choose(&device, &candidates[..2]).is_err());
    }

    #[test]
    fn the_best_of_what_runs() {
        let cases: &[(&str, &[&str], Option<&str>)] = &[
            // PTX runs on later architectures; the nearest is best.
            ("sm_70", &["sm_70 ptx"], Some("sm_70 ptx")),
            (
                "sm_86",
                &["sm_35 ptx", "sm_80 ptx", "sm_70 ptx"],
                Some("sm_80 ptx"),
            ),
            ("sm_120", &["sm_90 ptx", "sm_100 ptx"], Some("sm_100 ptx")),
            ("sm_61", &["sm_70 ptx", "sm_90 ptx"], None),
            // Machine code runs on later minor versions of its generation.
            ("sm_86", &["sm_80 cubin"], Some("sm_80 cubin")),
            ("sm_80", &["sm_86 cubin"], None),
            ("sm_90", &["sm_80 cubin"], None),
            ("sm_120", &["sm_100 cubin"], None),
            ("sm_103", &["sm_100 cubin"], Some("sm_100 cubin")),
            ("sm_86", &["sm_80 object"], Some("sm_80 object")),
            // The higher one before machine code.
            ("sm_89", &["sm_80 ptx", "sm_80 cubin"], Some("sm_80 cubin")),
            ("sm_89", &["sm_80 cubin", "sm_86 ptx"], Some("sm_86 ptx")),
            ("sm_89", &["sm_70 cubin", "sm_70 ptx"], Some("sm_70 ptx")),
            // Suffixes: `a` only runs on this architecture, `f` in the generation.
            ("sm_90", &["sm_90a ptx", "sm_90 ptx"], Some("sm_90a ptx")),
            ("sm_90a", &["sm_90 ptx"], Some("sm_90 ptx")),
            ("sm_90a", &["sm_90a cubin"], Some("sm_90a cubin")),
            ("sm_100", &["sm_90a ptx"], None),
            ("sm_103", &["sm_100a cubin", "sm_100a ptx"], None),
            (
                "sm_103",
                &["sm_100f cubin", "sm_100 cubin"],
                Some("sm_100f cubin"),
            ),
            ("sm_103", &["sm_100f ptx"], Some("sm_100f ptx")),
            ("sm_120", &["sm_100f ptx", "sm_100f cubin"], None),
            ("sm_100", &["sm_103f ptx"], None),
            // Images that no driver loads, or of other families.
            (
                "sm_80",
                &["sm_80 bitcode", "sm_80 fatbin", "gfx906 object"],
                None,
            ),
            ("sm_80", &[], None),
            // AMD: the same processor, without contradicting features.
            (
                "gfx90a",
                &["gfx908 object", "gfx90a object"],
                Some("gfx90a object"),
            ),
            (
                "gfx90a",
                &["gfx90a ptx", "gfx90a bitcode", "sm_90 ptx"],
                None,
            ),
            (
                "gfx90a:sramecc+:xnack-",
                &["gfx90a object"],
                Some("gfx90a object"),
            ),
            ("gfx90a:sramecc+:xnack-", &["gfx90a:xnack+ object"], None),
            (
                "gfx90a:sramecc+:xnack-",
                &[
                    "gfx90a:xnack+ object",
                    "gfx90a object",
                    "gfx90a:xnack- object",
                ],
                Some("gfx90a:xnack- object"),
            ),
            (
                "gfx90a:sramecc+:xnack-",
                &["gfx90a:xnack- object", "gfx90a:sramecc+:xnack- object"],
                Some("gfx90a:sramecc+:xnack- object"),
            ),
            (
                "gfx90a",
                &["gfx90a:xnack+ object"],
                Some("gfx90a:xnack+ object"),
            ),
            // Generic processors.
            (
                "gfx942",
                &["gfx9-4-generic object"],
                Some("gfx9-4-generic object"),
            ),
            (
                "gfx942",
                &["gfx9-4-generic object", "gfx942 object"],
                Some("gfx942 object"),
            ),
            ("gfx942:xnack-", &["gfx9-4-generic:xnack+ object"], None),
            (
                "gfx90a",
                &["gfx9-generic object", "gfx9-4-generic object"],
                None,
            ),
            (
                "gfx906",
                &["gfx9-generic object"],
                Some("gfx9-generic object"),
            ),
            (
                "gfx1012",
                &["gfx10-3-generic object", "gfx10-1-generic object"],
                Some("gfx10-1-generic object"),
            ),
            (
                "gfx1036",
                &["gfx10-1-generic object", "gfx10-3-generic object"],
                Some("gfx10-3-generic object"),
            ),
            (
                "gfx1151",
                &["gfx11-generic object"],
                Some("gfx11-generic object"),
            ),
            (
                "gfx1200",
                &["gfx11-generic object", "gfx12-generic object"],
                Some("gfx12-generic object"),
            ),
            // A machine.
            (
                X86,
                &["sm_70 ptx", "x86_64-pc-linux-gnu object"],
                Some("x86_64-pc-linux-gnu object"),
            ),
            (X86, &["aarch64-unknown-linux-gnu object"], None),
            (
                X86,
                &["x86_64-unknown-linux-gnu bitcode", "gfx906 object"],
                None,
            ),
        ];
        for (device, held, expected) in cases {
            assert_eq!(chosen(device, held), *expected, "{device} of {held:?}");
        }
    }

    #[test]
    fn an_architecture_that_nobody_has_fits_nothing() {
        for arch in ["", "volta", "sm_", "gfx90a"] {
            let odd = Candidate {
                arch,
                ..candidate("sm_70 ptx")
            };
            assert!(choose(&"sm_90".parse().unwrap(), &[odd]).is_err(), "{arch}");
        }
    }

    #[test]
    fn a_refusal_says_what_there_is_and_what_to_build() {
        let refusal = |device: &str, held: &[&str]| {
            let candidates: Vec<_> = held.iter().map(|words| candidate(words)).collect();
            let device = device.parse().expect("a device");
            choose(&device, &candidates)
                .expect_err("none fits")
                .to_string()
        };
        assert_eq!(
            refusal("sm_61", &["sm_70 ptx", "gfx90a object"]),
            "nothing in it runs on sm_61; it holds sm_70, ptx; gfx90a, object (build one for it: \
             `revoff_build::images(..).arch(\"sm_60\")` in the build script, or, in a clone of \
             revoff, `cargo xtask images --kernel-crate DIR --arch sm_60`)"
        );
        assert!(refusal("sm_121", &["gfx90a object"]).contains("--arch sm_100"));
        assert!(refusal("gfx90a:xnack-", &["sm_70 ptx"]).contains("--arch gfx90a`)"));
        let unknown = refusal("gfx1151", &[]);
        assert!(unknown.contains("it holds nothing"), "{unknown}");
        assert!(
            unknown.contains("gfx1201") && unknown.contains("arch.rs"),
            "{unknown}"
        );
        let host = refusal(X86, &["sm_70 ptx"]);
        assert!(
            host.contains(X86) && host.contains(".host()`") && host.contains("--target host`"),
            "{host}"
        );
    }
}
