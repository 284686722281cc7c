//! Pointers in mapped data, which must hold host addresses while the function runs.

use std::ptr::{self, NonNull};

use super::{Arg, ArgInfo, MapError, PresentTable, Scratch, kinds::Class, kinds::classify};

/// Bytes of a pointer, on the device and here.
pub(super) const POINTER_SIZE: u64 = 8;

/// A pointer to be set.
#[derive(Clone, Copy)]
pub(super) enum Site {
    /// It is an argument of its own and points to the previous one.
    Free {
        /// Index of the pointer's argument.
        entry: usize,
    },
    /// It is in a descriptor and points to mapped data.
    InDescriptor {
        /// Index of the pointer's argument.
        entry: usize,
        /// Index of the descriptor's.
        descriptor: usize,
        /// Whether the descriptor is present: then its pointers are already the host's.
        present: bool,
    },
}

/// Memory of this request that holds a host address instead of the device's.
pub(super) struct Patch {
    /// Valid for a pointer, aligned or not.
    place: NonNull<u8>,
    value: *mut u8,
    /// The previous value.
    device: [u8; POINTER_SIZE as usize],
}

impl Scratch {
    /// Sets all pointers, after the bytes around them have arrived.
    pub(super) fn attach(&mut self, args: &[Arg], present: &PresentTable) -> Result<(), MapError> {
        // All are read before the first is written, since two entries may name the same pointer.
        for at in 0..self.sites.len() {
            match self.sites[at] {
                Site::Free { entry } => {
                    let target = self.args[entry - 1].ptr;
                    let value = if target.is_null() {
                        target
                    } else {
                        target.wrapping_sub(args[entry].size as usize)
                    };
                    let place = self.args[entry].ptr;
                    self.patches.extend(Patch::new(place, value));
                }
                Site::InDescriptor {
                    entry,
                    descriptor,
                    present: is_present,
                } => {
                    // Its offset was checked: a whole pointer lies in the descriptor.
                    let offset = args[entry].size as usize;
                    let place = self.args[descriptor].ptr.wrapping_add(offset);
                    let value = if is_present {
                        // SAFETY: in data of the table, valid by the contract of
                        // `insert`, which the request holds.
                        unsafe { place.cast::<*mut u8>().read_unaligned() }
                    } else {
                        // SAFETY: in a block of this request, valid and initialised
                        // from the descriptor's address to its end.
                        let device = unsafe { place.cast::<u64>().read_unaligned() };
                        let value = self.target(args, present, entry, descriptor, device)?;
                        self.patches.extend(Patch::new(place, value));
                        value
                    };
                    let arg = &mut self.args[entry];
                    (arg.ptr, arg.exclusive) = (value, false);
                }
            }
        }
        for patch in &mut self.patches {
            let place = patch.place.as_ptr();
            // SAFETY: both kinds of place lie with their 8 bytes in a block of this
            // request; no reference to it exists before the function runs.
            unsafe {
                patch.device = place.cast::<[u8; POINTER_SIZE as usize]>().read();
                place.cast::<*mut u8>().write_unaligned(patch.value);
            }
        }
        Ok(())
    }

    /// The host address of the target of a descriptor's pointer.
    fn target(
        &mut self,
        args: &[Arg],
        present: &PresentTable,
        entry: usize,
        descriptor: usize,
        device: u64,
    ) -> Result<*mut u8, MapError> {
        if device == 0 {
            return Ok(ptr::null_mut());
        }
        // The last address lies in no range, since a range's end is an address too.
        let end = device.saturating_add(1);
        if device < end
            && let Some((host, _)) = self.locate(device, end)
        {
            return Ok(host.as_ptr());
        }
        if let Some(reader) = present.read()
            // One byte cannot lie partly in data.
            && let Ok(Some(found)) = reader.find(device, end)
        {
            self.hold(found);
            return Ok(found.translate(device));
        }
        // An array without elements has no bytes to find it by; its entry precedes its descriptor.
        if let Some(before) = descriptor.checked_sub(1)
            && args[before].addr == device
            && matches!(classify(args[before].kind), Some(Class::Data { .. }))
        {
            return Ok(self.args[before].ptr);
        }
        let arg = ArgInfo::new(entry, &args[entry]);
        match classify(arg.kind) {
            Some(Class::DescriptorPointer) => Ok(ptr::null_mut()),
            _ => Err(MapError::UnmappedTarget {
                arg,
                target: device,
            }),
        }
    }

    /// Restores the device's pointers, so that copying back does not change them.
    pub(super) fn detach(&mut self) {
        // In reverse order: a pointer that was set twice has its device value in the first patch.
        for patch in self.patches.iter().rev() {
            let place = patch.place.as_ptr();
            // SAFETY: valid as when it was set, and the function that had
            // references to it has returned.
            unsafe {
                place
                    .cast::<[u8; POINTER_SIZE as usize]>()
                    .write(patch.device)
            };
        }
    }
}

impl Patch {
    /// `place` is never null: a block assigned it.
    fn new(place: *mut u8, value: *mut u8) -> Option<Self> {
        Some(Patch {
            place: NonNull::new(place)?,
            value,
            device: [0; POINTER_SIZE as usize],
        })
    }
}
