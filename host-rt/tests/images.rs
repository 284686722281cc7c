//! Descriptions of images for GPUs, and bundles.

use revoff_host::image::Format;
use revoff_host::image::ImageError;
use revoff_host::shared_abi::wire::WireKind;
use revoff_host::targets::DeviceArch;
use revoff_host::targets::offload_binary::{Entry, ImageKind, OffloadKind, write};
use revoff_host::{Functions, Image, Runtime, RuntimeError};
use test_elf::{AMDGPU, CUDA, EXECUTABLE, File, OBJECT, SHARED, Symbol};

/// In the form that rustc and clang write.
const PTX: &str = "
.version 6.3
.target sm_70
.address_size 64
.visible .global .align 8 .b8 __revoff_image[16] =
    {114, 101, 118, 111, 102, 102, 0, 0, 1, 0, 0, 0, 14};
.visible .global .align 8 .b8 __revoff_runtime[48];
.visible .global .align 8 .b8 __revoff_fn_greet[8] = {136, 119, 102, 85, 68, 51, 34, 17};
.visible .global .align 8 .u64 __revoff_fn_count = 0x99;
.visible .global .align 8 .u64 __revoff_fn_later = __revoff_fn_count;
.visible .global .align 8 .b8 __revoff_fn_plain[8];
.visible .global .align 8 .b8 __revoff_kernel_hello[16] =
    {2, 0, 0, 0, 12, 0, 0, 0, 7};
.visible .entry hello(.param .u64 out, .param .u32 n) { ret; }
";

fn image(bytes: &[u8]) -> Image {
    Image::from_bytes("it", bytes).expect("an image")
}

/// The result of [`Image::kernels`]: names, and for declared ones number and size of the
/// parameters.
fn kernels(image: &Image) -> Vec<(String, Option<(u32, u32)>)> {
    let kernels = image.kernels().expect("legible kernels").into_iter();
    kernels
        .map(|k| (k.name, k.info.map(|info| (info.params, info.bytes))))
        .collect()
}

fn functions(image: &Image) -> Vec<(String, u64)> {
    let functions = image.functions().expect("legible functions").into_iter();
    functions.map(|f| (f.name, f.signature)).collect()
}

#[test]
fn ptx_tells_what_a_shared_object_tells() {
    let image = image(PTX.as_bytes());
    assert_eq!(image.format(), Format::Ptx);
    let info = image.info().expect("legible").expect("there");
    assert_eq!((info.abi_version, info.wires), (1, 14));
    assert!(image.has_reverse_offload());
    assert_eq!(kernels(&image), [("hello".into(), Some((2, 12)))]);
    assert_eq!(
        functions(&image),
        [
            ("count".into(), 0x99),
            ("greet".into(), 0x1122_3344_5566_7788),
            // An address is no signature.
            ("later".into(), 0),
            ("plain".into(), 0),
        ]
    );
}

#[test]
fn undeclared_kernels_of_ptx_are_its_entries() {
    let text = ".version 6.3\n.visible .entry b() { ret; }\n.visible .func c() { ret; }\n\
                .visible .entry a() { ret; }\n";
    let image = image(text.as_bytes());
    assert_eq!(kernels(&image), [("a".into(), None), ("b".into(), None)]);
    assert!(!image.has_reverse_offload());
    assert_eq!(image.info().expect("none"), None);
}

/// Without them nothing is known of the image, and nothing is guessed.
#[test]
fn what_ptx_says_of_itself_must_be_plain() {
    let odd = PTX.replace("{114, 101,", "{other, 101,");
    let error = image(odd.as_bytes()).info().expect_err("no number");
    let text = error.to_string();
    assert!(
        text.contains("`__revoff_image`") && text.contains("no plain bytes"),
        "{text}"
    );
    let short = PTX.replace("__revoff_fn_greet[8]", "__revoff_fn_greet[12]");
    let error = image(short.as_bytes()).functions().expect_err("12 bytes");
    assert!(
        error.to_string().contains("has 12 bytes, expected 8"),
        "{error}"
    );
}

/// The address of the data of a shared object made by [`elf`].
const DATA: u64 = 0x1000;

