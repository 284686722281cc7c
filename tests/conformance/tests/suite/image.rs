//! The suite's images, in the form for each device.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Mutex;

use conformance::Target;
use host_rt::env::Env;
use host_rt::targets::DeviceArch;
use host_rt::{Image, device};

/// The variable with the folder of images for GPUs that `cargo xtask images` wrote.
const FOLDER: &str = "REVOFF_TEST_IMAGES";

/// The file with the image of the suite's kernels.
const FILE: &str = "conformance_kernels.offload";

/// The image of the suite's kernels, see `kernels/`.
pub(crate) fn image(target: &Target) -> Image {
    static READ: Mutex<BTreeMap<&str, Image>> = Mutex::new(BTreeMap::new());
    if target.takes_gpu_images() {
        // Tests ask for it often.
        let mut read = READ.lock().unwrap();
        let image = read
            .entry(target.device)
            .or_insert_with(|| for_gpu(target).expect("looked for before"));
        return image.clone();
    }
    adapt(target, shared_object())
}

/// The suite's kernels for the `host` device.
pub(crate) fn shared_object() -> Image {
    open(env!("REVOFF_IMAGE_KERNELS"))
}

/// An image in C; there is none for hardware.
pub(crate) fn c_calls(target: &Target) -> Image {
    adapt(target, open(env!("REVOFF_IMAGE_C_CALLS")))
}

/// One whose kernel cannot call.
pub(crate) fn c_silent(target: &Target) -> Image {
    adapt(target, open(env!("REVOFF_IMAGE_C_SILENT")))
}

/// One whose kernels record the location of a panic.
pub(crate) fn c_panics(target: &Target) -> Image {
    adapt(target, open(env!("REVOFF_IMAGE_C_PANICS")))
}

/// One whose kernels are C functions that cannot call.
pub(crate) fn c_plain(target: &Target) -> Image {
    adapt(target, open(env!("REVOFF_IMAGE_C_PLAIN")))
}

/// One whose kernels are C functions that call.
pub(crate) fn c_words(target: &Target) -> Image {
    adapt(target, open(env!("REVOFF_IMAGE_C_WORDS")))
}

/// A copy of the suite's shared object with other descriptions, in the device's form.
pub(crate) fn patched(target: &Target, image: Image) -> Image {
    at(target, Path::new(env!("REVOFF_IMAGE_KERNELS")), image)
}

fn adapt(target: &Target, image: Image) -> Image {
    let path = image.name().to_owned();
    at(target, Path::new(&path), image)
}

fn at(target: &Target, path: &Path, image: Image) -> Image {
    if target.is_host() {
        return image;
    }
    assert!(target.device.starts_with("hsa"), "{}", target.device);
    let target = hsa_standin::image::TARGET;
    let bytes = hsa_standin::image::code_object(path, &image, target, params);
    let bytes = bytes.expect("good declarations");
    Image::from_bytes(image.name(), bytes).expect("a code object")
}

/// Sizes of parameters, if they are not all 8 bytes or not declared.
pub(crate) fn params(kernel: &str) -> Option<Vec<usize>> {
    match kernel {
        "call_act" => Some(vec![8, 8, 4, 8]),
        "call_tally" => Some(vec![4, 8]),
        "print_and_call" => Some(vec![4, 4, 8]),
        "print_lines" | "fail" => Some(vec![4, 4]),
        "print_by_macros" | "log_records" | "log_too_much" => Some(vec![4]),
        "call_and_trap" => Some(vec![8, 4, 8]),
        // Slices are two: address and length.
        "every_form" => Some([&[8; 4][..], &[1], &[8; 7]].concat()),
        // In C.
        "translate" => Some(vec![8; 3]),
        "strays" | "silent" | "panics" | "lies" => Some(vec![8]),
        _ => None,
    }
}

fn open(path: &str) -> Image {
    Image::open(path).expect("an image that the build made")
}

/// Whether the suite's kernels exist for the device.
pub(crate) fn check_available(target: &Target) -> Result<(), String> {
    if target.takes_gpu_images() {
        for_gpu(target)?;
    }
    Ok(())
}

fn for_gpu(target: &Target) -> Result<Image, String> {
    let folder = std::env::var(FOLDER).map_err(|_| {
        format!(
            "no image for it: {FOLDER} is no folder that `cargo xtask images --kernel-crate \
             tests/conformance/kernels --out FOLDER` has written"
        )
    })?;
    let file = Image::open(Path::new(&folder).join(FILE)).map_err(|e| e.to_string())?;
    // Without opening an emulated GPU: calls of its driver may be about to fail.
    let arch = match target.device.strip_prefix("emu:") {
        // It runs text alone.
        Some(arch) => match arch.parse() {
            Ok(DeviceArch::Nvidia(sm)) => DeviceArch::Emulated(sm),
            Ok(arch @ DeviceArch::Amd(_)) => arch,
            _ => return Err(format!("`{arch}` is no architecture of a GPU")),
        },
        None => {
            let device = device::open(target.device, &Env::default()).map_err(|e| e.to_string())?;
            device.arch()
        }
    };
    file.for_device(&arch).map_err(|e| e.to_string())
}
