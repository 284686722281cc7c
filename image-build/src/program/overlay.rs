//! Lays the platform layer over a copy of the standard library's source.

use std::fs;
use std::path::{Path, PathBuf};

use super::{atomics, math};
use crate::device::Toolchain;
use crate::error::{BuildError, io_at};

/// The releases of the standard library that the overlay fits.
const SUPPORTED: &[(u32, u32)] = &[(1, 96)];

/// The changes as a text: a library with others is another one.
pub(super) const CHANGES: &str = concat!(
    include_str!("overlay.rs"),
    include_str!("atomics.rs"),
    include_str!("math.rs")
);

/// A change of one file of the library.
struct Edit {
    /// The file, below `library`.
    file: &'static str,
    /// A text in it. Only the `nth` occurrence counts, from 0.
    anchor: &'static str,
    nth: usize,
    /// The text to insert behind the anchor.
    insert: &'static str,
}

const fn after(file: &'static str, anchor: &'static str, nth: usize, insert: &'static str) -> Edit {
    Edit {
        file,
        anchor,
        nth,
        insert,
    }
}

/// The first arm of a `cfg_select!` wins, so that ours only has to be the first.
const SELECT: &str = "cfg_select! {\n";

/// An arm for a module with the name `revoff` beside its siblings.
macro_rules! arm {
    ($exports:literal) => {
        concat!(
            "    target_os = \"revoff\" => {\n        mod revoff;\n        pub use revoff::",
            $exports,
            ";\n    }\n"
        )
    };
    (use $imp:literal) => {
        concat!(
            "    target_os = \"revoff\" => {\n        mod revoff;\n        use revoff as ",
            $imp,
            ";\n    }\n"
        )
    };
}

/// The arm of std's locks that chooses the implementation on a futex.
macro_rules! futex {
    ($exports:literal) => {
        concat!(
            "    target_os = \"revoff\" => {\n        mod futex;\n        pub use futex::",
            $exports,
            ";\n    }\n"
        )
    };
}

/// For the functions between which a backtrace is interesting.
const NOT_INLINED: &str = "#[cfg_attr(target_os = \"revoff\", inline(never))]\n";

