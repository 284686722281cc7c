//! `revoff inspect`, on images and on what is none.

mod common;

use std::fs;
use std::path::Path;

use common::{Ended, image, revoff, run, scratch};
use serde_json::Value;

fn inspect(path: impl AsRef<Path>) -> Ended {
    run(revoff().arg("inspect").arg(path.as_ref()))
}

fn inspect_json(path: impl AsRef<Path>) -> Value {
    let text = run(revoff().args(["inspect", "--json"]).arg(path.as_ref())).answer();
    serde_json::from_str(&text).expect("JSON")
}

#[test]
fn an_image_in_rust() {
    let answer = inspect_json(image::BENCH);
    assert_eq!(answer["abi_version"], answer["host_abi_version"]);
    let content = &answer["content"];
    assert_eq!(content["reverse_offload"], true);
    assert_eq!(
        content["wires"],
        serde_json::json!(["native", "gcc-ring", "gcc-slot"])
    );
    let names = |list: &str| -> Vec<String> {
        let list = content[list].as_array().expect("a list");
        list.iter()
            .map(|item| item["name"].as_str().expect("a name").to_owned())
            .collect()
    };
    assert_eq!(names("kernels"), ["count", "now", "pauses", "time"]);
    assert_eq!(names("functions"), ["bare", "nothing", "touch"]);
    // `count(what: u32, from: u64, until: u64, counts: *mut u64)`.
    assert_eq!(content["kernels"][0]["params"]["count"], 4);
    assert_eq!(content["kernels"][0]["params"]["bytes"], 28);
    assert!(
        content["functions"][0]["signature"].is_null(),
        "called without a declaration"
    );
    assert!(
        content["functions"][1]["signature"]
            .as_str()
            .is_some_and(|s| s.starts_with("0x"))
    );

    let text = inspect(image::BENCH).answer();
    for word in [
        "count: 4 parameters, 28 bytes",
        "nothing: signature 0x",
        "native, gcc-ring",
    ] {
        assert!(text.contains(word), "no `{word}` in: {text}");
    }
}

#[test]
fn an_image_in_c() {
    let answer = inspect_json(&image::hello().image);
    let content = &answer["content"];
    assert_eq!(
        content["kernels"],
        serde_json::json!([{ "name": "hello", "params": null }])
    );
    assert_eq!(content["functions"][0]["name"], "greet");
    assert_eq!(content["functions"][0]["signature"], Value::Null);
    assert_eq!(content["functions"][1]["name"], "sort");
    let gcc = content["gcc_symbols"].as_array().expect("a list");
    assert!(gcc.contains(&"GOMP_target_ext".into()), "{gcc:?}");
}

#[test]
fn a_library_has_no_reverse_offload() {
    let answer = inspect_json(&image::hello().functions);
    assert_eq!(answer["abi_version"], Value::Null);
    assert_eq!(answer["content"]["reverse_offload"], false);
    assert_eq!(answer["content"]["functions"], serde_json::json!([]));
    assert!(
        inspect(&image::hello().functions)
            .answer()
            .contains("reverse offload: no")
    );
}

#[test]
fn ptx_is_known_by_its_first_directive() {
    let path = scratch("inspect-ptx").join("k.ptx");
    fs::write(&path, "// made by hand\n.version 7.0\n.target sm_70\n").expect("written");
    let answer = inspect_json(&path);
    assert_eq!(answer["format"], "PTX for an NVIDIA GPU");
    assert_eq!(answer["content"], Value::Null);
}

#[test]
fn what_is_no_image_is_refused() {
    let folder = scratch("inspect-bad");
    let path = |name: &str| folder.join(name);
    let put = |name: &str, bytes: &[u8]| {
        fs::write(path(name), bytes).expect("written");
        path(name)
    };
    inspect(path("missing.so")).refused(&["missing.so", "No such file"]);
    inspect(&folder).refused(&["inspect-bad", "directory"]);
    inspect(put("empty.so", b"")).refused(&["empty.so", "it is empty"]);
    inspect(put("text.so", b"hello\n")).refused(&["text.so", "neither ELF nor PTX"]);
    inspect(put("short.so", b"\x7fELF")).refused(&["short.so", "ELF"]);

    let image = fs::read(image::BENCH).expect("the image");
    inspect(put("cut.so", &image[..100])).refused(&["cut.so", "ELF"]);
    inspect(put("cut-later.so", &image[..image.len() / 2])).refused(&["cut-later.so"]);
    // ELF's type in bytes 16 and 17: 2 is a program, 1 an object file.
    let mut program = image.clone();
    program[16] = 2;
    inspect(put("program", &program)).refused(&["program", "not a shared object"]);
    let mut bits = image;
    bits[4] = 1;
    inspect(put("bits.so", &bits)).refused(&["bits.so"]);
}
