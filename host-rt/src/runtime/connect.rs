//! Telling an image where its wire is.

use shared_abi::gomp::{ADDITIONAL_ICVS, REV_OFFLOAD_VAR};
use shared_abi::icv::{DEFAULT_DEVICE_UNSET, OffloadIcvs};
use shared_abi::image::{RUNTIME, Runtime};
use shared_abi::wire::WireKind;

use super::Inner;
use crate::device::{Global, Module};
use crate::error::{ImageError, Result};
use crate::image::Image;

/// Writes the variables through which the image finds its wire.
pub(super) fn connect(
    inner: &Inner,
    image: &Image,
    module: &dyn Module,
    kind: WireKind,
) -> Result<()> {
    let runtime = inner.server.connect(kind)?;
    let icvs = OffloadIcvs {
        device_num: 0,
        default_device: DEFAULT_DEVICE_UNSET,
        nteams: 0,
        teams_thread_limit: 0,
    };
    let mut queue = inner.device.queue()?;
    let mut write = |symbol: &str, bytes: &[u8]| -> Result<()> {
        let Some(Global { address, size }) = module.global(symbol) else {
            return Ok(());
        };
        if size != bytes.len() as u64 {
            return Err(ImageError::BadSymbol {
                name: image.name().to_owned(),
                symbol: symbol.to_owned(),
                reason: format!("has {size} bytes, expected {}", bytes.len()),
            }
            .into());
        }
        // SAFETY: `bytes` lives until `synchronize` returns.
        unsafe { queue.copy_to_device(address, bytes.as_ptr(), bytes.len())? };
        queue.synchronize()?;
        Ok(())
    };
    write(RUNTIME, &runtime_bytes(&runtime))?;
    if kind != WireKind::NATIVE {
        write(REV_OFFLOAD_VAR, &runtime.wire.to_le_bytes())?;
    }
    write(ADDITIONAL_ICVS, &icv_bytes(&icvs))
}

fn runtime_bytes(words: &Runtime) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(size_of::<Runtime>());
    bytes.extend(words.wire_kind.to_le_bytes());
    bytes.extend(words.slots.to_le_bytes());
    for word in [words.wire, words.claims, words.bounce, words.bell] {
        bytes.extend(word.to_le_bytes());
    }
    bytes.extend(words.bounce_blocks.to_le_bytes());
    bytes.extend(words.reserved.to_le_bytes());
    bytes
}

fn icv_bytes(icvs: &OffloadIcvs) -> Vec<u8> {
    [
        icvs.device_num,
        icvs.default_device,
        icvs.nteams,
        icvs.teams_thread_limit,
    ]
    .into_iter()
    .flat_map(i32::to_le_bytes)
    .collect()
}
