//! Ports of the RPC client: a warp opens one, sends and receives packets, and closes it.

use core::sync::atomic::{Ordering, fence};

use bench_calls::rpc::{Client, FIRST, Layout, PACKET};
use revoff_device::arch;
use revoff_device::shared_abi::words::{Load, Store, SystemWords};

use super::locks::{Locks, is_first};

/// The offset of the data in the first packet of a stream, after the length.
const FIRST_AT: usize = PACKET - FIRST;

/// The memory of all ports.
#[derive(Clone, Copy)]
struct Memory {
    mapped: arch::Mapped,
    locks: Locks,
    layout: Layout,
}

/// A port that the active lanes have opened together. The lanes that have opened it must call each
/// method together; [`open`](Self::open)'s caller vouches for that.
pub(super) struct Port {
    memory: Memory,
    /// The lanes that have opened it.
    lanes: u64,
    index: u32,
    /// The client's flag.
    flag: u32,
    /// The last operation was a receive, whose buffer has not been passed on.
    received: bool,
    owns_buffer: bool,
}

/// The calling lane's part of a port's buffer, while it belongs to the client.
pub(super) struct Packet {
    mapped: arch::Mapped,
    at: usize,
}

impl Memory {
    /// The flag at `offset`, the same in all lanes.
    ///
    /// # Safety
    /// Exactly the lanes of `lanes` call this together.
    #[inline(always)]
    unsafe fn load_flag(self, lanes: u64, offset: usize) -> u32 {
        // Relaxed: `wait_for_buffer` has a fence after the last of these loads.
        let flag = self.mapped.load32(offset, Load::Relaxed);
        // SAFETY: the caller's promise.
        unsafe { arch::first(lanes, flag) }
    }
}

impl Port {
    /// Opens the first port that is free, for a call of `opcode`. Does not return before there is
    /// one.
    ///
    /// # Safety
    /// `client` is what the host wrote, and the memory that it names lives until the port is
    /// closed. The lanes that return together call each method of the port together, and close it.
    #[inline(always)]
    pub(super) unsafe fn open(client: Client, opcode: u32) -> Self {
        let layout = Layout::new(client.ports, client.lanes);
        // SAFETY: the caller's promise: both are allocations of `layout`'s sizes, aligned for it,
        // which the other side accesses by atomics alone.
        let (mapped, locks) = unsafe {
            (
                arch::mapped(client.memory),
                Locks::new(arch::device_memory(client.locks)),
            )
        };
        let memory = Memory {
            mapped,
            locks,
            layout,
        };
        let mut index = 0;
        let mut attempt = 0;
        loop {
            if index >= layout.ports() {
                index = 0;
                // A GPU's client tries the ports without a pause. A thread of the machine must
                // leave its core to the holders of the ports after a while.
                if arch::CAN_WAKE {
                    arch::pause(attempt);
                    attempt = attempt.saturating_add(1);
                }
            }
            let lanes = arch::active_lanes();
            // SAFETY: the active lanes are those that are here together, and `try_lock` returns
            // the same in all of them.
            if !unsafe { memory.locks.try_lock(lanes, index) } {
                index += 1;
                continue;
            }
            // SAFETY: as above.
            let (server, flag) = unsafe {
                (
                    memory.load_flag(lanes, layout.server_flag(index)),
                    memory.load_flag(lanes, layout.client_flag(index)),
                )
            };
            if server != flag {
                // The server has not passed the buffer back since the last call.
                // SAFETY: as above; the flags are the same in all lanes.
                unsafe { memory.locks.unlock(lanes, index) };
                index += 1;
                continue;
            }
            if is_first(lanes) {
                // Relaxed: `pass_buffer` releases them.
                mapped.store32(layout.opcode(index), opcode, Store::Relaxed);
                mapped.store64(layout.mask(index), lanes, Store::Relaxed);
            }
            // SAFETY: as above.
            unsafe { arch::converge(lanes) };
            return Self {
                memory,
                lanes,
                index,
                flag,
                received: false,
                owns_buffer: true,
            };
        }
    }

    /// Lets `fill` fill the packet of each lane, and passes the buffer to the server.
    #[inline(always)]
    pub(super) fn send(&mut self, fill: impl FnOnce(&Packet)) {
        self.wait_for_buffer();
        fill(&self.packet());
        self.pass_buffer();
        self.received = false;
    }

    /// Waits for the server's packets, and lets `take` read that of each lane.
    #[inline(always)]
    pub(super) fn receive(&mut self, take: impl FnOnce(&Packet)) {
        if self.received {
            self.pass_buffer();
        }
        self.wait_for_buffer();
        take(&self.packet());
        self.received = true;
        self.owns_buffer = true;
    }

    /// Sends the bytes of `data` in several packets, the first with the length.
    #[inline(always)]
    pub(super) fn send_bytes(&mut self, data: &[u8]) {
        self.send(|packet| {
            packet.store(data.len() as u64);
            packet.write(FIRST_AT, data, 0, FIRST);
        });
        let mut sent = FIRST;
        let lanes = self.load_mask();
        // SAFETY: the lanes of the mask are those that have opened the port.
        while unsafe { arch::any(lanes, sent < data.len()) } {
            self.send(|packet| packet.write(0, data, sent, PACKET));
            sent += PACKET;
        }
    }

