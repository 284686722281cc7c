//! grep PATTERN PATH..: prints the lines that match a regular expression. Folders are searched.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Write};
use std::path::Path;
use std::process::ExitCode;
use std::{env, error};

use regex::bytes::Regex;

fn main() -> Result<ExitCode, Box<dyn error::Error>> {
    let mut arguments = env::args_os().skip(1);
    let Some(pattern) = arguments.next() else {
        return Err("usage: grep PATTERN PATH..".into());
    };
    let pattern = Regex::new(&pattern.to_string_lossy())?;
    let mut out = io::stdout().lock();
    let mut is_found = false;
    for path in arguments {
        is_found |= search(&pattern, Path::new(&path), &mut out)?;
    }
    Ok(if is_found {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// Searches a file, or all files below a folder in the order of their names.
fn search(pattern: &Regex, path: &Path, out: &mut impl Write) -> io::Result<bool> {
    let with_path =
        |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", path.display()));
    let mut is_found = false;
    if path.is_dir() {
        let mut entries = fs::read_dir(path)
            .and_then(Iterator::collect::<io::Result<Vec<_>>>)
            .map_err(with_path)?;
        entries.sort_by_key(fs::DirEntry::file_name);
        for entry in entries {
            is_found |= search(pattern, &entry.path(), out)?;
        }
        return Ok(is_found);
    }
    let file = File::open(path).map_err(with_path)?;
    // Each read is a call to the host: let it be large.
    let lines = BufReader::with_capacity(1 << 20, file).split(b'\n');
    for (number, line) in (1..).zip(lines) {
        let line = line.map_err(with_path)?;
        if pattern.is_match(&line) {
            is_found = true;
            write!(out, "{}:{number}:", path.display())?;
            out.write_all(&line)?;
            out.write_all(b"\n")?;
        }
    }
    Ok(is_found)
}
