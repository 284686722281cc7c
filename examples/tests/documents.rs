//! The programs in README.md, docs/tutorial.md and docs/coming-from, built and run, here or by other suites.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

/// The documents' placeholder for this repository.
const CLONE: &str = "CLONE";

/// The programs lie in this repository, and in a workspace of their own.
const WORKSPACE: &str = "[workspace]\nmembers = [\"*calls\", \"*kernel\"]\n";

/// Programs of pages that other suites build and run: the page, the language of the block, and the suite's copy. In the
/// copy, a comment for the suite and the headers that it includes come first, then an empty line.
const COPIES: [(&str, &str, &str); 3] = [
    (
        "docs/coming-from/cuda.md",
        "cuda",
        "tests/compat/cuda/bill.cu",
    ),
    ("docs/coming-from/gcc.md", "c", "tests/compat/gcc/bill.c"),
    (
        "docs/coming-from/llvm.md",
        "c",
        "tests/compat/device_calls/bill.c",
    ),
];

/// A file of a program.
struct File {
    path: String,
    content: String,
}

/// The files in the sections of a document from a heading up to another, in their order: a block of Rust or
/// TOML belongs to the last path in backquotes in the text; in a block, a comment with a path begins another
/// file. Code in backquotes is the file that the same line names before it.
fn files(document: &str, from: &str, to: &str) -> Vec<File> {
    let (_, text) = document.split_once(&format!("\n## {from}\n")).expect(from);
    let (text, _) = text.split_once(&format!("\n## {to}\n")).expect(to);
    let (mut files, mut path) = (Vec::<File>::new(), String::new());
    // The language of the block that this line is in.
    let mut block = None;
    for line in text.lines() {
        match (line.strip_prefix("```"), block) {
            (Some(language), None) => {
                block = Some(language);
                if language == "rust" {
                    let (path, content) = (path.clone(), String::new());
                    files.push(File { path, content });
                }
            }
            (Some(_), Some(_)) => block = None,
            (None, Some("rust" | "toml")) => match line.strip_prefix("# ") {
                Some(named) => files.push(File {
                    path: named.to_owned(),
                    content: String::new(),
                }),
                None => {
                    let file = files.last_mut().expect("it has begun");
                    file.content += &format!("{line}\n");
                }
            },
            (None, Some(_)) => {}
            (None, None) => {
                let quoted: Vec<_> = line.split('`').skip(1).step_by(2).collect();
                match quoted.as_slice() {
                    [named, code, ..] if code.contains("fn ") => files.push(File {
                        path: (*named).to_owned(),
                        content: (*code).to_owned(),
                    }),
                    _ => {}
                }
                if let Some(named) = quoted.iter().rfind(|quoted| quoted.ends_with(".rs")) {
                    path = (*named).to_owned();
                }
            }
        }
    }
    files
}

/// The contents of the blocks of code in a language.
fn blocks<'a>(document: &'a str, language: &str) -> Vec<&'a str> {
    let begin = format!("```{language}\n");
    let blocks = document.split(&*begin).skip(1);
    blocks
        .map(|block| block.split_once("```").expect("its end").0)
        .collect()
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).expect(path)
}

/// A manifest as written by `cargo new`, with a document's dependencies.
fn manifest(program: &str, path: &str, dependencies: &str) -> String {
    let (name, workspace) = match path.split_once('/') {
        Some((folder, _)) => (folder, ""),
        None => (program, WORKSPACE),
    };
    let mut text = format!(
        "[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n{workspace}\n"
    );
    text += &dependencies.replace(CLONE, &root().display().to_string());
    text
}

fn root() -> &'static Path {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent();
    root.expect("the workspace")
}

fn temporary() -> PathBuf {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR"))
}

