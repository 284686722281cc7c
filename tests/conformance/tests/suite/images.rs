//! Valid and invalid images.

use conformance::Target;
use conformance_calls::Outcome;
use revoff_host::device::DeviceError;
use revoff_host::env::Env;
use revoff_host::image::ImageError;
use revoff_host::shared_abi::ABI_VERSION;
use revoff_host::shared_abi::image::IMAGE_MAGIC;
use revoff_host::shared_abi::wire::WireKind;
use revoff_host::targets::count::Count;
use revoff_host::targets::offload_binary::{Entry, ImageKind, OffloadKind, write};
use revoff_host::targets::{DeviceArch, Target as Architecture};
use revoff_host::{Functions, Grid, Image, KernelArg, Params, Runtime, RuntimeError};

use crate::image::{c_silent, image, shared_object};
use crate::session::{Session, acting, read};
use crate::{Test, test};

pub(crate) const TESTS: &[Test] = &[
    test!(an_unknown_kernel),
    test!(wrong_parameters),
    test!(impossible_grids),
    test!(what_is_no_image).only(Target::is_host),
    test!(another_machine).only(Target::is_host),
    test!(one_of_several),
    test!(none_of_several),
    test!(another_abi_version).only(Target::is_host),
    test!(another_magic).only(Target::is_host),
    test!(a_wire_that_is_not_spoken).only(Target::is_host),
    test!(loaded_twice),
    test!(unloaded_functions_are_gone),
    test!(an_image_that_cannot_call).only(Target::is_host),
    test!(what_an_image_declares),
    test!(no_wire_at_all),
    test!(unknown_devices_and_wires),
];

fn runtime(target: &Target) -> Runtime {
    Runtime::open(target.device).unwrap()
}

fn refusal(target: &Target, image: &Image) -> ImageError {
    match runtime(target).load(image, &Functions::new()) {
        Err(RuntimeError::Image(error)) => error,
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("it was loaded"),
    }
}

fn an_unknown_kernel(target: &Target) {
    let session = Session::new(target, &Functions::new());
    match session.program.kernel("call_nobody") {
        Err(RuntimeError::Image(error @ ImageError::NoKernel { .. })) => {
            let text = error.to_string();
            assert!(text.contains("no kernel `call_nobody`"), "{text}");
            assert!(
                text.contains("call_act, ") && text.ends_with(" more"),
                "{text}"
            );
            assert!(text.contains(image(target).name()), "{text}");
        }
        other => panic!("{:?}", other.map(|_| "found")),
    }
    // A symbol, but no kernel.
    assert!(session.program.kernel("__revoff_runtime").is_err());
}

fn wrong_parameters(target: &Target) {
    let session = Session::new(target, &acting(|what| what));
    let kernel = session.program.kernel("call_act").unwrap();
    let outcomes = session.zeroed::<Outcome>(1);
    let grid = Grid {
        teams: 1,
        threads: 1,
    };
    let cases: [&[&dyn KernelArg]; 5] = [
        &[],
        &[&1u64, &1u64, &1u32],
        &[&1u64, &1u64, &1u32, &outcomes, &1u32],
        &[&1u64, &1u64, &1u64, &outcomes],
        &[&1u64, &1u32, &1u32, &outcomes],
    ];
    for args in cases {
        // SAFETY: nothing is launched: the mismatch is detected before.
        match unsafe { kernel.launch(grid, args) } {
            Err(error @ RuntimeError::Device(DeviceError::BadParameters { .. })) => {
                let text = error.to_string();
                // If the code has the size of each, the message has it too.
                assert!(text.contains("`call_act` takes 4 parameters"), "{text}");
                assert!(
                    [", 28 bytes in total, but", "of 8, 8, 4 and 8 bytes, but"]
                        .iter()
                        .any(|sizes| text.contains(sizes)),
                    "{text}"
                );
            }
            other => panic!("{:?}", other.map(|_| "launched")),
        }
    }
    session.works();
}

fn impossible_grids(target: &Target) {
    let session = Session::new(target, &acting(|what| what));
    let kernel = session.program.kernel("call_act").unwrap();
    let outcomes = session.zeroed::<Outcome>(1);
    for (teams, threads) in [(0, 1), (1, 0), (0, 0), (1, 100_000)] {
        let args: [&dyn KernelArg; 4] = [&1u64, &1u64, &1u32, &outcomes];
        // SAFETY: nothing is launched: no device supports such grids.
        match unsafe { kernel.launch(Grid { teams, threads }, &args) } {
            Err(RuntimeError::Device(error @ DeviceError::BadGrid { .. })) => {
                let text = error.to_string();
                assert!(
                    text.contains(&format!(
                        "{} of {}",
                        Count(teams.into(), "team"),
                        Count(threads.into(), "thread")
                    )),
                    "{text}"
                );
            }
            other => panic!("{:?}", other.map(|_| "launched")),
        }
    }
    session.works();
}

