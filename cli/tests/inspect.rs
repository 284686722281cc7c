//! `revoff inspect`, on images and on other files.

mod common;

use std::fs;
use std::path::{Path, PathBuf};

use common::{Ended, image, revoff, run, scratch};
use revoff_host::targets::DeviceArch;
use revoff_host::targets::offload_binary::{Entry, ImageKind, OffloadKind, write};
use serde_json::Value;
use test_fatbin::Stored;

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
        serde_json::json!(["native", "gcc-ring", "gcn-queue", "gcc-slot"])
    );
    let names = |list: &str| -> Vec<String> {
        let list = content[list].as_array().expect("a list");
        list.iter()
            .map(|item| item["name"].as_str().expect("a name").to_owned())
            .collect()
    };
    assert_eq!(
        names("kernels"),
        [
            "arithmetic",
            "count",
            "now",
            "pauses",
            "ping_count",
            "ping_time",
            "repeat",
            "soak",
            "time",
            "verify_rpc"
        ]
    );
    assert_eq!(
        names("functions"),
        [
            "bare",
            "exchange",
            "nothing",
            "touch",
            "touch_large",
            "work"
        ]
    );
    // `count(what: u32, from: u64, until: u64, batch: u64, counts: *mut u64)`.
    assert_eq!(content["kernels"][1]["params"]["count"], 5);
    assert_eq!(content["kernels"][1]["params"]["bytes"], 36);
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
        "count: 5 parameters, 36 bytes in total, signature 0x",
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
        serde_json::json!([{
            "name": "hello",
            "params": { "count": 1, "bytes": 8, "sizes": null, "signature": null }
        }])
    );
    assert_eq!(content["wires"], serde_json::json!(["native"]));
    let text = inspect(&image::hello().image).answer();
    assert!(
        text.contains("  hello: 1 parameter, 8 bytes in total\n"),
        "{text}"
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

/// PTX in the form that rustc and clang write, by hand.
const PTX: &str = "// made by hand
.version 7.0
.target sm_70
.visible .global .align 8 .b8 __revoff_fn_greet[8] = {136, 119, 102, 85, 68, 51, 34, 17};
.visible .global .align 8 .b8 __revoff_kernel_hello[16] = {2, 0, 0, 0, 12, 0, 0, 0, 7};
.visible .entry hello(.param .u64 out, .param .u32 n) { ret; }
";

#[test]
fn ptx_is_read_as_text() {
    let path = scratch("inspect-ptx").join("k.ptx");
    fs::write(&path, PTX).expect("written");
    let answer = inspect_json(&path);
    assert_eq!(answer["format"], "PTX for an NVIDIA GPU");
    assert_eq!(answer["members"], serde_json::json!([]));
    let content = &answer["content"];
    assert_eq!(
        content["kernels"],
        serde_json::json!([{
            "name": "hello",
            "params": {
                "count": 2, "bytes": 12, "sizes": [8, 4], "signature": "0x0000000000000007"
            }
        }])
    );
    assert_eq!(answer["processor"], "sm_70");
    assert_eq!(
        content["functions"],
        serde_json::json!([{ "name": "greet", "signature": "0x1122334455667788" }])
    );
    // Without the runtime's declarations, the parameters are read from the code.
    fs::write(
        &path,
        ".version 7.0\n.target sm_90a, debug\n.visible .entry bare() { ret; }\n\
         .visible .entry one(.param .u32 n) { ret; }\n\
         .visible .entry two(.param .align 8 .b8 s[24], .param.u64 p) { ret; }\n",
    )
    .expect("written");
    let text = inspect(&path).answer();
    for line in [
        "k.ptx: PTX for an NVIDIA GPU, sm_90a\n",
        "kernels: 3\n  bare: no parameters\n",
        "\n  one: 1 parameter of 4 bytes\n",
        "\n  two: 2 parameters of 24 and 8 bytes\n",
        "reverse offload: no",
    ] {
        assert!(text.contains(line), "no `{line}` in: {text}");
    }
}

/// A code object whose only content is the name of its target.
fn code_object(target: &str) -> Vec<u8> {
    // MessagePack: a map of one text to another.
    let mut text = b"\x81\xadamdhsa.target\xd9".to_vec();
    text.push(target.len() as u8);
    text.extend(target.bytes());
    let file = test_elf::File {
        notes: &test_elf::metadata_note(&text),
        ..test_elf::File::code_object(4)
    };
    file.write()
}

#[test]
fn a_code_object_says_what_it_is_for() {
    let path = scratch("inspect-code-object").join("k.hsaco");
    fs::write(&path, code_object("amdgcn-amd-amdhsa--gfx90a:xnack-")).expect("written");
    let answer = inspect_json(&path);
    assert_eq!(answer["format"], "a code object for an AMD GPU");
    assert_eq!(answer["processor"], "gfx90a:xnack-");
    let text = inspect(&path).answer();
    assert!(
        text.contains("k.hsaco: a code object for an AMD GPU, gfx90a:xnack-\n"),
        "{text}"
    );
    // The error of a device that does not load the image names the target to build for.
    for (device, way_out) in [("host", "--target host"), ("emu:sm_60", "--arch sm_60")] {
        let mut run_it = revoff();
        run_it.arg("run").arg(&path);
        run_it.args(["--kernel", "k", "--device", device]);
        run(&mut run_it).refused(&[
            "k.hsaco is a code object for gfx90a:xnack-, but",
            &format!("device `{device}`"),
            &format!("cargo xtask images --kernel-crate DIR {way_out}"),
        ]);
    }
}

/// A file with the benchmark's image, PTX, and an entry of an unknown kind.
fn several(folder: &Path) -> PathBuf {
    let here = DeviceArch::this_machine().to_string();
    let host = fs::read(image::BENCH).expect("the image");
    let entry = |triple, arch, image_kind, image| Entry {
        image_kind,
        offload_kind: OffloadKind::NONE,
        triple,
        arch,
        image,
    };
    let path = folder.join("several.images");
    let file = write(&[
        entry(
            "nvptx64-nvidia-cuda",
            "sm_70",
            ImageKind::PTX,
            PTX.as_bytes(),
        ),
        entry(&here, "", ImageKind::OBJECT, &host),
        entry(
            "amdgcn-amd-amdhsa",
            "gfx90a",
            ImageKind::BITCODE,
            b"BC\xc0\xde",
        ),
    ]);
    fs::write(&path, file).expect("written");
    path
}

#[test]
fn each_of_several_is_shown() {
    let path = several(&scratch("inspect-several"));
    let here = DeviceArch::this_machine().to_string();
    let answer = inspect_json(&path);
    assert_eq!(answer["format"], "several images for different devices");
    assert_eq!(answer["content"], Value::Null);
    let members = answer["members"].as_array().expect("a list");
    let column = |name: &str| -> Vec<_> { members.iter().map(|m| m[name].clone()).collect() };
    assert_eq!(
        column("triple"),
        ["nvptx64-nvidia-cuda", &here, "amdgcn-amd-amdhsa"]
    );
    assert_eq!(column("arch"), ["sm_70", "", "gfx90a"]);
    assert_eq!(column("kind"), ["ptx", "object", "bitcode"]);
    assert_eq!(members[0]["bytes"], PTX.len());
    assert_eq!(
        members[0]["image"]["content"]["functions"][0]["name"],
        "greet"
    );
    // The description of a member equals the description of the same image alone.
    let alone = inspect_json(image::BENCH);
    for field in ["format", "abi_version", "content"] {
        assert_eq!(members[1]["image"][field], alone[field], "{field}");
    }
    assert_eq!(members[2]["image"], Value::Null);
    let problem = members[2]["problem"].as_str().expect("a reason");
    assert!(
        problem.contains("(gfx90a, bitcode) is no device image"),
        "{problem}"
    );

    let text = inspect(&path).answer();
    for line in [
        &*format!(
            "  sm_70: ptx for nvptx64-nvidia-cuda, {} bytes\n",
            PTX.len()
        ),
        "\nsm_70, ptx: PTX for an NVIDIA GPU, sm_70\n",
        "  hello: 2 parameters of 8 and 4 bytes, signature 0x",
        "  count: 5 parameters, 36 bytes",
        "(gfx90a, bitcode) is no device image",
    ] {
        assert!(text.contains(line), "no `{line}` in: {text}");
    }
}

#[test]
fn one_of_several_is_shown() {
    let path = several(&scratch("inspect-arch"));
    let only = |arch: &str| run(revoff().arg("inspect").arg(&path).args(["--arch", arch]));
    let text = only("sm_70").answer();
    assert!(
        text.contains("  hello: 2 parameters") && !text.contains("gfx90a"),
        "{text}"
    );
    let here = DeviceArch::this_machine().to_string();
    assert!(only(&here).answer().contains("  count: 5 parameters"));
    only("sm_80").refused(&["`sm_80`", "sm_70, ", ", gfx90a"]);

    let mut alone = revoff();
    alone.args(["inspect", image::BENCH, "--arch", "sm_70"]);
    run(&mut alone).refused(&["is one image", "leave out --arch sm_70"]);
    let broken = scratch("inspect-arch").join("broken.images");
    fs::write(&broken, b"\x10\xff\x10\xad").expect("written");
    inspect(&broken).refused(&["broken.images", "broken file of several", "at byte 4"]);
}

/// A fatbin with PTX, a cubin, and code of another kind, or the first two for newer GPUs.
fn fatbin(folder: &Path, stored: Stored) -> PathBuf {
    let ptx = [PTX.as_bytes(), b"\0"].concat();
    let cubin = test_elf::File {
        kind: test_elf::EXECUTABLE,
        machine: test_elf::CUDA,
        ..test_elf::File::default()
    };
    let cubin = cubin.write();
    let image = test_fatbin::Image {
        kind: 1,
        arch: 70,
        version: (7, 0),
        flags: 0x11,
        identifier: b"k.cu",
        options: Some(b"-O3"),
        bytes: &ptx,
        stored,
    };
    let file = test_fatbin::write(&[
        image.entry(),
        test_fatbin::Image {
            kind: 2,
            arch: 90,
            flags: 0x10_0011,
            bytes: &cubin,
            ..image
        }
        .entry(),
        test_fatbin::Image {
            kind: 8,
            bytes: b"BC\xc0\xde",
            stored: Stored::Plain,
            ..image
        }
        .entry(),
    ]);
    let path = folder.join("k.fatbin");
    fs::write(&path, file).expect("written");
    path
}

#[test]
fn the_entries_of_a_fatbin_are_shown() {
    let folder = scratch("inspect-fatbin");
    let alone = folder.join("k.ptx");
    fs::write(&alone, PTX).expect("written");
    let alone = inspect_json(&alone);
    for (stored, compression) in [
        (Stored::Plain, Value::Null),
        (Stored::Lz4, "LZ4".into()),
        (Stored::Zstd, "zstd".into()),
    ] {
        let path = fatbin(&folder, stored);
        let answer = inspect_json(&path);
        assert_eq!(answer["format"], "a fatbin for NVIDIA GPUs");
        assert_eq!(answer["content"], Value::Null);
        let members = answer["members"].as_array().expect("a list");
        let column = |name: &str| -> Vec<_> { members.iter().map(|m| m[name].clone()).collect() };
        assert_eq!(column("triple"), ["nvptx64-nvidia-cuda"; 3]);
        assert_eq!(column("arch"), ["sm_70", "sm_90a", "sm_70"]);
        assert_eq!(column("kind"), ["ptx", "cubin", "nvvm"]);
        assert_eq!(
            column("compression"),
            [compression.clone(), compression.clone(), Value::Null]
        );
        // The description of an entry equals the description of the same image alone.
        for field in ["format", "processor", "abi_version", "content"] {
            assert_eq!(members[0]["image"][field], alone[field], "{field}");
        }
        assert_eq!(members[1]["image"]["format"], "a cubin for an NVIDIA GPU");
        let problem = members[2]["problem"].as_str().expect("a reason");
        assert!(
            problem.contains("k.fatbin (sm_70, nvvm) is no device image"),
            "{problem}"
        );

        let text = inspect(&path).answer();
        let bytes = &members[0]["bytes"];
        let size = match compression.as_str() {
            Some(name) => {
                let size = PTX.len() + 1;
                assert_eq!(members[0]["decompressed_bytes"], size);
                format!("{bytes} bytes, {name}, {size} bytes after decompression")
            }
            None => format!("{} bytes", (PTX.len() + 1).next_multiple_of(8)),
        };
        for line in [
            &*format!("  sm_70: ptx for nvptx64-nvidia-cuda, {size}\n"),
            "  sm_90a: cubin for nvptx64-nvidia-cuda, ",
            "\nsm_70, ptx: PTX for an NVIDIA GPU, sm_70\n",
            "  hello: 2 parameters of 8 and 4 bytes, signature 0x",
            "\nsm_90a, cubin: a cubin for an NVIDIA GPU\n",
        ] {
            assert!(text.contains(line), "no `{line}` in: {text}");
        }
    }

    let path = fatbin(&folder, Stored::Lz4);
    let only = |arch: &str| run(revoff().arg("inspect").arg(&path).args(["--arch", arch]));
    let text = only("sm_90a").answer();
    assert!(text.contains("cubin") && !text.contains("sm_70"), "{text}");
    only("sm_80").refused(&["`sm_80`", "sm_70, ", "sm_90a"]);

    // A broken payload concerns its entry alone; a broken header, the file.
    let file = fs::read(&path).expect("the file");
    let mut payload = file.clone();
    payload[0x10 + 59] = 1;
    fs::write(&path, payload).expect("written");
    let text = inspect(&path).answer();
    for word in [
        "k.fatbin (sm_70, ptx) cannot be decompressed: at byte 72: the decompressed size is",
        "\nsm_90a, cubin: a cubin for an NVIDIA GPU\n",
    ] {
        assert!(text.contains(word), "no `{word}` in: {text}");
    }
    fs::write(&path, &file[..100]).expect("written");
    inspect(&path).refused(&["k.fatbin is no device image: a broken fatbin: at byte 0"]);
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
    inspect(put("cut.so", &image[..100])).refused(&["cut.so", "the end may be missing"]);
    inspect(put("cut-later.so", &image[..image.len() / 2])).refused(&["cut-later.so"]);
    // ELF's type in bytes 16 and 17: 2 is a program, 1 an object file.
    let mut program = image.clone();
    program[16] = 2;
    inspect(put("program", &program)).refused(&["program", "not a shared object"]);
    let mut bits = image;
    bits[4] = 1;
    inspect(put("bits.so", &bits)).refused(&["bits.so"]);
}
