//! The files of the package, in the folder below which it is installed.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use revoff_build::package;

use super::VERSION;

/// The folders with programs and libraries.
const PROGRAMS: [&str; 3] = ["bin", package::LIBRARIES, package::EMULATED];

/// Scripts by which shells complete the command line.
const COMPLETIONS: [(&str, &str); 3] = [
    ("bash", "share/bash-completion/completions/revoff"),
    ("zsh", "share/zsh/site-functions/_revoff"),
    ("fish", "share/fish/vendor_completions.d/revoff.fish"),
];

/// Files for the builds of others, with `@VERSION@` and `@PIECES@` in them.
const BUILD_FILES: [(&str, &str); 3] = [
    ("lib/pkgconfig/revoff.pc", include_str!("files/revoff.pc")),
    (
        "lib/cmake/revoff/revoff-config.cmake",
        include_str!("files/revoff-config.cmake"),
    ),
    (
        "lib/cmake/revoff/revoff-config-version.cmake",
        include_str!("files/revoff-config-version.cmake"),
    ),
];

/// The folder.
pub(super) struct Prefix(PathBuf);

impl Prefix {
    pub(super) fn create(path: &Path) -> Result<Self> {
        make(path)?;
        Ok(Self(path.to_owned()))
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }

    /// One of its folders.
    pub(super) fn folder(&self, name: &str) -> Result<PathBuf> {
        let folder = self.0.join(name);
        make(&folder)?;
        Ok(folder)
    }

    /// Copies a file to it.
    pub(super) fn put(&self, from: &Path, name: &str) -> Result<()> {
        let to = self.place(name)?;
        fs::copy(from, &to).with_context(|| format!("{} to {}", from.display(), to.display()))?;
        Ok(())
    }

    pub(super) fn write(&self, name: &str, content: &[u8]) -> Result<()> {
        let to = self.place(name)?;
        fs::write(&to, content).with_context(|| to.display().to_string())
    }

    /// The path of a file in it.
    fn place(&self, name: &str) -> Result<PathBuf> {
        let path = self.0.join(name);
        make(path.parent().unwrap_or(&path))?;
        Ok(path)
    }

    /// Removes what only a debugger reads from its programs and libraries.
    pub(super) fn strip(&self) -> Result<()> {
        for folder in PROGRAMS {
            for file in files(&self.0.join(folder))? {
                let status = Command::new("strip")
                    .arg("--strip-unneeded")
                    .arg(&file)
                    .status();
                let status = status.context("cannot run strip (Debian: binutils)")?;
                ensure!(status.success(), "strip {}: {status}", file.display());
            }
        }
        Ok(())
    }

    /// Moves the pieces here, and their headers to where compilers expect headers.
    pub(super) fn take_pieces(&self, from: &Path) -> Result<()> {
        let pieces = self.place(package::PIECES)?;
        let headers = pieces.join("include");
        fs::rename(from, &pieces)
            .and_then(|()| fs::rename(&headers, self.0.join("include")))
            .and_then(|()| symlink("../../../include", &headers))
            .with_context(|| pieces.display().to_string())
    }

    /// The manual pages and the completions, which the command writes.
    pub(super) fn put_manual(&self, command: &Path) -> Result<()> {
        let pages = self.folder("share/man/man1")?;
        output_of(Command::new(command).arg("man").arg(pages))?;
        for (shell, name) in COMPLETIONS {
            self.write(
                name,
                &output_of(Command::new(command).args(["completions", shell]))?,
            )?;
        }
        Ok(())
    }

    pub(super) fn put_build_files(&self) -> Result<()> {
        for (name, text) in BUILD_FILES {
            let text = text.replace("@VERSION@", VERSION);
            self.write(name, text.replace("@PIECES@", package::PIECES).as_bytes())?;
        }
        Ok(())
    }

    pub(super) fn put_documentation(&self, root: &Path) -> Result<()> {
        for name in ["README.md", "CHANGELOG.md", "LICENSE-APACHE", "LICENSE-MIT"] {
            self.put(&root.join(name), &format!("share/doc/revoff/{name}"))?;
        }
        Ok(())
    }

    /// The files of this repository: `revoff build` compiles `std` for devices from them, and programs that launch
    /// kernels have them as dependencies.
    pub(super) fn put_sources(&self, root: &Path) -> Result<()> {
        let list = output_of(
            Command::new("git")
                .current_dir(root)
                .args(["ls-files", "-z", "--cached", "--others"])
                .args(["--exclude-standard", "--deduplicate"]),
        )?;
        let list = String::from_utf8(list)?;
        // `--debug` packs changes that are not committed, so also new files, and no removed ones.
        let names = list.split_terminator('\0');
        for name in names.filter(|name| root.join(name).exists()) {
            self.put(&root.join(name), &format!("{}/{name}", package::SOURCES))?;
        }
        Ok(())
    }

    /// Copies all of it.
    pub(super) fn copy_to(&self, to: &Path) -> Result<()> {
        output_of(Command::new("cp").arg("-a").arg(&self.0).arg(to)).map(drop)
    }

    /// The oldest C library with which its programs and libraries run.
    pub(super) fn libc(&self) -> Result<String> {
        let mut newest = (2, 0);
        for folder in PROGRAMS {
            for file in files(&self.0.join(folder))? {
                let text = output_of(Command::new("objdump").arg("-T").arg(&file))?;
                let text = String::from_utf8(text)?;
                let versions = text.split("GLIBC_").skip(1).filter_map(|rest| {
                    let end = rest.find(|c: char| c != '.' && !c.is_ascii_digit())?;
                    let mut parts = rest[..end].split('.').map(str::parse::<u32>);
                    Some((parts.next()?.ok()?, parts.next()?.ok()?))
                });
                newest = versions.fold(newest, Ord::max);
            }
        }
        Ok(format!("{}.{}", newest.0, newest.1))
    }

    /// The size of its files.
    pub(super) fn bytes(&self) -> Result<u64> {
        let text = output_of(
            Command::new("du")
                .args(["--bytes", "--summarize"])
                .arg(&self.0),
        )?;
        let text = String::from_utf8(text)?;
        let number = text
            .split_whitespace()
            .next()
            .context("du prints a number")?;
        Ok(number.parse()?)
    }
}

/// The output of a command, which succeeds.
pub(super) fn output_of(command: &mut Command) -> Result<Vec<u8>> {
    let output = command
        .output()
        .with_context(|| format!("cannot run {command:?}"))?;
    ensure!(
        output.status.success(),
        "{command:?}: {}: {}",
        output.status,
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(output.stdout)
}

/// The programs and libraries in a folder.
fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut files = vec![];
    for entry in fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        let entry = entry?;
        if entry.file_type()?.is_file() {
            // Cargo's files may be read-only.
            fs::set_permissions(entry.path(), fs::Permissions::from_mode(0o755))?;
            files.push(entry.path());
        }
    }
    Ok(files)
}

fn make(folder: &Path) -> Result<()> {
    fs::create_dir_all(folder).with_context(|| folder.display().to_string())
}