/// Writes files of a program into its folder.
fn write(program: &str, files: &[File]) -> PathBuf {
    let folder = temporary().join(program);
    for File { path, content } in files {
        let content = match path.ends_with(".toml") {
            true => manifest(program, path, content),
            false => content.clone(),
        };
        let path = folder.join(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        fs::write(path, content).expect("written");
    }
    folder
}

/// Runs the program in a folder; returns what it prints. Cargo gives crates of one name in different workspaces the same
/// files in the target folder that they share, so the documents' programs have crates of different names.
fn run(folder: &Path, args: &[&str]) -> String {
    fs::copy(root().join("Cargo.lock"), folder.join("Cargo.lock")).expect("the versions");
    let target = temporary().parent().expect("the target folder").to_owned();
    let ended = Command::new(env!("CARGO"))
        .args(["run", "--quiet", "--offline", "--"])
        .args(args)
        .current_dir(folder)
        .env("CARGO_TARGET_DIR", target)
        .output()
        .expect("cargo runs");
    let stderr = String::from_utf8_lossy(&ended.stderr);
    assert!(ended.status.success(), "{stderr}");
    String::from_utf8(ended.stdout).expect("text")
}

#[test]
fn the_readme_runs() {
    let readme = fs::read_to_string(root().join("README.md")).expect("README");
    let folder = write("readme", &files(&readme, "An example", "For GPUs"));
    let sum: u64 = run(&folder, &[]).trim().parse().expect("a number");
    let bytes = fs::read(folder.join("Cargo.toml")).expect("the file that it reads");
    assert_eq!(sum, bytes.iter().map(|&byte| u64::from(byte)).sum());
}

#[test]
fn the_tutorial_runs() {
    let tutorial = root().join("docs/tutorial.md");
    let tutorial = fs::read_to_string(tutorial).expect("the tutorial");
    let part = |from, to| write("words", &files(&tutorial, from, to));
    part("Three crates", "A kernel");
    let folder = part("A kernel", "Calling the host");
    let text = fs::read_to_string(folder.join("Cargo.toml")).expect("the text");
    let words: Vec<_> = text.split_ascii_whitespace().collect();
    assert_eq!(run(&folder, &[]), format!("{} words\n", words.len()));
    // The reader's manifest has no workspace.
    let printed = words.len() - WORKSPACE.split_ascii_whitespace().count();
    let printed = format!("$ cargo run -q\n{printed} words\n");
    assert!(tutorial.contains(&printed), "{printed}");

    part("Calling the host", "On an emulated GPU");
    let mut long: Vec<_> = words
        .iter()
        .copied()
        .filter(|word| word.len() > 10)
        .collect();
    long.sort_unstable();
    assert!(!long.is_empty(), "no long words in {text}");
    let expected = format!("{} words, long: {}\n", words.len(), long.join(" "));
    assert_eq!(run(&folder, &["host", "Cargo.toml"]), expected);
}

#[test]
fn the_program_for_those_who_know_cuda_runs() {
    let page = read("docs/coming-from/cuda.md");
    let files = files(&page, "With this project, in Rust", "Kernels in CUDA C++");
    let folder = write("bill", &files);
    let overview = read("docs/coming-from.md");
    assert_eq!(blocks(&overview, "text"), [run(&folder, &[])]);
}

#[test]
fn other_suites_run_the_programs_of_the_pages() {
    for (page, language, copy) in COPIES {
        let (page, copied) = (read(page), read(copy));
        let (_, program) = copied.split_once("\n\n").expect(copy);
        assert!(blocks(&page, language).contains(&program), "{copy}");
    }
}

/// The page says that only the declaration of the function differs.
#[test]
fn with_llvm_the_program_is_the_same() {
    let page = read("docs/coming-from/llvm.md");
    let [theirs, ours] = blocks(&page, "c")[..] else {
        panic!("two programs");
    };
    let rest = |program| str::split_once(program, "\nenum ").expect("its start").1;
    assert_eq!(rest(theirs), rest(ours));
    assert!(ours.contains("#include \"revoff_rpc.h\"\n"));
}
