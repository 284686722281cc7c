//! Writes the seeds of each target into a folder of its name, for fuzzers: `fuzz FOLDER`. Prints the targets, and what a call
//! of each costs.

use std::io::Write;
use std::path::PathBuf;
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let folder = env::args_os().nth(1).map(PathBuf::from);
    let folder = folder.ok_or_else(|| io::Error::other("name a folder for the seeds"))?;
    for target in fuzz::TARGETS {
        let folder = folder.join(target.name);
        fs::create_dir_all(&folder)?;
        for (number, seed) in (target.seeds)().into_iter().enumerate() {
            fs::write(folder.join(number.to_string()), seed)?;
        }
        writeln!(io::stdout(), "{} {}", target.name, target.cost)?;
    }
    Ok(())
}
