//! The description of a program in its first comment.

use std::path::Path;
use std::{fs, io};

/// A language of the programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    /// C
    C,
    /// C++
    Cxx,
    /// CUDA C++
    Cuda,
    /// Fortran
    Fortran,
    /// Rust
    Rust,
}

/// The expected end of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// With `ok` and status 0.
    Ok,
    /// With this status.
    Exit(i32),
    /// By this signal.
    Signal(i32),
    /// With any status but 0, and by no signal.
    Error,
    /// Varies; only with the library that ours replaces.
    Any,
}

/// The required similarity of two libraries' reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reports {
    /// All of it.
    Same,
    /// All of it, in any order and with any addresses.
    Sorted,
    /// No more copies, and no more bytes.
    Copies,
    /// Nothing.
    Free,
}

/// A program, as its first comment describes it.
#[derive(Clone, Debug)]
pub struct Program {
    /// The file's name without its extension.
    pub name: String,
    /// The file.
    pub file: String,
    /// By the file's extension.
    pub language: Language,
    /// The expected end.
    pub ending: Ending,
    /// The expected end with LLVM's library or GCC's plugin, if it differs from ours.
    pub stock: Option<Ending>,
    /// The required similarity of reports.
    pub reports: Reports,
    /// Whether its output must be the same as with its target regions on the host.
    pub is_compared: bool,
    /// Lines that it must print.
    pub output: Vec<String>,
    /// Environment variables.
    pub environment: Vec<(String, String)>,
    /// Options of the offload compiler.
    pub offload: Vec<String>,
    /// The first version of the compiler that supports it.
    pub since: u32,
    /// The kind of devices that run it, if not all.
    pub only: Option<String>,
    /// The reason why AMD GPUs do not run it, if they do not.
    pub lacks_amd: Option<String>,
    /// Further sources.
    pub with: Vec<String>,
    /// Sources of shared libraries that it is linked with.
    pub libraries: Vec<String>,
    /// Sources of shared libraries that it loads.
    pub plugins: Vec<String>,
    /// Sources of shared libraries without OpenMP, which it passes as images.
    pub images: Vec<String>,
}

impl Program {
    /// The programs in a folder, by name.
    ///
    /// # Errors
    /// The folder cannot be read, has no programs, or a description is invalid.
    pub fn all(folder: &Path) -> Result<Vec<Self>, String> {
        let names = || -> io::Result<Vec<_>> {
            let mut names = Vec::new();
            for entry in fs::read_dir(folder)? {
                names.push(entry?.file_name().to_string_lossy().into_owned());
            }
            Ok(names)
        };
        let mut names = names().map_err(|error| format!("{}: {error}", folder.display()))?;
        names.sort_unstable();
        let mut all = Vec::new();
        for file in names {
            if Language::of(&file).is_some() {
                let text = fs::read_to_string(folder.join(&file));
                let text = text.map_err(|error| format!("{file}: {error}"))?;
                all.push(Self::parse(&file, &text)?);
            }
        }
        if all.is_empty() {
            return Err(format!("{}: no programs", folder.display()));
        }
        Ok(all)
    }

    /// The program in a file.
    ///
    /// # Errors
    /// A line of its first comment begins with a word and a colon, and is invalid.
    pub fn parse(file: &str, text: &str) -> Result<Self, String> {
        let (name, _) = file.split_once('.').unwrap_or((file, ""));
        let mut program = Self {
            name: name.to_owned(),
            file: file.to_owned(),
            language: Language::of(file).ok_or_else(|| format!("{file}: in which language?"))?,
            ending: Ending::Ok,
            stock: None,
            reports: Reports::Same,
            is_compared: false,
            output: Vec::new(),
            environment: Vec::new(),
            offload: Vec::new(),
            since: 0,
            only: None,
            lacks_amd: None,
            with: Vec::new(),
            libraries: Vec::new(),
            plugins: Vec::new(),
            images: Vec::new(),
        };
        for line in first_comment(text) {
            let Some((word, value)) = line.split_once(": ") else {
                continue;
            };
            if word.is_empty() || !word.bytes().all(|c| c.is_ascii_lowercase()) {
                continue;
            }
            // A misspelt key would skip a check.
            let wrong = || format!("{file}: not understood: {line:?}");
            let owned = value.to_owned();
            match word {
                "ends" => program.ending = Ending::parse(value).ok_or_else(wrong)?,
                "stock" if value == "any" => program.stock = Some(Ending::Any),
                "stock" => program.stock = Some(Ending::parse(value).ok_or_else(wrong)?),
                "report" => program.reports = Reports::parse(value).ok_or_else(wrong)?,
                "compare" if value == "host" => program.is_compared = true,
                "offload" => program.offload.push(owned),
                "output" => program.output.push(owned),
                "env" => {
                    let (name, value) = value.split_once('=').ok_or_else(wrong)?;
                    program
                        .environment
                        .push((name.to_owned(), value.to_owned()));
                }
                "since" => program.since = value.parse().map_err(|_| wrong())?,
                "only" => program.only = Some(owned),
                "amd" => {
                    let reason = value.strip_prefix("no, ").ok_or_else(wrong)?;
                    program.lacks_amd = Some(reason.to_owned());
                }
                "with" => program.with.push(owned),
                "library" => program.libraries.push(owned),
                "plugin" => program.plugins.push(owned),
                "image" => program.images.push(owned),
                _ => return Err(wrong()),
            }
        }
        Ok(program)
    }
}

