//! Host functions in C, from shared libraries.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};
use revoff_host::{Functions, Image, RawFunction};

/// The functions that an image may call and a library exports; the first library counts.
pub(crate) struct Found {
    pub(crate) functions: Functions,
    /// Names that no library exports.
    pub(crate) missing: Vec<String>,
}

/// Looks for the functions of `image` in the libraries at `paths`.
pub(crate) fn find(image: &Image, paths: &[PathBuf]) -> anyhow::Result<Found> {
    let libraries = paths
        .iter()
        .map(|path| HostLibrary::open(path))
        .collect::<Result<Vec<_>, _>>()?;
    let mut found = Found {
        functions: Functions::new(),
        missing: Vec::new(),
    };
    for declared in image.functions()? {
        let name = declared.name;
        match libraries.iter().find(|library| library.has(&name)) {
            Some(library) => {
                let function = library.function(&name)?;
                // SAFETY: a user who names a library on the command line asserts that its functions
                // of these names are host functions of this image; the help text lists the
                // conditions. They are never unloaded.
                unsafe { found.functions.add_raw(name, function)? };
            }
            None => found.missing.push(name),
        }
    }
    Ok(found)
}

/// A library that exports host functions.
struct HostLibrary {
    name: String,
    /// Its exports. The loader would also find functions of its dependencies: a host function `read`
    /// is not the C library's.
    symbols: Image,
    /// Never unloaded: its functions may have started threads, or registered exit handlers.
    library: &'static Library,
}

impl HostLibrary {
    fn open(path: &Path) -> anyhow::Result<Self> {
        let name = path.display().to_string();
        let unreadable = || format!("cannot read the library {name} (--functions)");
        let bytes = fs::read(path).with_context(unreadable)?;
        let symbols = Image::from_bytes(&*name, bytes).with_context(|| {
            format!("{name} is no shared library with host functions (--functions)")
        })?;
        // The loader treats a name without a slash as a system library.
        let path = path.canonicalize().with_context(unreadable)?;
        // SAFETY: loading runs the library's initialisers. The user named the library as one whose
        // functions this command calls, and so trusts its code.
        let library = unsafe { Library::open(Some(&path), RTLD_NOW | RTLD_LOCAL) }
            .with_context(|| format!("cannot load {name}"))?;
        Ok(Self {
            name,
            symbols,
            library: Box::leak(Box::new(library)),
        })
    }

    fn has(&self, name: &str) -> bool {
        self.symbols
            .symbol(name)
            .is_some_and(|symbol| symbol.is_code)
    }

    fn function(&self, name: &str) -> anyhow::Result<RawFunction> {
        // SAFETY: the symbol is code of the library (`has`), and the user asserts that it is a host
        // function, as the help text requires.
        let function = unsafe { self.library.get::<RawFunction>(name.as_bytes()) };
        Ok(*function.with_context(|| format!("cannot find `{name}` in {}", self.name))?)
    }
}
