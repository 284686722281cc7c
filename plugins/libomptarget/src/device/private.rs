//! Data of which each construct has its own copy: `private` and `firstprivate`.

use revoff_host::device::DeviceAddr;
use revoff_host::{DeviceBuffer, Reservation};

use super::Device;
use super::stream::Stream;
use crate::abi::MapType;
use crate::args::{self, OneArg, POINTER, alignment};
use crate::report::message::Failed;
use crate::report::source::SourceName;

/// Largest data that is sent together with other data.
const MAX_COMBINED: usize = 1024;

/// The private data of one construct, freed with it.
#[derive(Default)]
pub(crate) struct Private {
    /// Parts of the memory that calls must not change; dropped before it.
    reserved: Vec<Reservation>,
    memory: Vec<DeviceBuffer>,
    /// The bytes that are sent together.
    together: Vec<u8>,
    /// The arguments in it, and their parameters.
    locations: Vec<ArgLocation>,
}

struct ArgLocation {
    offset: usize,
    /// The index of the parameter with its address.
    parameter: usize,
    /// Its distance to the address that the kernel gets.
    delta: u64,
}

impl Private {
    /// Makes private data for `arg`, for the parameter with this index. Returns its address;
    /// `None` if [`send`](Self::send) will fill in the parameter.
    ///
    /// # Safety
    /// The argument describes the program's memory, which does not change until the stream is
    /// synchronised.
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
            // SAFETY: the caller's promise: the argument's memory begins with a pointer.
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
        if bytes > MAX_COMBINED || has_members {
            let place = self.alloc(device, bytes as u64)?;
            if is_pointer {
                stream.copy_bytes_to(place, content, SourceName(arg.name))?;
            } else {
                // SAFETY: the caller's promise.
                unsafe { stream.copy_to(place, content.as_ptr(), bytes, SourceName(arg.name))? };
            }
            return Ok(Some(place.wrapping_add(delta)));
        }
        let offset = self.together.len().next_multiple_of(alignment(begin));
        self.together.resize(offset, 0);
        self.together.extend_from_slice(content);
        self.locations.push(ArgLocation {
            offset,
            parameter,
            delta,
        });
        Ok(None)
    }

    /// Memory that is freed with the construct.
    ///
    /// # Errors
    /// There is not enough memory.
    pub(crate) fn alloc(&mut self, device: &Device, bytes: u64) -> Result<u64, Failed> {
        let memory = device.alloc(bytes)?;
        let address = memory.address().0;
        self.memory.push(memory);
        Ok(address)
    }

    /// Like [`alloc`](Self::alloc), for memory that device code follows and calls must not change.
    ///
    /// # Errors
    /// There is not enough memory.
    pub(crate) fn alloc_reserved(&mut self, device: &Device, bytes: u64) -> Result<u64, Failed> {
        let address = self.alloc(device, bytes)?;
        self.reserved
            .push(device.runtime.reserve(DeviceAddr(address), bytes));
        Ok(address)
    }

    /// Sends the data that goes together, and fills in its parameters.
    ///
    /// # Errors
    /// The device fails.
    pub(crate) fn send(
        &mut self,
        device: &Device,
        stream: &mut Stream<'_>,
        parameters: &mut [u64],
    ) -> Result<(), Failed> {
        if self.locations.is_empty() {
            return Ok(());
        }
        let start = self.alloc(device, self.together.len() as u64)?;
        stream.copy_bytes_to(start, &self.together, SourceName(std::ptr::null()))?;
        for location in &self.locations {
            parameters[location.parameter] =
                (start + location.offset as u64).wrapping_add(location.delta);
        }
        Ok(())
    }
}
