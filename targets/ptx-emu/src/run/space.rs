//! The state spaces of a device thread, and the windows of generic addresses.

use device_arena::AccessKind;

use super::launch::Launch;
use super::memory_ref::MemoryRef;
use super::private_memory::{LOCAL_BYTES, PrivateMemory};
use crate::code::op::StateSpace;
use crate::error::FaultKind;
use crate::memory::{self, CODE, LOCAL, Memory, PARAM, SHARED, WINDOW};

/// The memory that the threads of a warp can access.
pub(super) struct Spaces<'a> {
    pub(super) global: &'a Memory,
    pub(super) shared: &'a PrivateMemory,
    /// Bytes of shared memory of the launch.
    pub(super) shared_bytes: u32,
    pub(super) local: &'a PrivateMemory,
    pub(super) params: &'a [u64],
}

/// An access: what it does, and its size.
#[derive(Clone, Copy, Debug)]
pub(super) struct Access {
    pub(super) kind: AccessKind,
    pub(super) bytes: u32,
}

impl Access {
    pub(super) const fn load(bytes: u32) -> Self {
        let kind = AccessKind::Load;
        Self { kind, bytes }
    }

    pub(super) const fn store(bytes: u32) -> Self {
        let kind = AccessKind::Store;
        Self { kind, bytes }
    }

    pub(super) const fn atomic(bytes: u32) -> Self {
        let kind = AccessKind::Atomic;
        Self { kind, bytes }
    }
}

impl<'a> Spaces<'a> {
    /// That of a warp's threads, of a block of `launch`.
    #[inline]
    pub(super) fn of(
        launch: &'a Launch,
        shared: &'a PrivateMemory,
        local: &'a PrivateMemory,
    ) -> Self {
        Self {
            global: &launch.memory,
            shared,
            shared_bytes: launch.shared_bytes(),
            local,
            params: &launch.params,
        }
    }
}

impl Spaces<'_> {
    /// The memory of a lane's access to `address` in `space`, if the access is allowed.
    #[inline]
    pub(super) fn locate(
        &self,
        lane: usize,
        space: StateSpace,
        address: u64,
        access: Access,
    ) -> Option<MemoryRef> {
        let bytes = u64::from(access.bytes);
        if address & (bytes - 1) != 0 {
            return None;
        }
        let (space, offset) = match space {
            StateSpace::Generic => generic(address)?,
            space => (space, address),
        };
        let is_below = |size: u64| offset < size && bytes <= size - offset;
        match space {
            StateSpace::Global | StateSpace::Generic => {
                if !memory::is_global(address) {
                    return None;
                }
                let host = self.global.resolve(address, bytes, access.kind)?;
                Some(MemoryRef::Common(host.as_ptr()))
            }
            StateSpace::Shared => {
                let is_inside = is_below(self.shared_bytes.into());
                is_inside.then(|| MemoryRef::Own(self.shared.at(offset as usize)))
            }
            StateSpace::Local | StateSpace::Frame => {
                let start = lane * LOCAL_BYTES as usize;
                let is_inside = is_below(LOCAL_BYTES.into());
                is_inside.then(|| MemoryRef::Own(self.local.at(start + offset as usize)))
            }
            StateSpace::Param => {
                let is_inside = is_below(8 * self.params.len() as u64);
                let at = self.params.as_ptr().cast::<u8>();
                (is_inside && access.kind == AccessKind::Load)
                    .then(|| MemoryRef::Own(at.wrapping_add(offset as usize).cast_mut()))
            }
        }
    }

    /// The same, with the fault of an access that is not allowed.
    ///
    /// # Errors
    /// The access is not allowed.
    pub(super) fn find(
        &self,
        lane: usize,
        space: StateSpace,
        address: u64,
        access: Access,
    ) -> Result<MemoryRef, FaultKind> {
        let found = self.locate(lane, space, address, access);
        found.ok_or_else(|| self.fault(space, address, access))
    }

    /// Why an access is not allowed.
    #[cold]
    pub(super) fn fault(&self, space: StateSpace, address: u64, access: Access) -> FaultKind {
        let bytes = u64::from(access.bytes);
        if !address.is_multiple_of(bytes) {
            return FaultKind::Misaligned {
                access: access.kind.name(),
                address,
                bytes: access.bytes,
            };
        }
        let space = match space {
            StateSpace::Generic => generic(address).map(|(space, _)| space),
            space => Some(space),
        };
        let what = match space {
            Some(StateSpace::Global | StateSpace::Generic) => {
                if !memory::is_global(address) {
                    "not in global memory"
                } else if self
                    .global
                    .resolve(address, bytes, AccessKind::Load)
                    .is_some()
                {
                    "constant"
                } else if memory::is_mapped(address) {
                    "memory of the host that is not mapped"
                } else {
                    "not allocated"
                }
            }
            Some(StateSpace::Shared) => "beyond the block's shared memory",
            Some(StateSpace::Local | StateSpace::Frame) => {
                "beyond the 512 KiB of local memory, the stack, of a thread"
            }
            Some(StateSpace::Param) => "no parameter, or to be written",
            None if is_window(address, CODE) => "code",
            None if address < 1 << 16 => "next to null",
            None => "no device address",
        };
        FaultKind::Unreachable {
            access: access.kind.name(),
            address,
            bytes: access.bytes,
            what: what.to_owned(),
        }
    }
}

/// The space of a generic address, and the address there.
#[inline]
fn generic(address: u64) -> Option<(StateSpace, u64)> {
    if memory::is_global(address) {
        return Some((StateSpace::Global, address));
    }
    let windows = [
        (StateSpace::Local, LOCAL),
        (StateSpace::Shared, SHARED),
        (StateSpace::Param, PARAM),
    ];
    let inside = windows
        .into_iter()
        .find(|&(_, base)| is_window(address, base));
    inside.map(|(space, base)| (space, address - base))
}

/// The offset in shared memory of an address that must be there.
pub(super) fn shared_offset(
    space: StateSpace,
    address: u64,
    access: Access,
) -> Result<u64, FaultKind> {
    match space {
        StateSpace::Shared => Ok(address),
        StateSpace::Generic if is_window(address, SHARED) => Ok(address - SHARED),
        _ => Err(FaultKind::Unreachable {
            access: access.kind.name(),
            address,
            bytes: access.bytes,
            what: "not in shared memory".to_owned(),
        }),
    }
}

/// Whether an address is in the window at `base`.
pub(super) fn is_window(address: u64, base: u64) -> bool {
    address.wrapping_sub(base) < WINDOW
}

/// The window of a space, for conversions to generic addresses.
pub(super) fn window(space: StateSpace) -> u64 {
    match space {
        StateSpace::Shared => SHARED,
        StateSpace::Local | StateSpace::Frame => LOCAL,
        StateSpace::Param => PARAM,
        StateSpace::Generic | StateSpace::Global => 0,
    }
}

/// Whether a generic address is in a space.
pub(super) fn is_in(address: u64, space: StateSpace) -> bool {
    match space {
        StateSpace::Global => memory::is_global(address),
        StateSpace::Generic => true,
        _ => is_window(address, window(space)),
    }
}

/// Whether an address of a space is in local memory.
pub(super) fn is_local(space: StateSpace, address: u64) -> bool {
    match space {
        StateSpace::Local | StateSpace::Frame => true,
        StateSpace::Generic => is_in(address, StateSpace::Local),
        StateSpace::Global | StateSpace::Shared | StateSpace::Param => false,
    }
}
