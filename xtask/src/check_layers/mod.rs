//! In crates with a list of layers, modules import only from layers below their own and not from the
//! crate's root, so no cycle spans top-level modules, which are the files of a flat crate. In all
//! crates, no import cycle spans folders, and there is none between the files of a folder.
//!
//! A name counts as imported from the file that defines it, even if it comes through a `use` of
//! another file, such as the folder's `mod.rs`. Cycles inside a folder that need its `mod.rs` (or the
//! crate's `lib.rs`) are allowed: files may use the types that their own module defines.

mod graph;
mod imports;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::{Context, Result, ensure};

use self::graph::cycles;
use self::imports::{Import, Imports};
use crate::finding::{Finding, report};
use crate::metadata;
use crate::source;

/// The layers of crates, from the lowest up. Modules that are not listed import nothing of the
/// crate, and all others may import them.
const LAYERS: &[(&str, &[&str])] = &[
    (
        "device-rt",
        &[
            "host_written",
            "panic_record",
            "arch",
            "lanes",
            "claims",
            "bounce",
            "call",
            "marshal",
            "wake",
            "wire",
            "target_ext",
            "start",
            "pieces",
            "print",
            "log",
            "assertion",
            "macros",
            "thread",
            "image",
            "panic",
        ],
    ),
    (
        "host-rt",
        &[
            "base", "image", "device", "wire", "map", "serve", "runtime", "services", "task",
        ],
    ),
    (
        "libgomp-plugin",
        &[
            "error",
            "block_cache",
            "device",
            "launch",
            "kind",
            "libgomp",
            "image",
            "settings",
            "choice",
            "keep_loaded",
            "abort",
            "reverse",
            "load",
            "plugin",
            "region",
            "entry",
        ],
    ),
    (
        "libgomp-plugin-gcn",
        &[
            "error",
            "settings",
            "tables",
            "image",
            "arguments",
            "ending",
            "grid",
            "memory",
            "launch",
            "load",
        ],
    ),
    (
        "libgomp-plugin-nvptx",
        &["error", "image", "settings", "launch", "load"],
    ),
    (
        "libomptarget",
        &[
            "locks", "abi", "report", "settings", "args", "device", "registry", "mapping", "task",
            "region", "entry",
        ],
    ),
    (
        "bus-cost",
        &["traffic", "counts", "bus", "record", "report"],
    ),
    (
        "cuda-emu",
        &[
            "code",
            "pointers",
            "settings",
            "faults",
            "jit",
            "image",
            "state",
            "driver",
            "environment",
            "api",
            "functions",
        ],
    ),
    (
        "hsa-emu",
        &[
            "status",
            "pointers",
            "faults",
            "clock",
            "spec",
            "memory",
            "signal",
            "event",
            "copy",
            "gpu",
            "code",
            "packet_error",
            "packet",
            "queue",
            "runtime",
            "environment",
            "api",
            "functions",
        ],
    ),
    (
        "libcudart",
        &[
            "error", "driver", "sync", "pointers", "thread", "result", "context", "registry", "api",
        ],
    ),
    (
        "gcn-emu",
        &[
            "arch",
            "error",
            "isa",
            "inst",
            "alu",
            "decode",
            "text",
            "descriptor",
            "fault",
            "memory",
            "run",
            "machine",
        ],
    ),
    (
        "emu-engine",
        &["activity", "stalled", "progress", "launch", "processors"],
    ),
    (
        "ptx-emu",
        &[
            "text", "alu", "spec", "error", "memory", "code", "module", "check", "run", "machine",
        ],
    ),
];

