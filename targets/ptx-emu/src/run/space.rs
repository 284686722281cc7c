//! The state spaces of a device thread, and the windows of generic addresses.

use super::memory_ref::MemoryRef;
use super::private_memory::{LOCAL_BYTES, PrivateMemory};
use crate::code::op::StateSpace;
use crate::error::FaultKind;
use crate::memory::{self, AccessKind, CODE, LOCAL, Memory, PARAM, SHARED, WINDOW};

/// The memory that the threads of a warp can access.
pub(super) struct Spaces<'a> {
    pub(super) global: &'a Memory,
    pub(super) shared: &'a PrivateMemory,
    /// Bytes of shared memory of the launch.
    pub(super) shared_bytes: u32,
    pub(super) local: &'a PrivateMemory,
    pub(super) params: &'a [u64],
}

/// An access, for errors.
#[derive(Clone, Copy, Debug)]
pub(super) struct Access {
    pub(super) kind: AccessKind,
    pub(super) bytes: u32,
}

impl Spaces<'_> {
    /// The memory of a lane's access to `address` in `space`.
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
        let bytes = u64::from(access.bytes);
        if !address.is_multiple_of(bytes) {
            return Err(FaultKind::Misaligned {
                access: access.kind.name(),
                address,
                bytes: access.bytes,
            });
        }
        let unreachable = |what: &str| FaultKind::Unreachable {
            access: access.kind.name(),
            address,
            bytes: access.bytes,
            what: what.to_owned(),
        };
        let end = |offset: u64| offset.checked_add(bytes);
        match space {
            StateSpace::Global => {
                if !memory::is_global(address) {
                    return Err(unreachable("not in global memory"));
                }
                match self.global.resolve(address, bytes, access.kind) {
                    Some(host) => Ok(MemoryRef::Common(host.as_ptr())),
                    None if self
                        .global
                        .resolve(address, bytes, AccessKind::Load)
                        .is_some() =>
                    {
                        Err(unreachable("constant"))
                    }
                    None if memory::is_mapped(address) => {
                        Err(unreachable("memory of the host that is not mapped"))
                    }
                    None => Err(unreachable("not allocated")),
                }
            }
            StateSpace::Shared => {
                let size = u64::from(self.shared_bytes);
                if end(address).is_none_or(|end| end > size) {
                    return Err(unreachable("beyond the block's shared memory"));
                }
                Ok(MemoryRef::Own(self.shared.at(address as usize)))
            }
            StateSpace::Local | StateSpace::Frame => {
                if end(address).is_none_or(|end| end > u64::from(LOCAL_BYTES)) {
                    return Err(unreachable(
                        "beyond the 512 KiB of local memory, the stack, of a thread",
                    ));
                }
                let at = lane * LOCAL_BYTES as usize + address as usize;
                Ok(MemoryRef::Own(self.local.at(at)))
            }
            StateSpace::Param => {
                if access.kind != AccessKind::Load
                    || end(address).is_none_or(|end| end > 8 * self.params.len() as u64)
                {
                    return Err(unreachable("no parameter, or to be written"));
                }
                Ok(MemoryRef::Own(
                    self.params
                        .as_ptr()
                        .cast::<u8>()
                        .wrapping_add(address as usize)
                        .cast_mut(),
                ))
            }
            StateSpace::Generic => {
                let inner = |space, base| (space, address - base);
                let (space, offset) = if memory::is_global(address) {
                    inner(StateSpace::Global, 0)
                } else if is_window(address, SHARED) {
                    inner(StateSpace::Shared, SHARED)
                } else if is_window(address, LOCAL) {
                    inner(StateSpace::Local, LOCAL)
                } else if is_window(address, PARAM) {
                    inner(StateSpace::Param, PARAM)
                } else if is_window(address, CODE) {
                    return Err(unreachable("code"));
                } else if address < 1 << 16 {
                    return Err(unreachable("next to null"));
                } else {
                    return Err(unreachable("no device address"));
                };
                self.find(lane, space, offset, access)
                    .map_err(|fault| with_address(fault, address))
            }
        }
    }
}

/// The fault with the program's address.
fn with_address(fault: FaultKind, address: u64) -> FaultKind {
    match fault {
        FaultKind::Unreachable {
            access,
            bytes,
            what,
            ..
        } => FaultKind::Unreachable {
            access,
            address,
            bytes,
            what,
        },
        FaultKind::Misaligned { access, bytes, .. } => FaultKind::Misaligned {
            access,
            address,
            bytes,
        },
        other => other,
    }
}

/// The offset in shared memory of an address that must be there.
pub(super) fn shared_offset(space: StateSpace, address: u64, bytes: u32) -> Result<u64, FaultKind> {
    match space {
        StateSpace::Shared => Ok(address),
        StateSpace::Generic if is_window(address, SHARED) => Ok(address - SHARED),
        _ => Err(FaultKind::Unreachable {
            access: AccessKind::Atomic.name(),
            address,
            bytes,
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
