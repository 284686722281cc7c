//! An image with GCC's own `GOMP_target_ext`, and a kernel that calls it.

use std::fs::{self, File};
use std::io::Read;
use std::path::Path;

use anyhow::{Context, bail};
use ar::Archive;
use host_rt::Image;
use host_rt::shared_abi::gomp::REV_OFFLOAD_VAR;
use host_rt::targets::gcc::{NotCut, target_ext_alone};

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
    if fs::metadata(path)?.is_dir() {
        bail!("it is a folder; the file is that of `gcc -print-file-name=...`, see docs/gcc.md");
    }
    let mut archive = Archive::new(File::open(path)?);
    while let Some(entry) = archive.next_entry() {
        let mut entry = entry.context("it is no archive")?;
        let mut text = String::new();
        // GCC's members for NVIDIA are text.
        if entry.read_to_string(&mut text).is_err() {
            continue;
        }
        match target_ext_alone(&text) {
            Err(NotCut::NotDefined) => {}
            Err(why) => bail!(
                "its {}: {why}",
                String::from_utf8_lossy(entry.header().identifier())
            ),
            Ok(function) if !function.contains(REV_OFFLOAD_VAR) => {
                bail!("its GOMP_target_ext never calls the host: pass that of GCC 13 or newer")
            }
            Ok(function) => return Ok(function),
        }
    }
    bail!(
        "no member has GOMP_target_ext: pass GCC's libgomp.a for NVIDIA, \
         .../accel/nvptx-none/mgomp/libgomp.a"
    )
}

#[cfg(test)]
mod tests {
    use ar::{Builder, Header};

    use super::image;

    fn archive(name: &str, members: &[&str]) -> std::path::PathBuf {
        let path = std::env::temp_dir().join(format!("revoff-{}-{name}.a", std::process::id()));
        let mut builder = Builder::new(std::fs::File::create(&path).unwrap());
        for text in members {
            let header = Header::new(b"member.o".to_vec(), text.len() as u64);
            builder.append(&header, text.as_bytes()).unwrap();
        }
        path
    }

    #[test]
    fn what_has_no_function_is_rejected_by_name() {
        for (name, members, why) in [
            ("none", &[".func a { ret; }"][..], "no member has"),
            ("broken", &[".func {"], "its member.o: line 1"),
            (
                "old",
                &[".func GOMP_target_ext { ret; }"],
                "never calls the host",
            ),
        ] {
            let path = archive(name, members);
            let error = image(&path).expect_err("no image");
            std::fs::remove_file(&path).unwrap();
            let error = format!("{error:#}");
            assert!(
                error.contains(why) && error.contains("--gcc-libgomp"),
                "{error}"
            );
        }
        let error = format!("{:#}", image("/".as_ref()).expect_err("no image"));
        assert!(error.contains("it is a folder"), "{error}");
    }

    #[test]
    fn the_function_is_linked_with_its_caller() {
        let path = archive(
            "good",
            &[
                ".func other { ret; }",
                ".version 6.0\n.target sm_30\n.address_size 64\n\
                 .visible .global .u64 __gomp_rev_offload_var[1];\n\
                 .visible .func GOMP_target_ext (.param .u32 a)\n\
                 { ld.global.u64 %r,[__gomp_rev_offload_var]; ret; }",
            ],
        );
        let image = image(&path);
        std::fs::remove_file(&path).unwrap();
        assert_eq!(image.unwrap().link_inputs().len(), 2);
    }
}
