//! Writing the variables through which an image finds its device number and its wire.

use shared_abi::gomp::{ADDITIONAL_ICVS, REV_OFFLOAD_VAR};
use shared_abi::icv::{DEFAULT_DEVICE_UNSET, OffloadIcvs};
use shared_abi::image::{DeviceConfig, HOST_ARCH, HOST_WAIT, PANIC, RUNTIME};
use shared_abi::wire::WireKind;

use super::panic_record::PanicRecord;
use super::{Inner, Result};
use crate::device::{Global, Module};
use crate::image::Image;
use crate::wire::Reservation;

/// The result of [`connect`].
pub(super) struct Connected {
    /// The variables that were written. Calls from kernels cannot change them.
    pub(super) variables: Vec<Reservation>,
    /// The record of the image's panics, if it keeps one.
    pub(super) panic_record: Option<PanicRecord>,
}

/// Writes the variables that an image leaves to its host: OpenMP's ICVs of the device, the address
/// of the panic record, and, if the image calls the host, the location of its wire. Variables that
/// the image does not have are skipped.
pub(super) fn connect(
    inner: &Inner,
    image: &Image,
    module: &dyn Module,
    kind: Option<WireKind>,
) -> Result<Connected> {
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
        written.push(inner.server.reserved.reserve(address, size));
        Ok(())
    };
    write(ADDITIONAL_ICVS, &icv_bytes(&icvs))?;
    let panic_record = match module.global(PANIC)? {
        Some(_) => {
            let memory = inner.device.alloc_mapped(PanicRecord::BYTES)?;
            let record = PanicRecord::new(memory);
            write(PANIC, &record.address().to_le_bytes())?;
            Some(record)
        }
        None => None,
    };
    if let Some(kind) = kind {
        let config = inner.server.connect(kind)?;
        write(RUNTIME, &config_bytes(&config))?;
        if [WireKind::GCC_RING, WireKind::GCC_SLOT].contains(&kind) {
            write(REV_OFFLOAD_VAR, &config.wire.to_le_bytes())?;
        }
    }
    // The `host` device wrote these variables when it loaded the image.
    for symbol in [HOST_ARCH, HOST_WAIT] {
        if let Some(Global { address, size }) = module.global(symbol)? {
            written.push(inner.server.reserved.reserve(address, size));
        }
    }
    Ok(Connected {
        variables: written,
        panic_record,
    })
}

fn config_bytes(words: &DeviceConfig) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(size_of::<DeviceConfig>());
    bytes.extend(words.wire_kind.to_le_bytes());
    bytes.extend(words.slots.to_le_bytes());
    for word in [words.wire, words.claims, words.bounce, words.wake_word] {
        bytes.extend(word.to_le_bytes());
    }
    bytes.extend(words.bounce_blocks.to_le_bytes());
    bytes.extend(words.lanes.to_le_bytes());
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