fn what_is_no_image(target: &Target) {
    let no_image = |bytes: &[u8], words: &str| match Image::from_bytes("some file", bytes) {
        Err(error @ ImageError::NoImage { .. }) => {
            let text = error.to_string();
            assert!(text.contains("some file is no device image"), "{text}");
            assert!(text.contains(words), "{text}");
        }
        other => panic!("{other:?}"),
    };
    no_image(b"", "it is empty");
    no_image(b"a text file\n", "neither ELF nor PTX");
    no_image(b"\x7fELF", "ELF");
    // In another device's form, if this one takes no shared objects.
    let good = shared_object();
    // No truncation causes worse than an error.
    for len in (4..200).chain((200..good.bytes().len()).step_by(good.bytes().len() / 50)) {
        if let Ok(image) = Image::from_bytes("cut off", &good.bytes()[..len]) {
            let loaded = runtime(target).load(&image, &Functions::new());
            assert!(loaded.is_err(), "{len} bytes of an image");
        }
    }
    match Image::open("/no/such/file") {
        Err(error @ ImageError::Unreadable { .. }) => {
            assert!(error.to_string().contains("/no/such/file"), "{error}");
        }
        other => panic!("{other:?}"),
    }
    // This program: ELF, for this machine, and not an image.
    let program = std::env::current_exe().unwrap();
    let text = match Image::open(program) {
        Err(error) => error.to_string(),
        Ok(image) => match runtime(target).load(&image, &Functions::new()) {
            Err(error) => error.to_string(),
            Ok(_) => panic!("an executable was loaded"),
        },
    };
    assert!(text.contains("suite"), "{text}");
}

/// A copy of the suite's shared object with other bytes at `at`.
fn changed(at: usize, bytes: &[u8]) -> Image {
    let mut image = shared_object().bytes().to_vec();
    image[at..at + bytes.len()].copy_from_slice(bytes);
    Image::from_bytes("a patched image", image).expect("an ELF file as before")
}

/// The offset of the image's description in the file.
fn info_offset() -> usize {
    let image = shared_object();
    let mut wanted = IMAGE_MAGIC.to_le_bytes().to_vec();
    wanted.extend(ABI_VERSION.to_le_bytes());
    let places: Vec<_> = image
        .bytes()
        .windows(wanted.len())
        .enumerate()
        .filter(|(_, window)| *window == wanted)
        .map(|(at, _)| at)
        .collect();
    assert_eq!(places.len(), 1, "the bytes occur once");
    places[0]
}

fn another_machine(target: &Target) {
    // e_machine: RISC-V, and an unassigned number.
    for machine in [243u16, 0xbeef] {
        match refusal(target, &changed(18, &machine.to_le_bytes())) {
            error @ ImageError::OtherMachine { .. } => {
                let text = error.to_string();
                assert!(text.contains(&format!("ELF machine {machine}")), "{text}");
                assert!(text.contains(target.device), "{text}");
            }
            other => panic!("{other}"),
        }
    }
}

/// Images that no device runs.
const OTHERS: [Entry<'_>; 2] = [
    Entry {
        image_kind: ImageKind::PTX,
        offload_kind: OffloadKind::NONE,
        triple: "nvptx64-nvidia-cuda",
        arch: "sm_999",
        image: b".version 9.9\n.target sm_999\n",
    },
    Entry {
        image_kind: ImageKind::OBJECT,
        offload_kind: OffloadKind::NONE,
        triple: "amdgcn-amd-amdhsa",
        arch: "gfx0",
        image: b"no object",
    },
];

/// The image for this device out of a file with others before and after it.
fn one_of_several(target: &Target) {
    let image = image(target);
    let device = revoff_host::device::open(target.device, &Env::default()).unwrap();
    let arch = device.arch().to_string();
    let (triple, arch) = match device.arch() {
        DeviceArch::Nvidia(_) | DeviceArch::Emulated(_) => {
            (Architecture::Nvptx.offload_triple(), &*arch)
        }
        DeviceArch::Amd(_) => (Architecture::Amdgcn.offload_triple(), &*arch),
        DeviceArch::Host(_) => (&*arch, ""),
    };
    let fitting = Entry {
        // As packed by tools that do not know the format.
        image_kind: ImageKind::NONE,
        offload_kind: OffloadKind::NONE,
        triple,
        arch,
        image: image.bytes(),
    };
    let [before, after] = OTHERS;
    let file = Image::from_bytes("several", write(&[before, fitting, after])).unwrap();
    let session = Session::on(&runtime(target), &file, &acting(|what| what));
    session.works();
    let loaded = session.program.image();
    assert_eq!(loaded.bytes(), image.bytes());
    assert!(loaded.name().starts_with("several ("), "{}", loaded.name());
    assert!(loaded.members().is_empty());
}

