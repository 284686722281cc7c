//! Loading a stand-in instead of a driver.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;

use libloading::Library;

/// The value of [`Place::wanted`] in processes with the stand-in.
const LOADED: &str = "loaded";

/// A driver's library, and its replacement.
pub struct Place {
    /// The environment variable that decides: `1` for the stand-in even where there is a GPU.
    pub wanted: &'static str,
    /// The stand-in's file, and the folder in which it has the driver's names.
    pub library: &'static str,
    /// See there.
    pub folder: &'static str,
    /// The names by which programs look for the driver.
    pub names: &'static [&'static str],
}

impl Place {
    /// Whether the stand-in is loaded in this process.
    #[must_use]
    pub fn is_loaded(&self) -> bool {
        std::env::var_os(self.wanted).is_some_and(|value| value == LOADED)
    }

    /// Whether the environment requests it.
    #[must_use]
    pub fn is_wanted(&self) -> bool {
        std::env::var_os(self.wanted).is_some_and(|value| value == "1")
    }

    /// Restarts this program with the stand-in. Returns the error if that fails.
    #[must_use]
    pub fn run_again(&self) -> io::Error {
        let again = || {
            let mut folders = OsString::from(self.folder()?);
            if let Some(others) = std::env::var_os("LD_LIBRARY_PATH") {
                folders.push(":");
                folders.push(others);
            }
            Ok(Command::new(std::env::current_exe()?)
                .args(std::env::args_os().skip(1))
                .env("LD_LIBRARY_PATH", folders)
                .env(self.wanted, LOADED)
                .exec())
        };
        again().unwrap_or_else(|error| error)
    }

    /// Calls a function of the stand-in, and not of the driver, that returns a number.
    ///
    /// # Panics
    /// The stand-in is not loaded.
    #[must_use]
    pub fn ask(&self, function: &str) -> u64 {
        // SAFETY: such functions of a stand-in take no arguments and return a number.
        self.call(|library| unsafe {
            Ok(library
                .get::<extern "C" fn() -> u64>(function.as_bytes())?(
            ))
        })
    }

    /// Calls `run` with the stand-in's library.
    ///
    /// # Panics
    /// The stand-in is not loaded.
    pub fn call<T>(&self, run: impl FnOnce(&Library) -> Result<T, libloading::Error>) -> T {
        // SAFETY: a stand-in has no initialisers.
        let library = unsafe { Library::new(self.names[0]) };
        let answer = library.and_then(|library| run(&library));
        answer.unwrap_or_else(|error| panic!("the stand-in is not loaded: {error}"))
    }

    /// The stand-in's file: beside the program that is running, a test of a crate that depends
    /// on the stand-in.
    ///
    /// # Errors
    /// It does not exist.
    pub fn file(&self) -> io::Result<PathBuf> {
        let file = std::env::current_exe()?.with_file_name(self.library);
        let found = fs::metadata(&file).map(drop);
        found.map_err(|e| io::Error::new(e.kind(), format!("{}: {e}", file.display())))?;
        Ok(file)
    }

    /// A folder with only the stand-in, under the driver's names.
    fn folder(&self) -> io::Result<PathBuf> {
        let file = self.file()?;
        let folder = file.with_file_name(self.folder);
        fs::create_dir_all(&folder)?;
        for name in self.names {
            // In one step, since other tests may use it at the same time.
            let new = folder.join(format!("{name}.{}", std::process::id()));
            symlink(&file, &new)?;
            fs::rename(&new, folder.join(name))?;
        }
        Ok(folder)
    }
}
