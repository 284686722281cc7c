//! The suite's images, in the form for each device.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Mutex;

use conformance::Target;
use revoff_host::env::Env;
use revoff_host::targets::DeviceArch;
use revoff_host::{Image, device};

/// The variable with the folder of images for GPUs that `cargo xtask images` wrote.
const FOLDER: &str = "REVOFF_TEST_IMAGES";

/// The file with the image of the suite's kernels.
const FILE: &str = "conformance_kernels.offload";

/// The image of the suite's kernels, see `kernels/`.
pub(crate) fn image(target: &Target) -> Image {
    static READ: Mutex<BTreeMap<&str, Image>> = Mutex::new(BTreeMap::new());
    if target.is_host() {
        return shared_object();
    }
    // Tests ask for it often.
    let mut read = READ.lock().unwrap();
    let image = read
        .entry(target.device)
        .or_insert_with(|| for_gpu(target).expect("looked for before"));
    image.clone()
}

/// The suite's kernels for the `host` device.
pub(crate) fn shared_object() -> Image {
    open(env!("REVOFF_IMAGE_KERNELS"))
}

/// An image in C for the `host` device, as are the following.
pub(crate) fn c_calls() -> Image {
    open(env!("REVOFF_IMAGE_C_CALLS"))
}

/// One whose kernel cannot call.
pub(crate) fn c_silent() -> Image {
    open(env!("REVOFF_IMAGE_C_SILENT"))
}

/// One whose kernels record the location of a panic.
pub(crate) fn c_panics() -> Image {
    open(env!("REVOFF_IMAGE_C_PANICS"))
}

/// One whose kernels are C functions that cannot call.
pub(crate) fn c_plain() -> Image {
    open(env!("REVOFF_IMAGE_C_PLAIN"))
}

/// One whose kernels are C functions that call.
pub(crate) fn c_words() -> Image {
    open(env!("REVOFF_IMAGE_C_WORDS"))
}

fn open(path: &str) -> Image {
    Image::open(path).expect("an image that the build made")
}

/// Whether the suite's kernels exist for the device.
pub(crate) fn check_available(target: &Target) -> Result<(), String> {
    match target.is_host() {
        true => Ok(()),
        false => for_gpu(target).map(drop),
    }
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
