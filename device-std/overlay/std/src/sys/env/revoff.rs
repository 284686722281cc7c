//! The environment: the host's at first, then the program's own.

pub use super::common::Env;
use crate::collections::BTreeMap;
use crate::ffi::{OsStr, OsString};
use crate::io;
use crate::sync::Mutex;
use crate::sys::pal;

static VARIABLES: Mutex<Option<BTreeMap<OsString, OsString>>> = Mutex::new(None);

fn with<T>(run: impl FnOnce(&mut BTreeMap<OsString, OsString>) -> T) -> T {
    let mut variables = VARIABLES.lock().unwrap();
    run(variables.get_or_insert_with(|| {
        let list = pal::text(pal::host::std_environment).unwrap_or_default();
        let text = |bytes: &[u8]| pal::os_string(bytes.to_vec());
        let pair = |variable: &[u8]| {
            // A name may begin with `=`, as on Unix.
            let end = variable.iter().skip(1).position(|byte| *byte == b'=')? + 1;
            Some((text(&variable[..end]), text(&variable[end + 1..])))
        };
        pal::elements(&list).filter_map(pair).collect()
    }))
}

pub fn env() -> Env {
    let list = |variables: &mut BTreeMap<OsString, OsString>| {
        variables.iter().map(|(name, value)| (name.clone(), value.clone())).collect()
    };
    Env::new(with(list))
}

pub fn getenv(name: &OsStr) -> Option<OsString> {
    with(|variables| variables.get(name).cloned())
}

pub unsafe fn setenv(name: &OsStr, value: &OsStr) -> io::Result<()> {
    with(|variables| variables.insert(name.to_owned(), value.to_owned()));
    Ok(())
}

pub unsafe fn unsetenv(name: &OsStr) -> io::Result<()> {
    with(|variables| variables.remove(name));
    Ok(())
}
