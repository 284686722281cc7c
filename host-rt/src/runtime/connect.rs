//! Telling an image where it is, and where its wire is.

use shared_abi::gomp::{ADDITIONAL_ICVS, REV_OFFLOAD_VAR};
use shared_abi::icv::{DEFAULT_DEVICE_UNSET, OffloadIcvs};
use shared_abi::image::{RUNTIME, Runtime};
use shared_abi::wire::WireKind;

use super::Inner;
use crate::device::{Global, Module};
use crate::error::Result;
use crate::image::Image;

/// Writes the variables that an image has for its host: OpenMP's of the device, and,
/// if the image calls the host, those through which it finds its wire. What it does not
/// have is not missed. Returns the addresses of the variables written, which calls may not change
/// from now on.
pub(super) fn connect(
    inner: &Inner,
    image: &Image,
    module: &dyn Module,
    kind: Option<WireKind>,
) -> Result<Vec<u64>> {
    let mut written = Vec::new();
    let icvs = OffloadIcvs {
        device_num: inner.device.number().cast_signed(),
        default_device: DEFAULT_DEVICE_UNSET,
        nteams: 0,
        teams_thread_limit: 0,
    };
    let mut queue = inner.device.queue()?;
    let mut write = |symbol: &str, bytes: &[u8]| -> Result<()> {
        let Some(Global { address, size }) = module.global(symbol)? else {
            return Ok(());
        };
        if size != bytes.len() as u64 {
            let reason = format!("has {size} bytes, expected {}", bytes.len());
            return Err(image.bad_symbol(symbol, reason).into());
        }
        // SAFETY: `bytes` lives until `synchronize` returns.
        unsafe { queue.copy_to_device(address, bytes.as_ptr(), bytes.len())? };
        queue.synchronize()?;
        inner.server.reserved.insert(address, size);
        written.push(address);
        Ok(())
    };
    write(ADDITIONAL_ICVS, &icv_bytes(&icvs))?;
    let Some(kind) = kind else {
        return Ok(written);
    };
    let runtime = inner.server.connect(kind)?;
    write(RUNTIME, &runtime_bytes(&runtime))?;
    if [WireKind::GCC_RING, WireKind::GCC_SLOT].contains(&kind) {
        write(REV_OFFLOAD_VAR, &runtime.wire.to_le_bytes())?;
    }
    Ok(written)
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