fn none_of_several(target: &Target) {
    let file = Image::from_bytes("several", write(&OTHERS)).unwrap();
    match refusal(target, &file) {
        error @ ImageError::NoMember { .. } => {
            let text = error.to_string();
            for word in ["several: ", "sm_999, ptx", "gfx0, object"] {
                assert!(text.contains(word), "no `{word}` in: {text}");
            }
        }
        other => panic!("{other}"),
    }
    // The device itself does not load a bundle.
    let device = revoff_host::device::open(target.device, &Env::default()).unwrap();
    match device.load(&file) {
        Err(error @ ImageError::OtherMachine { .. }) => {
            assert!(error.to_string().contains("several images"), "{error}");
        }
        other => panic!("{:?}", other.map(|_| "loaded")),
    }
}

fn another_abi_version(target: &Target) {
    let at = info_offset();
    for version in [ABI_VERSION - 1, ABI_VERSION + 1, 0, u32::MAX] {
        match refusal(target, &changed(at + 8, &version.to_le_bytes())) {
            error @ ImageError::OtherAbi { .. } => {
                let text = error.to_string();
                assert!(text.contains(&format!("ABI version {version}")), "{text}");
                assert!(
                    text.contains(&format!("supports version {ABI_VERSION}")),
                    "{text}"
                );
                assert!(text.contains("rebuild the"), "{text}");
            }
            other => panic!("{other}"),
        }
    }
}

fn another_magic(target: &Target) {
    let image = changed(info_offset(), b"foverr");
    match refusal(target, &image) {
        error @ ImageError::BadSymbol { .. } => {
            assert!(error.to_string().contains("`__revoff_image`"), "{error}");
        }
        other => panic!("{other}"),
    }
}

fn a_wire_that_is_not_spoken(target: &Target) {
    let at = info_offset() + 12;
    let only_slot = changed(at, &WireKind::GCC_SLOT.bit().to_le_bytes());
    for wire in [WireKind::NATIVE, WireKind::GCC_RING] {
        let builder = Runtime::builder(target.device).wire(wire);
        match builder.build().unwrap().load(&only_slot, &Functions::new()) {
            Err(RuntimeError::Image(error @ ImageError::NoWire { .. })) => {
                let text = error.to_string();
                let name = wire.name().unwrap();
                assert!(
                    text.contains(&format!("does not support wire `{name}`")),
                    "{text}"
                );
                assert!(text.contains("it supports gcc-slot"), "{text}");
            }
            other => panic!("{:?}", other.map(|_| "loaded")),
        }
    }
    let runtime = Runtime::builder(target.device)
        .wire(WireKind::GCC_SLOT)
        .build()
        .unwrap();
    Session::on(&runtime, &only_slot, &acting(|what| what)).works();
    let none = changed(at, &0u32.to_le_bytes());
    assert!(
        refusal(target, &none)
            .to_string()
            .contains("it supports none")
    );
}

/// Each has its own variables and functions.
fn loaded_twice(target: &Target) {
    let runtime = runtime(target);
    let image = image(target);
    let one = Session::on(&runtime, &image, &acting(|_| 1));
    let other = Session::on(&runtime, &image, &acting(|_| 1000));
    let count = one.zeroed::<u32>(1);
    for (session, expected) in [(&one, 1), (&one, 2), (&other, 1), (&one, 3), (&other, 2)] {
        session.run("count_up", (1, 1), &[&count]).unwrap();
        assert_eq!(read::<u32>(&count), [expected]);
    }
    let (a, b) = (
        one.start_act((2, 2), 0, 0, 50),
        other.start_act((2, 2), 0, 0, 50),
    );
    a.launch.wait().unwrap();
    b.launch.wait().unwrap();
    assert!(
        read::<Outcome>(&a.outcomes)
            .iter()
            .all(|outcome| outcome.sum == 50)
    );
    assert!(
        read::<Outcome>(&b.outcomes)
            .iter()
            .all(|outcome| outcome.sum == 50_000)
    );
    // One continues when the other is gone.
    drop((a, one));
    let (outcomes, result) = other.act((2, 2), 0, 0, 5);
    result.unwrap();
    assert!(outcomes.iter().all(|outcome| outcome.sum == 5000));
}

