//! Errors of images.

use std::path::PathBuf;

use shared_abi::wire::WireKind;
use targets::DeviceArch;
use targets::choose::WayOut;

use crate::base::debug_as_display;

/// An image cannot be used.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum ImageError {
    /// The file cannot be read.
    #[error("cannot read image {path}: {reason}", path = path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The system's error, which the message includes.
        reason: std::io::Error,
    },
    /// No device can load the bytes.
    #[error("{name} is no device image: {reason}")]
    NoImage {
        /// The file, or the name of the bytes.
        name: String,
        /// The reason.
        reason: NoImage,
    },
    /// The image is for another device.
    #[error(
        "{name} is {found}, but device `{device}` loads {wanted} ({})",
        WayOut(arch)
    )]
    OtherMachine {
        /// The file, or the name of the bytes.
        name: String,
        /// A description of the image.
        found: String,
        /// The device.
        device: String,
        /// The kinds of images that the device loads.
        wanted: String,
        /// The device's architecture.
        arch: Box<DeviceArch>,
    },
    /// A bundle has no image for the device.
    #[error("{name}: {reason}")]
    NoMember {
        /// The file, or the name of the bytes.
        name: String,
        /// The device, and the images of the file.
        reason: targets::choose::NoMatch,
    },
    /// The image was built with another version of the ABI.
    #[error(
        "{name} was built for ABI version {image}, this host supports version {host}: rebuild the \
         image with the device-rt of this version, or use the matching host"
    )]
    OtherAbi {
        /// The file, or the name of the bytes.
        name: String,
        /// Version of the image.
        image: u32,
        /// Version of the host.
        host: u32,
    },
    /// A symbol has an unexpected size or content.
    #[error("{name}: symbol `{symbol}` {reason}")]
    BadSymbol {
        /// The file, or the name of the bytes.
        name: String,
        /// The symbol.
        symbol: String,
        /// The reason.
        reason: String,
    },
    /// The image does not support the requested wire.
    #[error(
        "{name} does not support wire `{wire}`; it supports {speaks}: {}",
        wire_remedy(wire)
    )]
    NoWire {
        /// The file, or the name of the bytes.
        name: String,
        /// The requested wire.
        wire: String,
        /// The wires of the image.
        speaks: String,
    },
    /// The image has no such kernel.
    #[error("{name} has no kernel `{kernel}`; it has {has}")]
    NoKernel {
        /// The file, or the name of the bytes.
        name: String,
        /// The requested kernel.
        kernel: String,
        /// The kernels of the image.
        has: String,
    },
    /// The image and the host declare a host function differently.
    #[error(
        "{name} and this host declare `{function}` differently (signature {image:#018x} in the \
         image, {host:#018x} here): build both from the same declaration"
    )]
    OtherSignature {
        /// The file, or the name of the bytes.
        name: String,
        /// The function.
        function: String,
        /// Hash in the image.
        image: u64,
        /// Hash of the host's registration.
        host: u64,
    },
    /// The image and the host declare a kernel differently, or the image has no
    /// declaration of it.
    #[error(
        "{name} and this host declare kernel `{kernel}` differently (signature {} in the image, \
         {host:#018x} here): build both from the same declaration, which the kernel's definition \
         names, `#[revoff_device::kernel(..)]`",
        image.map_or("none".to_owned(), |image| format!("{image:#018x}"))
    )]
    OtherKernel {
        /// The file, or the name of the bytes.
        name: String,
        /// The kernel.
        kernel: String,
        /// Hash in the image, if it has one.
        image: Option<u64>,
        /// Hash of the host's declaration.
        host: u64,
    },
    /// The system's loader rejected the image.
    #[error("cannot load {name}: {reason}")]
    Load {
        /// The file, or the name of the bytes.
        name: String,
        /// The loader's message.
        reason: String,
    },
}

/// The reason why no device can load some bytes.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NoImage {
    /// There are none.
    #[error("it is empty (as build scripts leave it where REVOFF_IMAGE_BUILD_SKIP is set)")]
    Empty,
    /// Their format is unknown.
    #[error("neither ELF nor PTX nor a fatbin nor a file of several images")]
    UnknownFormat,
    /// An ELF file cannot be read.
    #[error("broken ELF, of which the end may be missing: {0}")]
    Elf(object::Error),
    /// An ELF file for another kind of machine.
    #[error("not a 64-bit little-endian ELF file")]
    OtherElf,
    /// An ELF file of another kind.
    #[error("ELF, but not a shared object ({kind:?}, machine {machine})")]
    NotShared {
        /// The kind.
        kind: object::ObjectKind,
        /// The machine, `e_machine`.
        machine: u16,
    },
    /// PTX cannot be read.
    #[error("broken PTX: {0}")]
    Ptx(targets::ptx::Malformed),
    /// A file of several images cannot be read.
    #[error("a broken file of several images: {0}")]
    Bundle(targets::offload_binary::ReadError),
    /// There is nothing to link.
    #[error("it has no parts")]
    NoParts,
    /// A part is itself an image that is linked from parts.
    #[error("its part {0} has parts itself")]
    NestedParts(String),
}

/// How an image comes to support `wire`.
fn wire_remedy(wire: &str) -> &'static str {
    if WireKind::NATIVE.name() == Some(wire) {
        "use another wire, or link the image with device-rt"
    } else {
        "use another wire, or rebuild the image with the feature `gcc-wires` of revoff-device"
    }
}

debug_as_display!(ImageError);