/// A file with these symbols and `data`.
fn elf(kind: u16, machine: u16, data: &[u8], symbols: &[Symbol<'_>]) -> Vec<u8> {
    let file = File {
        kind,
        machine,
        address: DATA,
        data,
        symbols,
        ..File::default()
    };
    file.write()
}

const CUBIN_SYMBOLS: [Symbol<'static>; 6] = [
    Symbol {
        name: "hello",
        info: 0x12,
        other: 0x10,
        value: 0,
        size: 16,
    },
    Symbol {
        name: "helper",
        info: 0x12,
        other: 0,
        value: 0,
        size: 16,
    },
    Symbol {
        name: "inner",
        info: 0x02,
        other: 0x10,
        value: 0,
        size: 16,
    },
    Symbol {
        name: "__revoff_fn_greet",
        info: 0x11,
        other: 0,
        value: 8,
        size: 8,
    },
    Symbol {
        name: "__revoff_runtime",
        info: 0x11,
        other: 0,
        value: 16,
        size: 48,
    },
    Symbol {
        name: "table",
        info: 0x11,
        other: 0,
        value: 0,
        size: 1 << 40,
    },
];

#[test]
fn a_cubin_has_kernels_and_other_functions() {
    let data: Vec<u8> = (0..64).collect();
    let image = image(&elf(EXECUTABLE, CUDA, &data, &CUBIN_SYMBOLS));
    assert_eq!(image.format(), Format::Cubin);
    assert_eq!(kernels(&image), [("hello".into(), None)]);
    assert_eq!(functions(&image), [("greet".into(), 0x0f0e_0d0c_0b0a_0908)]);
    assert!(image.has_reverse_offload());
    assert!(image.symbol("helper").is_some_and(|symbol| symbol.is_code));
    assert!(image.symbol("inner").is_none(), "it is local");
}

const CODE_OBJECT_SYMBOLS: [Symbol<'static>; 4] = [
    Symbol {
        name: "hello",
        info: 0x12,
        other: 3,
        value: 0x2000,
        size: 16,
    },
    Symbol {
        name: "hello.kd",
        info: 0x11,
        other: 0,
        value: 0x1000,
        size: 64,
    },
    Symbol {
        name: "helper",
        info: 0x12,
        other: 3,
        value: 0x2100,
        size: 16,
    },
    Symbol {
        name: "__revoff_fn_greet",
        info: 0x11,
        other: 0,
        value: 0x1008,
        size: 8,
    },
];

#[test]
fn a_code_object_has_a_descriptor_for_each_kernel() {
    let data: Vec<u8> = (0..64).collect();
    let file = elf(SHARED, AMDGPU, &data, &CODE_OBJECT_SYMBOLS);
    let image = image(&file);
    assert_eq!(image.format(), Format::CodeObject);
    assert_eq!(kernels(&image), [("hello".into(), None)]);
    assert_eq!(functions(&image), [("greet".into(), 0x0f0e_0d0c_0b0a_0908)]);

    assert!(!image.has_reverse_offload());

    // Drivers load only linked files.
    let error =
        Image::from_bytes("k.o", elf(OBJECT, AMDGPU, &data, &[])).expect_err("an object file");
    assert!(error.to_string().contains("not a shared object"), "{error}");
}

#[test]
fn gccs_code_for_amd_calls_the_host_without_a_wire() {
    let mut symbols = CODE_OBJECT_SYMBOLS;
    symbols[2].name = "GOMP_target_ext";
    let image = image(&elf(SHARED, AMDGPU, &[0; 64], &symbols));
    assert!(image.has_reverse_offload());
    // Whether the image supports the requested wire does not matter, since it makes no calls; only
    // the device rejects it.
    let runtime = Runtime::builder("host").wire(WireKind::NATIVE);
    let runtime = runtime.build().expect("a device");
    match runtime.load(&image, &Functions::new()) {
        Err(RuntimeError::Image(ImageError::OtherMachine { .. })) => {}
        other => panic!("{:?}", other.map(drop)),
    }
}

/// `file`, which [`elf`] made, without the bytes of its data: they start as zeros.
fn zeroed(mut file: Vec<u8>) -> Vec<u8> {
    const NOBITS: u32 = 8;
    let (file_size, sections) = (64 + 32, 40);
    file[file_size..file_size + 8].fill(0);
    let at = u64::from_le_bytes(file[sections..sections + 8].try_into().unwrap()) as usize;
    let kind = at + 64 + 4;
    file[kind..kind + 4].copy_from_slice(&NOBITS.to_le_bytes());
    file
}

#[test]
fn variables_that_start_as_zeros_have_no_bytes_in_the_file() {
    let data: Vec<u8> = (0..64).collect();
    for (kind, machine, symbols) in [
        (EXECUTABLE, CUDA, &CUBIN_SYMBOLS[..]),
        (SHARED, AMDGPU, &CODE_OBJECT_SYMBOLS[..]),
    ] {
        let whole = image(&zeroed(elf(kind, machine, &data, symbols)));
        assert_eq!(functions(&whole), [("greet".into(), 0)], "{machine}");
        // A variable that is only partly in the file has no value.
        let cut = image(&zeroed(elf(kind, machine, &data[..12], symbols)));
        assert!(cut.functions().is_err(), "{machine}");
    }
}

#[test]
fn broken_elf_files_are_errors_at_worst() {
    let data: Vec<u8> = (0..64).collect();
    for file in [
        elf(EXECUTABLE, CUDA, &data, &CUBIN_SYMBOLS),
        elf(SHARED, AMDGPU, &data, &CODE_OBJECT_SYMBOLS),
    ] {
        let look = |bytes: &[u8]| {
            if let Ok(image) = Image::from_bytes("broken", bytes) {
                let _ = (image.kernels(), image.functions(), image.info());
            }
        };
        for at in 0..file.len() {
            look(&file[..at]);
            for value in [0, 1, 0x7f, 0x80, 0xff] {
                let mut broken = file.clone();
                broken[at] = value;
                look(&broken);
            }
        }
    }
}

fn entry<'a>(arch: &'a str, kind: ImageKind, image: &'a [u8]) -> Entry<'a> {
    let triple = if arch.starts_with("sm_") {
        "nvptx64-nvidia-cuda"
    } else {
        "amdgcn-amd-amdhsa"
    };
    Entry {
        image_kind: kind,
        offload_kind: OffloadKind::NONE,
        triple,
        arch,
        image,
    }
}

fn arch(name: &str) -> DeviceArch {
    name.parse().expect("an architecture")
}

#[test]
fn a_device_gets_the_best_of_several() {
    let code_object = elf(SHARED, AMDGPU, &[0; 64], &CODE_OBJECT_SYMBOLS);
    let newer = PTX.replace("sm_70", "sm_80");
    let file = image(&write(&[
        entry("sm_70", ImageKind::PTX, PTX.as_bytes()),
        // LLVM's packer stores no kind for a file called `k.ptx`.
        entry("sm_80", ImageKind::NONE, newer.as_bytes()),
        entry("gfx90a", ImageKind::NONE, &code_object),
        entry("sm_90", ImageKind::BITCODE, b"BC\xc0\xde"),
        entry("sm_90", ImageKind::NONE, b"who knows"),
    ]));
    assert_eq!(file.format(), Format::Bundle);
    assert_eq!(file.members().len(), 5);
    assert_eq!(file.members()[1].kind, ImageKind::PTX);
    assert_eq!(file.members()[4].kind, ImageKind::NONE);
    assert!(file.symbols().is_empty() && file.kernels().expect("none").is_empty());
    for (device, name, bytes) in [
        ("sm_75", "it (sm_70, ptx)", PTX.as_bytes()),
        ("sm_90", "it (sm_80, ptx)", newer.as_bytes()),
        ("gfx90a:xnack-", "it (gfx90a, object)", &code_object),
    ] {
        let chosen = file.for_device(&arch(device)).expect(device);
        assert_eq!((chosen.name(), chosen.bytes()), (name, bytes), "{device}");
    }
    let error = file.for_device(&arch("sm_61")).expect_err("too old");
    let text = error.to_string();
    assert!(matches!(error, ImageError::NoMember { .. }), "{text}");
    for word in [
        "it: ",
        "sm_61",
        "sm_70, ptx",
        "gfx90a, object",
        "--arch sm_60",
    ] {
        assert!(text.contains(word), "no `{word}` in: {text}");
    }
}

#[test]
fn one_image_is_what_any_device_is_offered() {
    let image = image(PTX.as_bytes());
    assert!(image.members().is_empty());
    let same = image
        .for_device(&DeviceArch::this_machine())
        .expect("itself");
    assert_eq!((same.name(), same.bytes()), (image.name(), image.bytes()));
}

#[test]
fn a_broken_member_costs_only_those_who_want_it() {
    let file = image(&write(&[
        entry("sm_70", ImageKind::PTX, PTX.as_bytes()),
        entry("gfx90a", ImageKind::OBJECT, b"\x7fELF"),
    ]));
    assert!(file.for_device(&arch("sm_70")).is_ok());
    let error = file
        .for_device(&arch("gfx90a"))
        .expect_err("cut off")
        .to_string();
    assert!(
        error.contains("it (gfx90a, object) is no device image"),
        "{error}"
    );

    let bytes = file.bytes();
    let error = Image::from_bytes("cut", &bytes[..bytes.len() - 1]).expect_err("cut off");
    assert!(
        error
            .to_string()
            .contains("broken file of several images: at byte"),
        "{error}"
    );
}

/// The error names the image's format and the formats that the device takes.
#[test]
fn the_host_device_refuses_images_for_gpus() {
    let code_object = elf(SHARED, AMDGPU, &[0; 64], &CODE_OBJECT_SYMBOLS);
    let several = write(&[
        entry("sm_70", ImageKind::PTX, PTX.as_bytes()),
        entry("gfx90a", ImageKind::OBJECT, &code_object),
    ]);
    let runtime = Runtime::open("host").expect("it is always there");
    let refusal = |bytes: &[u8]| match runtime.load(&image(bytes), &Functions::new()) {
        Err(RuntimeError::Image(error)) => error.to_string(),
        other => panic!("{:?}", other.map(|_| "loaded")),
    };
    let ptx = refusal(b".version 6.3\n.visible .entry a() { ret; }\n");
    for word in ["PTX for an NVIDIA GPU", "`host` loads a shared object"] {
        assert!(ptx.contains(word), "{ptx}");
    }
    assert!(refusal(&code_object).contains("a code object for an AMD GPU"));
    let here = format!("runs on {}", DeviceArch::this_machine());
    let several = refusal(&several);
    for word in [
        &*here,
        "sm_70, ptx",
        "gfx90a, object",
        "shared object for this machine",
    ] {
        assert!(several.contains(word), "no `{word}` in: {several}");
    }
}