    /// Receives what the server sends like [`send_bytes`](Self::send_bytes), at most the length of
    /// `data`.
    #[inline(always)]
    pub(super) fn receive_bytes(&mut self, data: &mut [u8]) {
        let mut len = 0;
        self.receive(|packet| {
            len = (packet.load() as usize).min(data.len());
            packet.read(FIRST_AT, data, 0..len.min(FIRST));
        });
        let mut received = FIRST;
        let lanes = self.load_mask();
        // SAFETY: the lanes of the mask are those that have opened the port.
        while unsafe { arch::any(lanes, received < len) } {
            self.receive(|packet| {
                packet.read(0, data, received..len.min(received + PACKET));
            });
            received += PACKET;
        }
    }

    /// Closes the port: other warps may open it.
    #[inline(always)]
    pub(super) fn close(self) {
        // SAFETY: the lanes that have opened the port are here together, by the promise of
        // `open`'s caller.
        unsafe {
            arch::converge(self.lanes);
            self.memory.locks.unlock(self.lanes, self.index);
        }
    }

    /// The mask in the header, which the protocol reads here.
    #[inline(always)]
    fn load_mask(&self) -> u64 {
        let at = self.memory.layout.mask(self.index);
        // Relaxed: this warp wrote it, and the server never does.
        self.memory.mapped.load64(at, Load::Relaxed)
    }

    /// The calling lane's packet.
    #[inline(always)]
    fn packet(&self) -> Packet {
        Packet {
            mapped: self.memory.mapped,
            at: self.memory.layout.packet(self.index, arch::lane()),
        }
    }

    /// Waits until the buffer belongs to the client.
    #[inline(always)]
    fn wait_for_buffer(&mut self) {
        if !self.owns_buffer {
            let at = self.memory.layout.server_flag(self.index);
            let mut attempt = 0;
            // SAFETY: the lanes that have opened the port are here together, by the promise of
            // `open`'s caller, and stay together: the flags are the same in all of them.
            while unsafe { self.memory.load_flag(self.lanes, at) } != self.flag {
                // A GPU waits the same short time after each poll. A thread of the machine leaves
                // its core to the server after a while.
                arch::pause(if arch::CAN_WAKE { attempt } else { 1 });
                attempt = attempt.saturating_add(1);
            }
        }
        // Pairs with the server's release fence before its flag: the packets are what it wrote.
        // The protocol has this fence also where the buffer is known to belong to the client.
        fence(Ordering::Acquire);
    }

    /// Passes the buffer to the server.
    #[inline(always)]
    fn pass_buffer(&mut self) {
        self.flag ^= 1;
        // Pairs with the server's acquire fence after it has seen the flag: it reads the header
        // and the packets as they are now. All lanes store the same word.
        fence(Ordering::Release);
        let at = self.memory.layout.client_flag(self.index);
        // Relaxed: after the fence it is a release.
        self.memory.mapped.store32(at, self.flag, Store::Relaxed);
        self.owns_buffer = false;
    }
}

impl Packet {
    /// Stores the first word.
    #[inline(always)]
    pub(super) fn store(&self, word: u64) {
        // Relaxed: `pass_buffer` releases it.
        self.mapped.store64(self.at, word, Store::Relaxed);
    }

    /// The first word.
    #[inline(always)]
    pub(super) fn load(&self) -> u64 {
        // Relaxed: `wait_for_buffer` has acquired it.
        self.mapped.load64(self.at, Load::Relaxed)
    }

    /// Copies up to `most` bytes of `data` from `from` on to offset `to`.
    #[inline(always)]
    pub(super) fn write(&self, to: usize, data: &[u8], from: usize, most: usize) {
        if let Some(data) = data.get(from..) {
            let len = data.len().min(most);
            // SAFETY: `data` has `len` bytes, which this thread alone accesses.
            unsafe { self.mapped.write_bytes(self.at + to, data.as_ptr(), len) };
        }
    }

    /// Copies bytes from offset `from` on to this range of `data`, unless it is empty. All words of
    /// the packet are loaded before the first is used, so that their round trips overlap.
    #[inline(always)]
    pub(super) fn read(&self, from: usize, data: &mut [u8], range: core::ops::Range<usize>) {
        // Relaxed: `wait_for_buffer` has acquired them.
        let words: [u64; PACKET / 8] =
            core::array::from_fn(|i| self.mapped.load64(self.at + 8 * i, Load::Relaxed));
        // SAFETY: both types have the same size, and no invalid values.
        let bytes: [u8; PACKET] = unsafe { core::mem::transmute(words) };
        if let Some(data) = data.get_mut(range)
            && let Some(bytes) = bytes.get(from..from + data.len())
        {
            data.copy_from_slice(bytes);
        }
    }
}
