//! An image with GCC's own `GOMP_target_ext`, and a kernel that calls it.

use std::path::Path;

use anyhow::{Context, ensure};
use revoff_host::Image;
use revoff_host::shared_abi::gomp::REV_OFFLOAD_VAR;
use targets::gcc::archive::member;
use targets::gcc::target_ext_alone;

/// The kernel. It also defines the variables of GCC's libraries and linker that the function uses.
const CALLER: &str = include_str!("gcc_caller.ptx");

/// The image, with the function of the libgomp.a for NVIDIA at `path`.
pub(super) fn image(path: &Path) -> anyhow::Result<Image> {
    let function = read(path).with_context(|| format!("{} (--gcc-libgomp)", path.display()))?;
    let part = |name: &str, text: &str| Image::from_bytes(name, text.as_bytes());
    let parts = vec![
        part("the caller of GOMP_target_ext", CALLER)?,
        part("GCC's GOMP_target_ext", &function)?,
    ];
    Ok(Image::link("GCC's GOMP_target_ext and its caller", parts)?)
}

/// The text of the function.
fn read(path: &Path) -> anyhow::Result<String> {
    let function = member(path, target_ext_alone)?.part;
    ensure!(
        function.contains(REV_OFFLOAD_VAR),
        "its GOMP_target_ext never calls the host: pass that of GCC 13 or newer"
    );
    Ok(function)
}

#[cfg(test)]
mod tests {
    use ar::{Builder, Header};

    use super::image;

    fn archive(name: &str, function: &str) -> std::path::PathBuf {
        let path = std::env::temp_dir().join(format!("revoff-{}-{name}.a", std::process::id()));
        let mut builder = Builder::new(std::fs::File::create(&path).unwrap());
        for text in [".extern .shared .u32 __nvptx_uni[32];", function] {
            let header = Header::new(b"member.o".to_vec(), text.len() as u64);
            builder.append(&header, text.as_bytes()).unwrap();
        }
        path
    }

    #[test]
    fn an_old_function_is_rejected_by_name() {
        let path = archive("old", ".func GOMP_target_ext { ret; }");
        let error = image(&path).expect_err("no image");
        std::fs::remove_file(&path).unwrap();
        let error = format!("{error:#}");
        assert!(
            error.contains("never calls the host") && error.contains("--gcc-libgomp"),
            "{error}"
        );
    }

    #[test]
    fn the_function_is_linked_with_its_caller() {
        let path = archive(
            "good",
            ".version 6.0\n.target sm_30\n.address_size 64\n\
             .visible .global .u64 __gomp_rev_offload_var[1];\n\
             .visible .func GOMP_target_ext (.param .u32 a)\n\
             { ld.global.u64 %r,[__gomp_rev_offload_var]; ret; }",
        );
        let image = image(&path);
        std::fs::remove_file(&path).unwrap();
        assert_eq!(image.unwrap().link_inputs().len(), 2);
    }
}
