//! Data that each construct has a copy of its own of: `private` and `firstprivate`.

use host_rt::DeviceBuffer;

use super::Device;
use super::stream::Stream;
use crate::abi::MapType;
use crate::args::{self, OneArg, POINTER, alignment};
use crate::report::message::Failed;
use crate::report::source::NameOf;

/// Bytes up to which such data travels together.
const MOST_TOGETHER: usize = 1024;

/// The private data of one construct, freed with it.
#[derive(Default)]
pub(crate) struct Private {
    memory: Vec<DeviceBuffer>,
    /// What travels together.
    together: Vec<u8>,
    /// The places in it, with the parameters that name them.
    places: Vec<Place>,
}

struct Place {
    offset: usize,
    /// Which parameter has its address.
    parameter: usize,
    /// From it to the address that the kernel gets.
    delta: u64,
}

impl Private {
    /// Makes private data of `arg`, for the parameter with this number. Returns where it is;
    /// `None` if that is known only after [`send`](Self::send).
    ///
    /// # Safety
    /// The argument describes memory of the program's, which stays as it is until the stream
    /// is synchronised.
    ///
    /// # Errors
    /// The device fails.
    pub(crate) unsafe fn add(
        &mut self,
        device: &Device,
        stream: &mut Stream<'_>,
        arg: &OneArg,
        parameter: usize,
        has_members: bool,
    ) -> Result<Option<u64>, Failed> {
        let bytes = arg.bytes();
        let is_pointer = arg.map.has(MapType::ATTACH);
        let begin = if is_pointer { arg.base } else { arg.begin };
        let delta = arg.base.wrapping_sub(begin) as u64;
        if !arg.map.has(MapType::TO) && !is_pointer {
            return Ok(Some(self.alloc(device, bytes as u64)?.wrapping_add(delta)));
        }
        // SAFETY: the caller's promise.
        let mut content = unsafe { args::slice(begin as *const u8, bytes) };
        let pointing;
        if is_pointer && bytes >= POINTER {
            // SAFETY: as above: there is a pointer at the base.
            let base = unsafe { (begin as *const usize).read_unaligned() };
            let target = device.table.find(device, arg.begin, 0, false);
            let to = target.map_or(base as u64, |target| {
                target
                    .device
                    .wrapping_sub(arg.begin.wrapping_sub(base) as u64)
            });
            let mut bytes = content.to_vec();
            bytes[..POINTER].copy_from_slice(&to.to_ne_bytes());
            pointing = bytes;
            content = &pointing;
        }
        if bytes > MOST_TOGETHER || has_members {
            let place = self.alloc(device, bytes as u64)?;
            if is_pointer {
                stream.copy_bytes_to(place, content, NameOf(arg.name))?;
            } else {
                // SAFETY: the caller's promise.
                unsafe { stream.copy_to(place, content.as_ptr(), bytes, NameOf(arg.name))? };
            }
            return Ok(Some(place.wrapping_add(delta)));
        }
        let offset = self.together.len().next_multiple_of(alignment(begin));
        self.together.resize(offset, 0);
        self.together.extend_from_slice(content);
        self.places.push(Place {
            offset,
            parameter,
            delta,
        });
        Ok(None)
    }

    /// Memory that is freed with the construct.
    ///
    /// # Errors
    /// There is not that much.
    pub(crate) fn alloc(&mut self, device: &Device, bytes: u64) -> Result<u64, Failed> {
        let memory = device.alloc(bytes)?;
        let address = memory.address();
        self.memory.push(memory);
        Ok(address)
    }

    /// Sends what travels together, and fills in its parameters.
    ///
    /// # Errors
    /// The device fails.
    pub(crate) fn send(
        &mut self,
        device: &Device,
        stream: &mut Stream<'_>,
        parameters: &mut [u64],
    ) -> Result<(), Failed> {
        if self.places.is_empty() {
            return Ok(());
        }
        let start = self.alloc(device, self.together.len() as u64)?;
        stream.copy_bytes_to(start, &self.together, NameOf(std::ptr::null()))?;
        for place in &self.places {
            parameters[place.parameter] = (start + place.offset as u64).wrapping_add(place.delta);
        }
        Ok(())
    }
}
