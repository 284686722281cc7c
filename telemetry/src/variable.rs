//! The names in the environment.

use std::env;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process;

/// A variable with the name of a file.
pub(crate) struct Variable(&'static str);

impl Variable {
    pub(crate) const fn new(name: &'static str) -> Self {
        Self(name)
    }

    pub(crate) const fn name(&self) -> &'static str {
        self.0
    }

    /// The file, in whose name `%p` stands for the process; `None` if the variable is unset or empty.
    pub(crate) fn path(&self) -> Option<PathBuf> {
        env::var_os(self.0).and_then(path)
    }
}

fn path(value: OsString) -> Option<PathBuf> {
    if value.is_empty() {
        return None;
    }
    Some(match value.to_str() {
        Some(name) => PathBuf::from(name.replace("%p", &process::id().to_string())),
        None => PathBuf::from(value),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_process_is_a_part_of_the_name() {
        let expected = format!("a/{}.json", process::id());
        assert_eq!(path("a/%p.json".into()), Some(expected.into()));
        assert_eq!(path("a".into()), Some("a".into()));
        assert_eq!(path(OsString::new()), None);
    }
}
