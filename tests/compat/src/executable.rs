//! Executable files that tests write.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::complete;

/// Writes a file that can be executed at once.
///
/// Another process writes the file itself. A file that this process has open for writing is also
/// open in processes that other threads are starting, until these run their programs; meanwhile
/// Linux refuses to execute it (`ETXTBSY`).
///
/// # Errors
/// It cannot be written.
pub fn write_executable(path: &Path, bytes: &[u8]) -> Result<(), String> {
    let mut content = path.as_os_str().to_owned();
    content.push(".content");
    let content = Path::new(&content);
    fs::write(content, bytes).map_err(|error| format!("{}: {error}", content.display()))?;
    let mut install = Command::new("install");
    complete(install.args(["-m", "755"]).args([content, path]))?;
    fs::remove_file(content).map_err(|error| format!("{}: {error}", content.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run;
    use std::env;
    use std::thread;
    use std::time::Duration;

    #[test]
    fn it_can_be_run_while_others_start_programs() {
        let folder = env::temp_dir().join(format!("compat-executable-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("a folder");
        thread::scope(|scope| {
            for worker in 0..8 {
                let path = folder.join(worker.to_string());
                scope.spawn(move || {
                    for round in 0..20 {
                        let script = format!("#!/bin/sh\necho {round}\n");
                        write_executable(&path, script.as_bytes()).expect("written");
                        let outcome = run(&mut Command::new(&path), Duration::from_secs(60));
                        assert_eq!(outcome.expect("not busy").stdout, format!("{round}\n"));
                    }
                });
            }
        });
        fs::remove_dir_all(&folder).expect("removed");
    }
}
