//! Why images do not run on devices.

use std::collections::BTreeSet;

use revoff_host::Image;
use revoff_host::image::Format;
use revoff_host::targets::ptx;

/// Prefixes of functions of LLVM's device runtime, which is linked into an image or missing.
const DEVICE_RUNTIME: [&str; 2] = ["__kmpc_", "omp_"];

/// A message about functions of LLVM's device runtime that the image lacks; `None` if it lacks
/// none.
pub(crate) fn lacks(image: &Image) -> Option<String> {
    if image.format() != Format::Ptx {
        return None;
    }
    let items = ptx::items(image.bytes()).ok()?;
    let functions = items.iter().filter(|item| item.is_function());
    let (defined, declared): (Vec<_>, Vec<_>) = functions.partition(|item| item.is_definition());
    let defined: BTreeSet<_> = defined.iter().filter_map(|item| item.name()).collect();
    let declared: BTreeSet<_> = declared.iter().filter_map(|item| item.name()).collect();
    let missing: Vec<_> = declared
        .difference(&defined)
        .filter(|name| DEVICE_RUNTIME.iter().any(|start| name.starts_with(start)))
        .map(|name| format!("`{name}`"))
        .collect();
    (!missing.is_empty()).then(|| {
        format!(
            "the image calls {} of LLVM's device runtime, which is not linked into it: either link that, or \
             let regions for GPUs be `target teams ompx_bare`, which take none, and compile them with \
             -fopenmp-cuda-mode (docs/llvm.md)",
            missing.join(", ")
        )
    })
}

/// A message about the kinds of devices of the images.
pub(crate) fn kinds<'a>(images: impl Iterator<Item = &'a Image>) -> String {
    let kinds: BTreeSet<_> = images
        .map(|image| match image.format() {
            Format::SharedObject(_) => "processors (device `host`)",
            Format::Ptx => "NVIDIA GPUs (`cuda:N`, `emu`)",
            Format::Cubin | Format::Fatbin => "NVIDIA GPUs (`cuda:N`)",
            Format::CodeObject => "AMD GPUs (`hsa:N`)",
            _ => "several kinds of devices",
        })
        .collect();
    if kinds.is_empty() {
        return "the program has no image that could be read".to_owned();
    }
    let kinds: Vec<_> = kinds.into_iter().collect();
    format!("the program has images for {}", kinds.join(" and "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn image(functions: &str) -> Image {
        let text = format!(".version 6.3\n.target sm_70\n.address_size 64\n{functions}\n");
        Image::from_bytes("an image", text.as_bytes()).expect("a text")
    }

    #[test]
    fn what_is_declared_and_nowhere_defined_is_lacking() {
        let declared = ".extern .func __kmpc_target_deinit();";
        let said = lacks(&image(declared)).expect("it lacks one");
        assert!(said.contains("calls `__kmpc_target_deinit` of"), "{said}");
        let defined = format!("{declared}\n.visible .func __kmpc_target_deinit() {{ ret; }}");
        assert_eq!(lacks(&image(&defined)), None);
        assert_eq!(lacks(&image(".extern .func other();")), None);
    }

    #[test]
    fn kinds_are_named_once() {
        let two = [image(""), image("")];
        let said = kinds(two.iter());
        assert_eq!(
            said,
            "the program has images for NVIDIA GPUs (`cuda:N`, `emu`)"
        );
        assert!(kinds([].into_iter()).contains("no image that could be read"));
    }
}
