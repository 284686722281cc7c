//! The member of GCC's libgomp.a for NVIDIA that defines `GOMP_target_ext`.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

use ar::Archive;

use super::NotCut;

/// The variable that tells whether lanes are separate threads, in code for OpenMP. GCC has the
/// library twice, and the other one is for OpenACC.
const UNIFORM: &str = "__nvptx_uni";

/// A part of the member.
#[derive(Debug)]
pub struct Member<T> {
    /// The member's name.
    pub name: Vec<u8>,
    /// The part.
    pub part: T,
}

/// The reason why an archive has no such member.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    /// The archive cannot be read.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// The path is that of a folder.
    #[error("it is a folder; the file is that of `gcc -print-file-name=...`, see docs/gcc.md")]
    Folder,
    /// A member defines the function, but cannot be cut.
    #[error("its {member}: {why}")]
    NotCut {
        /// The member's name.
        member: String,
        /// The reason.
        why: NotCut,
    },
    /// Several members define the function.
    #[error("several of its members have GOMP_target_ext")]
    Several,
    /// No member defines it.
    #[error(
        "no member has GOMP_target_ext: pass GCC's libgomp.a for NVIDIA, \
         .../accel/nvptx-none/mgomp/libgomp.a"
    )]
    None,
    /// It is the library for OpenACC.
    #[error("OpenMP programs are linked with another: .../accel/nvptx-none/mgomp/libgomp.a")]
    OpenAcc,
}

/// The result of `cut` for the member of the archive at `path` that defines the function. `cut`
/// returns [`NotCut::NotDefined`] for all other members.
///
/// # Errors
/// See [`ArchiveError`].
pub fn member<T>(
    path: &Path,
    cut: impl Fn(&str) -> Result<T, NotCut>,
) -> Result<Member<T>, ArchiveError> {
    if fs::metadata(path)?.is_dir() {
        return Err(ArchiveError::Folder);
    }
    let mut archive = Archive::new(File::open(path)?);
    let mut found = None;
    let mut is_for_openmp = false;
    while let Some(entry) = archive.next_entry() {
        let mut entry = entry?;
        let mut text = String::new();
        // GCC's members for NVIDIA are text.
        if entry.read_to_string(&mut text).is_err() {
            continue;
        }
        is_for_openmp |= text.contains(UNIFORM);
        let name = entry.header().identifier().to_vec();
        match cut(&text) {
            Err(NotCut::NotDefined) => {}
            Err(why) => {
                let member = String::from_utf8_lossy(&name).into_owned();
                return Err(ArchiveError::NotCut { member, why });
            }
            Ok(_) if found.is_some() => return Err(ArchiveError::Several),
            Ok(part) => found = Some(Member { name, part }),
        }
    }
    let found = found.ok_or(ArchiveError::None)?;
    if !is_for_openmp {
        return Err(ArchiveError::OpenAcc);
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use ar::{Builder, Header};

    use super::*;
    use crate::gcc::without_target_ext;

    const PARAMS: &str = "(.param .u32 a, .param .u64 b, .param .u64 c, .param .u64 d, \
        .param .u64 e, .param .u64 f, .param .u32 g, .param .u64 h, .param .u64 i)";

    fn archive(name: &str, members: &[(&str, &str)]) -> std::path::PathBuf {
        let path = std::env::temp_dir().join(format!("targets-{}-{name}.a", std::process::id()));
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
            let found = member(&path, without_target_ext);
            fs::remove_file(&path).expect("it was made");
            match (found, wanted) {
                (Ok(member), Ok(())) => {
                    assert_eq!(member.name, b"target.o");
                    assert!(member.part.starts_with(".visible .func teams { }\n"));
                    assert!(member.part.contains(".extern .func GOMP_target_ext"));
                }
                (Err(error), Err(why)) => {
                    let error = error.to_string();
                    assert!(error.contains(why), "{name}: {error}");
                }
                (Ok(_), Err(why)) => panic!("{name}: not refused ({why})"),
                (Err(error), Ok(())) => panic!("{name}: {error}"),
            }
        }
        let folder = member("/".as_ref(), without_target_ext).expect_err("no file");
        assert!(matches!(folder, ArchiveError::Folder));
    }
}