/// An image loaded after another, perhaps at the same address, has only its own functions.
fn unloaded_functions_are_gone(target: &Target) {
    let runtime = runtime(target);
    for round in 1..20 {
        let session = Session::on(&runtime, &image(target), &acting(move |_| round));
        let (outcomes, result) = session.act((1, 1), 0, 0, 1);
        result.unwrap();
        assert_eq!(outcomes[0].sum, round);
        drop(session);
        let session = Session::on(&runtime, &image(target), &Functions::new());
        let error = session.act((1, 1), 0, 0, 1).1.unwrap_err().to_string();
        assert!(error.contains("`act`"), "{error}");
    }
}

/// No thread serves an image that cannot call.
fn an_image_that_cannot_call(target: &Target) {
    let image = c_silent();
    assert!(!image.has_reverse_offload());
    let session = Session::on(&runtime(target), &image, &acting(|what| what));
    let number = session.filled(&[41u64]);
    session.run("silent", (1, 1), &[&number]).unwrap();
    assert_eq!(read::<u64>(&number), [42]);
    assert_eq!(
        (session.runtime.threads(), session.runtime.requests()),
        (0, 0)
    );
}

fn what_an_image_declares(target: &Target) {
    let image = image(target);
    let info = image.info().unwrap().expect("it has device-rt");
    assert_eq!(info.abi_version, ABI_VERSION);
    let functions: Vec<_> = image
        .functions()
        .unwrap()
        .into_iter()
        .map(|f| f.name)
        .collect();
    for name in [
        "act",
        "tally",
        "read_forms",
        "write_forms",
        "nothing",
        "probe",
        "unregistered",
    ] {
        assert!(
            functions.iter().any(|function| function == name),
            "{name}: {functions:?}"
        );
    }
    let session = Session::on(&runtime(target), &image, &Functions::new());
    let kernel = session.program.kernel("call_act").unwrap();
    let declared = kernel.declaration().info.expect("a declared kernel");
    assert_eq!((declared.params, declared.bytes), (4, 28));
}

/// A kernel of an image without a wire: its calls return at once.
fn no_wire_at_all(target: &Target) {
    use revoff_host::device::{self, BlockShape, Fill, LaunchContext};
    use std::sync::Arc;

    let device = device::open(target.device, &revoff_host::env::Env::default()).unwrap();
    let module = device.load(&image(target)).unwrap();
    let kernel = module.kernel("call_act").unwrap().expect("a kernel");
    let bytes = size_of::<Outcome>();
    let outcomes = device.alloc(bytes as u64, Fill::Zeros).unwrap();
    let mut params = Params::default();
    params.push(&5u64.to_ne_bytes());
    params.push(&0u64.to_ne_bytes());
    params.push(&3u32.to_ne_bytes());
    params.push(&outcomes.0.to_ne_bytes());
    let context = LaunchContext {
        block: BlockShape::default(),
        key: 1,
        calls_host: false,
        wake_host: Arc::new(|| ()),
        ended: Arc::new(|| ()),
    };
    let grid = Grid {
        teams: 1,
        threads: 1,
    };
    let mut queue = device.queue().unwrap();
    let mut outcome = [Outcome::default()];
    let place = outcome.as_mut_ptr().cast();
    // SAFETY: the parameters are those of `call_act`, with one outcome, allocated until the queue
    // is done; the copy has the size of the target.
    unsafe {
        queue
            .launch(&module, kernel, grid, &params, context)
            .unwrap();
        queue.copy_from_device(place, outcomes, bytes).unwrap();
    }
    queue.synchronize().unwrap();
    device.free(outcomes);
    let status = revoff_host::shared_abi::status::Status::NOT_OFFLOADED;
    assert_eq!(
        (outcome[0].ok, outcome[0].failed, outcome[0].status),
        (0, 3, status.0)
    );
}

fn unknown_devices_and_wires(target: &Target) {
    // `emu` supports any architecture.
    let kind = if target.is_emu() {
        "emu"
    } else {
        target.device
    };
    match Runtime::open("abacus") {
        Err(RuntimeError::Device(error @ DeviceError::NoDevice { .. })) => {
            let text = error.to_string();
            assert!(text.contains("`abacus`") && text.contains(kind), "{text}");
        }
        other => panic!("{:?}", other.map(|_| "opened")),
    }
    assert_eq!(
        revoff_host::wire_by_name("string").unwrap_err().to_string(),
        "there is no wire `string`: use native, gcc-ring, gcn-queue or gcc-slot"
    );
    for wire in WireKind::ALL {
        assert_eq!(
            revoff_host::wire_by_name(wire.name().unwrap()).unwrap(),
            wire
        );
    }
}