impl Program {
    /// The program with a name, of which a test is made. Without it that test fails, and does not vanish.
    ///
    /// # Errors
    /// There is none.
    pub fn named(programs: &[Self], name: &str) -> Result<Self, String> {
        let found = programs.iter().find(|program| program.name == name);
        found.cloned().ok_or_else(|| format!("no program {name}"))
    }

    /// Whether a device is of a kind that runs it.
    #[must_use]
    pub fn suits(&self, device: &str) -> bool {
        let kind = device.split_once(':').map_or(device, |(kind, _)| kind);
        self.only.as_deref().is_none_or(|only| only == kind)
    }
}

impl Language {
    fn of(file: &str) -> Option<Self> {
        match file.rsplit_once('.')?.1 {
            "c" => Some(Self::C),
            "cu" => Some(Self::Cuda),
            "cc" => Some(Self::Cxx),
            "f90" => Some(Self::Fortran),
            "rs" => Some(Self::Rust),
            _ => None,
        }
    }
}

impl Reports {
    fn parse(text: &str) -> Option<Self> {
        match text {
            "sorted" => Some(Self::Sorted),
            "copies" => Some(Self::Copies),
            "free" => Some(Self::Free),
            _ => None,
        }
    }
}

impl Ending {
    fn parse(text: &str) -> Option<Self> {
        match text.split_once(' ') {
            None if text == "error" => Some(Self::Error),
            None if text == "ok" => Some(Self::Ok),
            Some(("exit", status)) => status.parse().ok().map(Self::Exit),
            Some(("signal", number)) => number.parse().ok().map(Self::Signal),
            _ => None,
        }
    }
}

/// The lines of the comment at the start of a file, without comment marks.
fn first_comment(text: &str) -> Vec<&str> {
    if let Some(block) = text.strip_prefix("/*") {
        let end = block.find("*/").unwrap_or(block.len());
        return block[..end].lines().map(str::trim).collect();
    }
    let mark = if text.starts_with("//") { "//" } else { "!" };
    let lines = text.lines().map_while(|line| line.strip_prefix(mark));
    lines.map(str::trim).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_of_text_describes() {
        let text = "/* Words: and more\n   ends: exit 3\n   env: A=b=c\n   env: D=\n   \
                    output: some text */\n/* ends: error */\n";
        let program = Program::parse("one.c", text).expect("understood");
        assert_eq!(program.name, "one");
        assert_eq!(program.ending, Ending::Exit(3));
        let environment = [("A", "b=c"), ("D", "")].map(|(a, b)| (a.to_owned(), b.to_owned()));
        assert_eq!(program.environment, environment);
        assert_eq!(program.output, ["some text"]);
        assert_eq!(program.reports, Reports::Same);
        let any = Program::parse("one.c", "// stock: any").expect("understood");
        assert_eq!(any.stock, Some(Ending::Any));
        let text = "// stock: ok\n// report: sorted\n";
        let program = Program::parse("one.c", text).expect("understood");
        assert_eq!(program.stock, Some(Ending::Ok));
        assert_eq!(program.reports, Reports::Sorted);
    }

    #[test]
    fn lines_describe() {
        let text = "! ends: signal 6\n! with: parts/a.f90\n! since: 14\n! compare: host\n! offload: -lm\n\n! ends: error\n";
        let program = Program::parse("two.f90", text).expect("understood");
        assert_eq!(program.ending, Ending::Signal(6));
        assert_eq!(program.with, ["parts/a.f90"]);
        assert_eq!(program.offload, ["-lm"]);
        assert!(program.is_compared);
        assert_eq!(program.since, 14);
        assert!(program.suits("cuda:0"));
        let program = Program::parse("three.cc", "// ends: error\n// only: emu\n");
        let program = program.expect("understood");
        assert_eq!(program.ending, Ending::Error);
        let suits = ["emu", "emu:sm_60", "cuda:0", "emulator"].map(|device| program.suits(device));
        assert_eq!(suits, [true, true, false, false]);
    }

    #[test]
    fn what_is_not_understood_is_an_error() {
        for line in [
            "end: exit 3",
            "ends: exit",
            "ends: exit three",
            "ends: well",
            "env: A",
            "ends: any",
            "compare: device",
            "stock: well",
            "report: same",
        ] {
            let text = format!("// {line}\n");
            assert!(Program::parse("four.cc", &text).is_err(), "{line}");
        }
    }
}
