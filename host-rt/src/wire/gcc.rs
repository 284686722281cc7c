//! What GCC's wires have in common: arguments at device addresses, and completion words.

use core::mem::offset_of;
use std::sync::Arc;

use shared_abi::map_kind::MapKind;
use shared_abi::wire::bounce::{BLOCK, BounceHeader};
use shared_abi::words::{Coherent, Load, Store, SystemWords};

use super::{Arg, At, Copier, Place, Poll, PollWire, Taken};
use crate::device::{DeviceError, MappedMemory};

/// A poller that also finds out which launch a request comes from.
pub(super) struct Attributed<W> {
    poller: W,
    bounce: Arc<MappedMemory>,
}

impl<W: PollWire> Attributed<W> {
    pub(super) fn new(poller: W, bounce: Arc<MappedMemory>) -> Self {
        Self { poller, bounce }
    }

    fn attribute(&self, mut found: Poll) -> Poll {
        if let Poll::Taken(taken) = &mut found
            && let At::Gcc { addrs, .. } = taken.at
        {
            taken.launch = launch_of(addrs, &self.bounce);
        }
        found
    }
}

impl<W: PollWire> PollWire for Attributed<W> {
    fn poll(&mut self) -> Poll {
        let found = self.poller.poll();
        self.attribute(found)
    }

    fn poll_requests(&mut self) -> Poll {
        let found = self.poller.poll_requests();
        self.attribute(found)
    }

    fn poll_text(&mut self) -> Poll {
        self.poller.poll_text()
    }
}

/// Key of the launch that a request with its addresses at `addrs` comes from, if
/// `device-rt` made it: its extent starts with one. 0 for requests of GCC's own code.
fn launch_of(addrs: u64, bounce: &MappedMemory) -> u32 {
    let header = size_of::<BounceHeader>() as u64;
    let extent = addrs.wrapping_sub(header).wrapping_sub(bounce.device);
    if !extent.is_multiple_of(BLOCK as u64) || !bounce.contains(addrs.wrapping_sub(header), header)
    {
        return 0;
    }
    // SAFETY: the header lies in the bounce area, whose other users access it
    // atomically or ordered by the wire.
    let words = unsafe { Coherent::new(bounce.host.as_ptr()) };
    // Relaxed: S1, R1 or Q1 orders it.
    words.load32(
        extent as usize + offset_of!(BounceHeader, launch),
        Load::Relaxed,
    )
}

/// Reads the three argument arrays.
pub(super) fn read_args(
    taken: &Taken,
    copier: &mut Copier,
    limit: u64,
    args: &mut Vec<Arg>,
    places: &mut Vec<Place>,
) -> Result<(), String> {
    let At::Gcc {
        addrs,
        sizes,
        kinds,
        ..
    } = taken.at
    else {
        unreachable!("a request is served by the wire it was taken from")
    };
    if taken.mapnum == 0 {
        return Ok(());
    }
    if taken.mapnum > limit {
        return Err(format!(
            "{} arguments, at most {limit} are allowed",
            taken.mapnum
        ));
    }
    let count = taken.mapnum as usize;
    let mut list = vec![0u64; count * 2];
    let mut kind_list = vec![0u16; count];
    let mut fetch = |to: *mut u8, from: u64, len: usize| {
        // SAFETY: the callers below pass vectors of that many bytes, which
        // outlive `finish`.
        unsafe { copier.fetch(to, from, len) }
    };
    let fetched = fetch(list.as_mut_ptr().cast(), addrs, count * 8)
        .and_then(|()| fetch(list[count..].as_mut_ptr().cast(), sizes, count * 8))
        .and_then(|()| fetch(kind_list.as_mut_ptr().cast(), kinds, count * 2));
    // Whatever was started has to end before the vectors go.
    let finished = copier.finish();
    fetched
        .and(finished)
        .map_err(|error| format!("its argument arrays: {error}"))?;
    for i in 0..count {
        args.push(Arg {
            addr: list[i],
            size: list[count + i],
            kind: MapKind(kind_list[i]),
        });
        places.push(Place::Device);
    }
    Ok(())
}

/// Answers the request whose completion word is at byte offset `signal` of
/// `memory`, on `gcc-ring` and `gcn-queue`.
pub fn complete(memory: &impl SystemWords, signal: usize) {
    // Edge `R2`, completing end: whoever sees the 1 sees what was copied back.
    memory.store32(signal, 1, Store::Release);
}

/// Answers the request whose completion word is at device address `signal`.
pub(super) fn signal(copier: &mut Copier, signal: u64) -> Result<(), DeviceError> {
    match copier.offset_in_bounce(signal, 4) {
        Some(at) if at.is_multiple_of(4) => {
            complete(&copier.bounce(), at);
            Ok(())
        }
        // GCC's own code: an `int` in device memory.
        _ => copier.store_word(signal, 1),
    }
}
