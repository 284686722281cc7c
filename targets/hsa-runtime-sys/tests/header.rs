//! Compares the bindings with the installed headers: layouts and constants, by a C compiler. That
//! Rust's layouts match the bindings is checked when these compile.

use std::fmt::Write as _;
use std::io::Write as _;
use std::mem::offset_of;
use std::path::Path;
use std::process::{Command, Stdio};

use hsa_runtime_sys::{hsa_amd_event_s__bindgen_ty_1, hsa_amd_event_t};

const BINDINGS: &str = include_str!("../src/bindings.rs");

/// C assertions for the bindings, one line each.
fn assertions(bindings: &str) -> String {
    let mut c = String::from(
        "#include <stddef.h>\n#include <hsa/hsa.h>\n#include <hsa/hsa_ext_amd.h>\n#include <hsa/hsa_ven_amd_loader.h>\n#include <hsa/amd_hsa_signal.h>\n",
    );
    let mut assert = |what: &str, value: &str| {
        let _ = writeln!(
            c,
            "_Static_assert({what} == {value}, \"{what} is {value}\");"
        );
    };
    // Each assertion of bindgen's: `["Size of hsa_agent_s"][size_of::<hsa_agent_s>() - 8usize]`.
    for text in bindings.split("[\"").skip(1) {
        let Some((what, rest)) = text.split_once("\"]") else {
            continue;
        };
        let number = rest.split_once("- ").map(|(_, rest)| rest);
        let Some((number, _)) = number.and_then(|rest| rest.split_once("usize")) else {
            continue;
        };
        // A type without a name in C cannot be checked directly; its fields are.
        if what.contains("__bindgen") {
            continue;
        }
        if let Some(name) = what.strip_prefix("Size of ") {
            assert(&format!("sizeof({})", c_type(name)), number);
        } else if let Some(name) = what.strip_prefix("Alignment of ") {
            assert(&format!("_Alignof({})", c_type(name)), number);
        } else if let Some((name, field)) = what
            .strip_prefix("Offset of field: ")
            .and_then(|field| field.split_once("::"))
        {
            // bindgen's name for a field that is a Rust keyword.
            let field = field.strip_suffix('_').unwrap_or(field);
            assert(&format!("offsetof({}, {field})", c_type(name)), number);
        }
    }
    // The only used field of this type.
    let fault = offset_of!(hsa_amd_event_t, __bindgen_anon_1)
        + offset_of!(hsa_amd_event_s__bindgen_ty_1, memory_fault);
    assert(
        "offsetof(hsa_amd_event_t, memory_fault)",
        &fault.to_string(),
    );
    // `pub const HSA_STATUS_SUCCESS: hsa_status_t = 0;`
    for line in bindings.split("pub const ").skip(1) {
        let line = line.split_once(';').map_or(line, |(line, _)| line);
        let (Some((name, _)), Some((_, value))) = (line.split_once(':'), line.rsplit_once('='))
        else {
            panic!("a constant without type and value: {line}");
        };
        assert(name, value.trim());
    }
    c
}

fn c_type(name: &str) -> String {
    match name.strip_suffix("_s") {
        Some(_) => format!("struct {name}"),
        None => name.to_owned(),
    }
}

/// The compiler's error, if it rejects the assertions.
fn compile(c: &str) -> Result<(), String> {
    let mut compiler = Command::new("cc")
        .args(["-std=c11", "-fsyntax-only", "-x", "c", "-"])
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("a C compiler, which Rust takes to link");
    let input = compiler.stdin.take();
    input.expect("a pipe").write_all(c.as_bytes()).expect("all");
    let output = compiler.wait_with_output().expect("an end");
    match output.status.success() {
        true => Ok(()),
        false => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
    }
}

#[test]
fn the_header_says_the_same() {
    if !Path::new("/usr/include/hsa/hsa.h").exists() {
        eprintln!("SKIPPED: no headers of ROCr (Debian: apt-get install libhsa-runtime-dev)");
        return;
    }
    let c = assertions(BINDINGS);
    let count = c.matches("_Static_assert").count();
    assert!(count > 250, "{count} assertions, of so many bindings");
    if let Err(errors) = compile(&c) {
        panic!("{errors}");
    }
    // The compiler detects each error: a size, an offset, a constant.
    for (right, wrong) in [
        (
            "sizeof(struct hsa_agent_s) == 8",
            "sizeof(struct hsa_agent_s) == 16",
        ),
        (
            "offsetof(struct hsa_queue_s, size) == 24",
            "offsetof(struct hsa_queue_s, size) == 20",
        ),
        (
            "offsetof(hsa_amd_event_t, memory_fault) == 8",
            "offsetof(hsa_amd_event_t, memory_fault) == 4",
        ),
        ("HSA_STATUS_ERROR == 4096", "HSA_STATUS_ERROR == 4097"),
    ] {
        assert!(c.contains(right), "no `{right}` in\n{c}");
        let errors = compile(&c.replace(right, wrong)).expect_err(wrong);
        assert!(errors.contains("static assertion failed"), "{errors}");
    }
}
