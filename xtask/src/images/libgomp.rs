//! The member of GCC's libgomp.a for NVIDIA that defines `GOMP_target_ext`, without that function.
//!
//! GCC's linker takes whole members of archives, and programs need other functions of that member.
//! So the archive with device-rt also has the rest of the member: the linker then never takes the
//! original.

use std::fs::{self, File};
use std::path::Path;

use anyhow::{Context, Result, bail};
use ar::Archive;
use targets::gcc::{NotCut, without_target_ext};

/// The variable that tells whether lanes are separate threads, in code for OpenMP. GCC has the
/// library twice, and the other one is for OpenACC.
const UNIFORM: &str = "__nvptx_uni";

/// A member of an archive.
pub(crate) struct Member {
    pub(crate) name: Vec<u8>,
    pub(crate) text: Vec<u8>,
}

/// The rest of the member of the archive at `path`.
pub(crate) fn rest(path: &Path) -> Result<Member> {
    read(path).with_context(|| format!("{} (--gcc-libgomp)", path.display()))
}

fn read(path: &Path) -> Result<Member> {
    if fs::metadata(path)?.is_dir() {
        bail!("it is a folder; the file is that of `gcc -print-file-name=...`, see docs/gcc.md");
    }
    let mut archive = Archive::new(File::open(path)?);
    let mut found = None;
    let mut is_for_openmp = false;
    while let Some(entry) = archive.next_entry() {
        let mut entry = entry?;
        let mut text = String::new();
        // GCC's members for NVIDIA are text.
        if std::io::Read::read_to_string(&mut entry, &mut text).is_err() {
            continue;
        }
        is_for_openmp |= text.contains(UNIFORM);
        match without_target_ext(&text) {
            Err(NotCut::NotDefined) => {}
            Err(why) => bail!(
                "its {}: {why}",
                String::from_utf8_lossy(entry.header().identifier())
            ),
            Ok(_) if found.is_some() => bail!("several of its members have GOMP_target_ext"),
            Ok(rest) => {
                found = Some(Member {
                    name: entry.header().identifier().to_vec(),
                    text: rest.into_bytes(),
                });
            }
        }
    }
    let found = found.context(
        "no member has GOMP_target_ext: pass GCC's libgomp.a for NVIDIA, \
         .../accel/nvptx-none/mgomp/libgomp.a",
    )?;
    if !is_for_openmp {
        bail!("OpenMP programs are linked with another: .../accel/nvptx-none/mgomp/libgomp.a");
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use ar::{Builder, Header};

    use super::*;

    const PARAMS: &str = "(.param .u32 a, .param .u64 b, .param .u64 c, .param .u64 d, \
        .param .u64 e, .param .u64 f, .param .u32 g, .param .u64 h, .param .u64 i)";

    fn archive(name: &str, members: &[(&str, &str)]) -> std::path::PathBuf {
        let path = std::env::temp_dir().join(format!("xtask-{}-{name}.a", std::process::id()));
        let mut builder = Builder::new(File::create(&path).expect("a file"));
        for (name, text) in members {
            let header = Header::new(name.as_bytes().to_vec(), text.len() as u64);
            builder.append(&header, text.as_bytes()).expect("it fits");
        }
        path
    }

    #[test]
    fn the_member_is_found_and_cut() {
        let target =
            format!(".visible .func teams {{ }}\n.visible .func GOMP_target_ext{PARAMS} {{ }}\n");
        let uniform = ("env.o", ".extern .shared .u32 __nvptx_uni[32];");
        let twice = format!("{target}{target}");
        for (name, members, wanted) in [
            ("one", &[uniform, ("target.o", &target)][..], Ok(())),
            ("acc", &[("target.o", &target)], Err("linked with another")),
            ("none", &[("env.o", ".func a { }")], Err("no member")),
            (
                "two",
                &[("a.o", &target), ("b.o", &target)],
                Err("several of its"),
            ),
            (
                "twice",
                &[("target.o", &twice)],
                Err("its target.o: it defines"),
            ),
            (
                "broken",
                &[("target.o", ".func {")],
                Err("its target.o: line 1"),
            ),
        ] {
            let path = archive(name, members);
            let found = rest(&path);
            fs::remove_file(&path).expect("it was made");
            match (found, wanted) {
                (Ok(member), Ok(())) => {
                    assert_eq!(member.name, b"target.o");
                    let text = String::from_utf8(member.text).expect("text");
                    assert!(text.starts_with(".visible .func teams { }\n"));
                    assert!(text.contains(".extern .func GOMP_target_ext"), "{text}");
                }
                (Err(error), Err(why)) => {
                    let error = format!("{error:#}");
                    assert!(error.contains(why), "{name}: {error}");
                }
                (Ok(_), Err(why)) => panic!("{name}: not refused ({why})"),
                (Err(error), Ok(())) => panic!("{name}: {error:#}"),
            }
        }
    }
}
