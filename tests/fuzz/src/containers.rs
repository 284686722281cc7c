//! Files of several images.

use revoff_host::targets::offload_binary::{Entry, ImageKind, OffloadKind};
use revoff_host::targets::{fatbin, offload_binary};
use test_fatbin::Stored;

use crate::target::Target;
use crate::{code_objects, ptx};

/// Reading a fatbin, and decompressing what it contains.
pub(super) const FATBIN: Target = Target {
    name: "fatbin",
    run: |bytes| {
        for entry in fatbin::read(bytes).unwrap_or_default() {
            if let Ok(image) = entry.decompress() {
                assert!(image.len() as u64 <= fatbin::MAX_SIZE);
            }
        }
    },
    seeds: fatbins,
    is_valid: |bytes| {
        let entries = fatbin::read(bytes).unwrap_or_default();
        !entries.is_empty() && entries.iter().all(|entry| entry.decompress().is_ok())
    },
    cost: 1,
    tally: None,
};

/// Reading an offload binary. Those that are written are read as they were.
pub(super) const OFFLOAD_BINARY: Target = Target {
    name: "offload-binary",
    run: |bytes| {
        let Ok(entries) = offload_binary::read(bytes) else {
            return;
        };
        let written = offload_binary::write(&entries);
        assert_eq!(offload_binary::read(&written).as_ref(), Ok(&entries));
    },
    seeds: offload_binaries,
    is_valid: |bytes| offload_binary::read(bytes).is_ok(),
    cost: 1,
    tally: None,
};

/// Files of both kinds.
pub(super) fn seeds() -> Vec<Vec<u8>> {
    [fatbins(), offload_binaries()].concat()
}

fn fatbins() -> Vec<Vec<u8>> {
    let text = [ptx::SEED.as_bytes(), b"\0"].concat();
    let image = |stored| test_fatbin::Image {
        kind: 1,
        arch: 70,
        version: (8, 0),
        flags: 0x11,
        identifier: b"it.cu",
        options: Some(b"-O3"),
        bytes: &text,
        stored,
    };
    let together = [image(Stored::Plain), image(Stored::Plain)];
    Stored::ALL
        .into_iter()
        .flat_map(|stored| {
            [
                test_fatbin::write(&[image(stored).entry()]),
                test_fatbin::write(&[test_fatbin::concatenated(&together, stored)]),
            ]
        })
        .collect()
}

fn offload_binaries() -> Vec<Vec<u8>> {
    let code_objects = code_objects::seeds();
    let entry = |image_kind, triple, arch, image| Entry {
        image_kind,
        offload_kind: OffloadKind::OPENMP,
        triple,
        arch,
        image,
    };
    let ptx = entry(
        ImageKind::PTX,
        "nvptx64-nvidia-cuda",
        "sm_70",
        ptx::SEED.as_bytes(),
    );
    let code_object = entry(
        ImageKind::OBJECT,
        "amdgcn-amd-amdhsa",
        "gfx90a",
        &code_objects[0],
    );
    vec![
        offload_binary::write(&[ptx]),
        offload_binary::write(&[ptx, code_object]),
    ]
}
