//! Images.

use revoff_host::Image;
use revoff_host::targets::DeviceArch;

use crate::target::Target;
use crate::{code_objects, containers, ptx};

/// Everything that is read from an image before it is loaded.
pub(super) const IMAGE: Target = Target {
    name: "image",
    run: |bytes| {
        if let Ok(image) = Image::from_bytes("fuzzed", bytes) {
            read(&image);
        }
    },
    seeds: || [ptx::seeds(), code_objects::seeds(), containers::seeds()].concat(),
    is_valid: |bytes| Image::from_bytes("seed", bytes).is_ok(),
    cost: 1,
    tally: None,
};

fn read(image: &Image) {
    // Their errors are results like any other.
    let _ = (image.info(), image.kernels(), image.functions());
    let _ = (image.has_reverse_offload(), image.is_opaque());
    for symbol in image.symbols() {
        let _ = image.symbol(&symbol.name).expect("it is listed");
    }
    for member in image.members() {
        if let Ok(image) = member.image() {
            assert!(image.members().is_empty(), "a member of a member");
            read(&image);
        }
    }
    for arch in ["sm_70", "gfx90a"] {
        let arch: DeviceArch = arch.parse().expect("an architecture");
        let _ = image.for_device(&arch);
    }
}