const EDITS: &[Edit] = &[
    // Without this, std is unstable for its users.
    after(
        "std/build.rs",
        "        || target_os == \"zkvm\"\n",
        0,
        "        || target_os == \"revoff\"\n",
    ),
    // The end of a program after a panic's message.
    after(
        "std/src/rt.rs",
        "fn __rust_abort() {\n",
        0,
        "    #[cfg(target_os = \"revoff\")]\n    crate::sys::end_after_panic();\n    \
         #[cfg(not(target_os = \"revoff\"))]\n",
    ),
    after(
        "std/src/io/mod.rs",
        "pub(crate) use stdio::cleanup;\n",
        0,
        "#[cfg(target_os = \"revoff\")]\npub(crate) use stdio::flush_stdout;\n",
    ),
    after(
        "std/src/io/stdio.rs",
        "static STDOUT: OnceLock<ReentrantLock<RefCell<LineWriter<StdoutRaw>>>> = OnceLock::new();\n",
        0,
        "\n/// Writes what is in the buffer, unless a thread is using it.\n\
         #[cfg(target_os = \"revoff\")]\npub fn flush_stdout() {\n    \
         if let Some(stdout) = STDOUT.get()\n        && let Some(lock) = stdout.try_lock()\n        \
         && let Ok(mut writer) = lock.try_borrow_mut()\n    {\n        let _ = writer.flush();\n    }\n}\n",
    ),
    after(
        "std/src/sys/alloc/mod.rs",
        "    target_arch = \"x86_64\",\n",
        0,
        "    target_arch = \"nvptx64\",\n    target_arch = \"amdgpu\",\n",
    ),
    after(
        "std/src/sys/alloc/mod.rs",
        SELECT,
        0,
        "    target_os = \"revoff\" => {\n        mod revoff;\n    }\n",
    ),
    // Backtraces, where `device-std` finds frames.
    after(
        "std/src/panic.rs",
        "    if !cfg!(feature = \"backtrace\")",
        0,
        " && !cfg!(all(target_os = \"revoff\", any(target_arch = \"x86_64\", target_arch = \"aarch64\")))",
    ),
    after(
        "std/src/sys/backtrace.rs",
        "/// it's fine to optimize away.\n",
        0,
        NOT_INLINED,
    ),
    after(
        "std/src/sys/backtrace.rs",
        "/// it's fine to optimize away.\n",
        1,
        NOT_INLINED,
    ),
    after(
        "backtrace/src/backtrace/mod.rs",
        "cfg_if::cfg_if! {\n    // This needs to come first, to ensure that\n    \
         // Miri takes priority over the host platform\n",
        0,
        "    if #[cfg(target_os = \"revoff\")] {\n        mod revoff;\n        \
         use self::revoff::trace as trace_imp;\n        pub(crate) use self::revoff::Frame as FrameImp;\n    \
         } else\n",
    ),
    after(
        "backtrace/src/symbolize/mod.rs",
        "cfg_if::cfg_if! {\n    if #[cfg(miri)] {\n        mod miri;\n        use miri as imp;\n    } else ",
        0,
        "if #[cfg(target_os = \"revoff\")] {\n        mod revoff;\n        use revoff as imp;\n    } else ",
    ),
    after("std/src/sys/pal/mod.rs", SELECT, 0, arm!("*")),
    after(
        "std/src/sys/args/mod.rs",
        "    target_os = \"xous\",\n",
        0,
        "    target_os = \"revoff\",\n",
    ),
    after(
        "std/src/sys/env/mod.rs",
        "    target_os = \"xous\",\n",
        0,
        "    target_os = \"revoff\",\n",
    ),
    after("std/src/sys/args/mod.rs", SELECT, 0, arm!("*")),
    after("std/src/sys/env/mod.rs", SELECT, 0, arm!("*")),
    after("std/src/sys/stdio/mod.rs", SELECT, 0, arm!("*")),
    after("std/src/sys/io/error/mod.rs", SELECT, 0, arm!("*")),
    after(
        "std/src/sys/io/mod.rs",
        "cfg_select! {\n",
        1,
        "        target_os = \"revoff\" => {\n            mod revoff;\n            pub use revoff::*;\n        }\n",
    ),
    after("std/src/sys/random/mod.rs", SELECT, 0, arm!("fill_bytes")),
    after("std/src/sys/time/mod.rs", SELECT, 0, arm!(use "imp")),
    after("std/src/sys/fs/mod.rs", SELECT, 0, arm!(use "imp")),
    after("std/src/sys/net/connection/mod.rs", SELECT, 0, arm!("*")),
    after("std/src/sys/paths/mod.rs", SELECT, 0, arm!(use "imp")),
    // A path that begins with `/` is absolute.
    after(
        "std/src/sys/path/unix.rs",
        "cfg!(any(unix, ",
        0,
        "target_os = \"revoff\", ",
    ),
    after(
        "std/src/sys/thread/mod.rs",
        SELECT,
        0,
        "    target_os = \"revoff\" => {\n        mod revoff;\n        pub use revoff::{\n            \
         DEFAULT_MIN_STACK_SIZE, Thread, available_parallelism, current_os_id, sleep, yield_now,\n        \
         };\n        #[expect(dead_code)]\n        mod unsupported;\n        pub use unsupported::set_name;\n    }\n",
    ),
    after(
        "std/src/sys/exit.rs",
        SELECT,
        1,
        "        target_os = \"revoff\" => {\n            crate::sys::pal::device::std_exit(code)\n        }\n",
    ),
    after("std/src/sys/pipe/mod.rs", SELECT, 0, arm!("{Pipe, pipe}")),
    after("std/src/sys/process/mod.rs", SELECT, 0, arm!(use "imp")),
    // std's own `output`, not one of the platform.
    after(
        "std/src/sys/process/mod.rs",
        "    target_os = \"windows\",\n",
        1,
        "    target_os = \"revoff\",\n",
    ),
    after(
        "std/src/sys/process/mod.rs",
        "    target_os = \"windows\",\n",
        0,
        "    target_os = \"revoff\",\n",
    ),
    after(
        "std/src/sys/thread_local/mod.rs",
        "pub(crate) mod guard {\n    cfg_select! {\n",
        0,
        "        target_os = \"revoff\" => {\n            pub(crate) fn enable() {}\n        }\n",
    ),
    after(
        "std/src/sys/thread_local/mod.rs",
        "pub(crate) mod key {\n    cfg_select! {\n",
        0,
        "        target_os = \"revoff\" => {\n            mod racy;\n            mod revoff;\n            \
         pub(super) use racy::LazyKey;\n            pub(crate) use revoff::run_destructors;\n            \
         pub(super) use revoff::{Key, get, set};\n            use revoff::{create, destroy};\n        }\n",
    ),
    after("std/src/sys/sync/mutex/mod.rs", SELECT, 0, futex!("Mutex")),
    after(
        "std/src/sys/sync/condvar/mod.rs",
        SELECT,
        0,
        futex!("Condvar"),
    ),
    after(
        "std/src/sys/sync/once/mod.rs",
        SELECT,
        0,
        futex!("{Once, OnceState}"),
    ),
    after(
        "std/src/sys/sync/rwlock/mod.rs",
        SELECT,
        0,
        futex!("RwLock"),
    ),
    after(
        "std/src/sys/sync/thread_parking/mod.rs",
        SELECT,
        0,
        futex!("Parker"),
    ),
    after(
        "std/src/sys/env_consts.rs",
        "    pub const EXE_SUFFIX: &str = \".elf\";\n    pub const EXE_EXTENSION: &str = \"elf\";\n}\n",
        0,
        "\n#[cfg(target_os = \"revoff\")]\npub mod os {\n    pub const FAMILY: &str = \"\";\n    \
         pub const OS: &str = \"revoff\";\n    pub const DLL_PREFIX: &str = \"\";\n    \
         pub const DLL_SUFFIX: &str = \"\";\n    pub const DLL_EXTENSION: &str = \"\";\n    \
         pub const EXE_SUFFIX: &str = \"\";\n    pub const EXE_EXTENSION: &str = \"\";\n}\n",
    ),
];

