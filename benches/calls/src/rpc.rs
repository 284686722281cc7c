//! The memory and the opcodes that the RPC client of the kernels and its server on the host share.
//!
//! The protocol is that of the RPC of LLVM's libc for GPUs: a number of *ports*, each with a flag
//! word of the client, a flag word of the server, a header, and a packet of 64 bytes for each lane
//! of a warp. A port's buffer (header and packets) belongs to the client while the two flags are
//! equal, and to the server while they differ. Either side passes it on by inverting its flag.

use crate::{EMPTY, LARGE, TOFROM, TYPED, WORK};

/// Added to the kernels' number of a call, so that it is made by RPC.
pub const RPC: u32 = 1 << 31;

/// The variable with the [`Client`], which the host writes before it starts a kernel.
pub const CLIENT: &str = "bench_rpc_client";

/// The number of ports of the benchmark.
pub const PORTS: u32 = 64;

/// Bytes of a lane's packet.
pub const PACKET: usize = 64;

/// Bytes of the first packet of a longer transfer, in front of which its length stands.
pub const FIRST: usize = PACKET - 8;

/// The status of a call that the server served.
pub const SUCCESS: u64 = 0;

/// The status of a call with an unknown opcode.
pub const UNKNOWN_OPCODE: u64 = 0x1001;

/// The device's view of the memory.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Client {
    /// The device address of the mapped memory, whose [`Layout`] follows from the numbers below.
    pub memory: u64,
    /// The device address of a bit for each port, in device memory: its lock.
    pub locks: u64,
    /// The number of ports; 0 until the host writes another.
    pub ports: u32,
    /// Lanes of a warp.
    pub lanes: u32,
}

impl Client {
    /// No memory, until the host writes another.
    pub const UNSET: Self = Self {
        memory: 0,
        locks: 0,
        ports: 0,
        lanes: 0,
    };
}

/// Offsets in the mapped memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    ports: usize,
    lanes: usize,
}

impl Layout {
    /// The memory of this many ports, for warps of this many lanes.
    #[must_use]
    pub const fn new(ports: u32, lanes: u32) -> Self {
        Self {
            ports: ports as usize,
            lanes: lanes as usize,
        }
    }

    /// The number of ports.
    #[must_use]
    pub const fn ports(self) -> u32 {
        self.ports as u32
    }

    /// Lanes of a warp.
    #[must_use]
    pub const fn lanes(self) -> u32 {
        self.lanes as u32
    }

    /// The flag that the server inverts.
    #[must_use]
    pub const fn server_flag(self, port: u32) -> usize {
        4 * port as usize
    }

    /// The flag that the client inverts.
    #[must_use]
    pub const fn client_flag(self, port: u32) -> usize {
        4 * (self.ports + port as usize)
    }

    /// The mask of the lanes that have opened the port, 8 bytes.
    #[must_use]
    pub const fn mask(self, port: u32) -> usize {
        (8 * self.ports).next_multiple_of(16) + 16 * port as usize
    }

    /// The opcode, 4 bytes.
    #[must_use]
    pub const fn opcode(self, port: u32) -> usize {
        self.mask(port) + 8
    }

    /// The packet of a lane.
    #[must_use]
    pub const fn packet(self, port: u32, lane: u32) -> usize {
        self.mask(self.ports as u32) + PACKET * (port as usize * self.lanes + lane as usize)
    }

    /// The size of the memory.
    #[must_use]
    pub const fn bytes(self) -> usize {
        self.packet(self.ports as u32, 0)
    }

    /// The size of the locks in device memory.
    #[must_use]
    pub const fn lock_bytes(self) -> usize {
        4 * self.ports.div_ceil(32)
    }
}

/// How a call transfers its data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transfer {
    /// Nothing either way.
    Nothing,
    /// A status comes back.
    Status,
    /// A packet each way, without a status.
    Packet,
    /// Several packets each way, the first with the length; without a status.
    Stream,
}

/// The function of the image that makes the call `opcode`; `None` if there is no such call.
#[must_use]
pub const fn entry(opcode: u32) -> Option<&'static str> {
    match opcode {
        EMPTY => Some("bench_rpc_empty"),
        TYPED => Some("bench_rpc_typed"),
        TOFROM => Some("bench_rpc_tofrom"),
        LARGE => Some("bench_rpc_large"),
        WORK => Some("bench_rpc_work"),
        _ => None,
    }
}

/// How the call `opcode` transfers its data; `None` if there is no such call.
#[must_use]
pub const fn transfer(opcode: u32) -> Option<Transfer> {
    match opcode {
        EMPTY => Some(Transfer::Nothing),
        TYPED | WORK => Some(Transfer::Status),
        TOFROM => Some(Transfer::Packet),
        LARGE => Some(Transfer::Stream),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::vec::Vec;

    use super::{Layout, PACKET};

    #[test]
    fn parts_do_not_overlap() {
        for (ports, lanes) in [(1, 1), (64, 32), (4096, 32), (3, 1)] {
            let layout = Layout::new(ports, lanes);
            let mut parts = Vec::new();
            for port in 0..ports {
                parts.push((layout.server_flag(port), 4));
                parts.push((layout.client_flag(port), 4));
                parts.push((layout.mask(port), 8));
                parts.push((layout.opcode(port), 4));
                parts.extend((0..lanes).map(|lane| (layout.packet(port, lane), PACKET)));
            }
            parts.sort_unstable();
            for (part, next) in parts.iter().zip(&parts[1..]) {
                assert!(part.0 + part.1 <= next.0, "{part:?} {next:?}");
            }
            let (last, len) = parts[parts.len() - 1];
            assert_eq!(last + len, layout.bytes());
            let words = parts.iter().filter(|(_, len)| *len >= 8);
            assert!(words.clone().all(|(at, _)| at.is_multiple_of(8)));
        }
    }

    #[test]
    fn the_size_is_that_of_llvm() {
        assert_eq!(Layout::new(4096, 32).bytes(), 8_486_912);
        assert_eq!(Layout::new(4096, 64).bytes(), 16_875_520);
    }
}