pub(crate) fn run(root: &Path) -> Result<String> {
    let metadata = metadata::read(root)?;
    let (mut findings, mut crates, mut imports) = (Vec::new(), 0, 0);
    for package in metadata::packages(&metadata)? {
        let name = package["name"]
            .as_str()
            .context("a package without a name")?;
        let manifest = package["manifest_path"]
            .as_str()
            .context("a package without a manifest")?;
        let sources = Path::new(manifest).with_file_name("src");
        if !sources.is_dir() {
            continue;
        }
        let found = Imports::new(&source::read_crate(root, &sources)?);
        let layers = LAYERS.iter().find(|(of, _)| *of == name);
        findings.extend(check(&found, layers.map_or(&[], |(_, layers)| layers)));
        crates += 1;
        imports += found.list.len();
    }
    ensure!(
        imports > 0,
        "no crate imports anything: has the check gone blind?"
    );
    report(findings)?;
    Ok(format!(
        "check-layers: {crates} crates, {imports} imports between their files"
    ))
}

/// The violations of a crate with these layers.
fn check(imports: &Imports, layers: &[&str]) -> Vec<Finding> {
    let finding = |import: &Import, message| Finding {
        file: import.from.file.clone(),
        line: import.line,
        message,
    };
    let layer = |module: &[String]| {
        let top = module.first()?;
        layers.iter().position(|layer| layer == top)
    };
    let mut findings = Vec::new();
    let mut seen = BTreeSet::new();
    for import in imports.list.iter().filter(|_| !layers.is_empty()) {
        // Includes the modules that are written out in its file.
        let is_root = |file: &str| imports.root.as_deref() == Some(file);
        let (from, to) = (&import.from.module, &import.to.module);
        if is_root(&import.from.file) {
            continue;
        }
        let name = import.path();
        // Each name once per file: the list is sorted by line.
        if !seen.insert((&import.from.file, name.clone(), import.is_through_root)) {
            continue;
        }
        if is_root(&import.to.file) || import.is_through_root {
            let message =
                format!("`{name}` is imported from the crate's root, which is above all layers");
            findings.push(finding(import, message));
        } else if from[0] != to[0] && layer(to) >= layer(from) {
            let message = format!("`{name}`: `{}` is a layer below `{}`", from[0], to[0]);
            findings.push(finding(import, message));
        }
    }
    for cycle in cycles(imports) {
        let first = cycle.imports[0];
        // Layers are stricter.
        let has_layers = first.from.folder.is_empty() && !layers.is_empty();
        if !cycle.spans_folders && has_layers {
            continue;
        }
        let mut ties = BTreeMap::<_, Vec<_>>::new();
        for import in &cycle.imports {
            let names = ties
                .entry((&import.from.file, &import.to.file))
                .or_default();
            names.push(import.path());
        }
        let mut message = match cycle.spans_folders {
            true => "a cycle of imports spans folders:".to_owned(),
            false => "files of a folder import each other:".to_owned(),
        };
        for ((from, to), mut names) in ties {
            names.sort();
            names.dedup();
            message += &format!("\n    {from} -> {to}: {}", names.join(", "));
        }
        findings.push(finding(first, message));
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::parse_str;

    const LAYERS: &[&str] = &["base", "top"];

    /// The findings in a crate with these modules.
    fn found(modules: &[(&str, &str)]) -> Vec<String> {
        let modules = modules.iter().flat_map(|(path, text)| {
            let module = path
                .split('/')
                .filter(|part| *part != "mod")
                .map(str::to_owned);
            parse_str(&format!("{path}.rs"), module.collect(), text).expect("parses")
        });
        let findings = check(&Imports::new(&modules.collect::<Vec<_>>()), LAYERS);
        findings.iter().map(Finding::to_string).collect()
    }

    #[test]
    fn the_workspace_passes() {
        run(&crate::workspace_root()).expect("layers are kept to");
    }

    #[test]
    fn a_lower_layer_may_be_imported() {
        let base = ("base", "pub fn f() {}");
        assert!(found(&[base, ("top", "use crate::base::f;")]).is_empty());
    }

    #[test]
    fn an_upper_layer_may_not() {
        let top = ("top", "pub fn f() {}");
        for text in [
            "use crate::top::f;",
            "fn g() { crate::top::f() }",
            "fn g() { print!(\"{}\", crate::top::f()) }",
            "use crate::top; fn g() { top::f() }",
            "use crate::{top::f as other};",
            "use crate::top::f;\nfn g() { crate::top::f() }",
        ] {
            let found = found(&[("base", text), top]);
            assert_eq!(
                found,
                ["base.rs:1: error: `top::f`: `base` is a layer below `top`"],
                "{text}"
            );
        }
    }

    #[test]
    fn the_root_may_not() {
        let found = found(&[
            (
                "mod",
                "pub use base::f;\npub fn g() {}\nmod inner { use crate::base::f; pub fn h() {} }",
            ),
            ("base", "pub fn f() {}"),
            ("top", "use crate::g; use crate::inner::h; use crate::f;"),
        ]);
        let error = |name| {
            format!(
                "top.rs:1: error: `{name}` is imported from the crate's root, which is above all layers"
            )
        };
        assert_eq!(found, [error("g"), error("base::f"), error("inner::h")]);
    }

    #[test]
    fn a_name_is_followed_to_where_it_is_defined() {
        let of_top = [
            ("top", "pub use crate::base::f;"),
            ("base/mod", "mod inner;\npub use inner::f;"),
            ("base/inner", "pub fn f() {}"),
            ("base/other", "use crate::base::f;"),
        ];
        assert!(found(&of_top).is_empty());
    }

    #[test]
    fn a_cycle_across_folders_is_found() {
        let found = found(&[
            (
                "base/mod",
                "mod inner;\npub struct S;\nfn f() { inner::f() }",
            ),
            ("base/inner/mod", "use super::S;\npub fn f() {}"),
        ]);
        assert_eq!(found.len(), 1);
        assert!(
            found[0].contains("base/inner/mod.rs -> base/mod.rs: base::S"),
            "{}",
            found[0]
        );
        assert!(
            found[0].contains("base/mod.rs -> base/inner/mod.rs: base::inner::f"),
            "{}",
            found[0]
        );
    }

    #[test]
    fn a_cycle_between_the_files_of_a_folder_is_found() {
        let module = (
            "base/mod",
            "mod one;\nmod two;\npub use one::f;\npub use two::g;",
        );
        for (uses_g, uses_f) in [
            ("use super::two::g;", "use super::one::f;"),
            // Through the folder's own module.
            ("use super::g;", "use crate::base::f;"),
        ] {
            let one = format!("{uses_g}\npub fn f() {{}}");
            let two = format!("{uses_f}\npub fn g() {{}}");
            let found = found(&[module, ("base/one", &one), ("base/two", &two)]);
            assert_eq!(
                found,
                [
                    "base/one.rs:1: error: files of a folder import each other:\n    \
                     base/one.rs -> base/two.rs: base::two::g\n    \
                     base/two.rs -> base/one.rs: base::one::f"
                ]
            );
        }
    }

    #[test]
    fn a_cycle_through_the_module_of_a_folder_is_allowed() {
        let found = found(&[
            (
                "base/mod",
                "mod one;\nmod two;\npub struct S;\nfn h() { one::f(); two::g() }",
            ),
            ("base/one", "use super::two::g;\npub fn f() {}"),
            ("base/two", "use super::S;\npub fn g() {}"),
        ]);
        assert!(found.is_empty(), "{found:?}");
    }

    #[test]
    fn a_cycle_between_the_files_of_a_flat_crate_is_found() {
        let found = found(&[
            ("base", "use crate::top::g;\npub fn f() {}"),
            ("top", "use crate::base::f;\npub fn g() {}"),
        ]);
        assert_eq!(
            found,
            ["base.rs:1: error: `top::g`: `base` is a layer below `top`"]
        );
    }

    #[test]
    fn tests_are_free() {
        let base = ("base", "#[cfg(test)]\nmod tests { use crate::top::f; }");
        assert!(found(&[base, ("top", "pub fn f() {}")]).is_empty());
        let base = ("base/mod", "#[cfg(test)]\nmod tests;");
        assert!(
            found(&[
                base,
                ("base/tests", "use crate::top::f;"),
                ("top", "pub fn f() {}")
            ])
            .is_empty()
        );
    }
}