/// Copies the library's source to the folder `to` and lays the platform layer in `overlay` over it.
pub(crate) fn lay(toolchain: &Toolchain, overlay: &Path, to: &Path) -> Result<(), BuildError> {
    if !SUPPORTED.contains(&toolchain.version()) {
        let known: Vec<_> = SUPPORTED
            .iter()
            .map(|(major, minor)| format!("{major}.{minor}"))
            .collect();
        return Err(BuildError::UnsupportedStd {
            release: toolchain.release().to_owned(),
            supported: known.join(", "),
        });
    }
    copy_tree(&toolchain.library_source(), to)?;
    copy_tree(overlay, to)?;
    for edit in EDITS {
        change(toolchain, &to.join(edit.file), |text| {
            let (at, found) = text.match_indices(edit.anchor).nth(edit.nth)?;
            let mut changed = text.to_owned();
            changed.insert_str(at + found.len(), edit.insert);
            Some(changed)
        })?;
    }
    change(toolchain, &to.join(atomics::FILE), atomics::complete)?;
    change(toolchain, &to.join(math::FILE), math::replace)
}

/// Changes a file; `None` means that it is not as expected.
fn change(
    toolchain: &Toolchain,
    path: &Path,
    change: impl FnOnce(&str) -> Option<String>,
) -> Result<(), BuildError> {
    let text = fs::read_to_string(path).map_err(io_at(path))?;
    let changed = change(&text).ok_or_else(|| BuildError::UnknownStd {
        release: toolchain.release().to_owned(),
        path: path.to_owned(),
    })?;
    fs::write(path, changed).map_err(io_at(path))
}

/// Copies all files of a folder.
fn copy_tree(from: &Path, to: &Path) -> Result<(), BuildError> {
    fs::create_dir_all(to).map_err(io_at(to))?;
    let mut entries: Vec<PathBuf> = Vec::new();
    for entry in fs::read_dir(from).map_err(io_at(from))? {
        entries.push(entry.map_err(io_at(from))?.path());
    }
    for path in entries {
        let Some(name) = path.file_name() else {
            continue;
        };
        if path.is_dir() {
            copy_tree(&path, &to.join(name))?;
        } else {
            let to = to.join(name);
            let bytes = fs::read(&path).map_err(io_at(&path))?;
            // Not `fs::copy`, which copies the permissions: the source may be read-only.
            fs::write(&to, bytes).map_err(io_at(&to))?;
        }
    }
    Ok(())
}
