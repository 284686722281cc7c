//! The server's side of a port.

use std::sync::atomic::{Ordering, fence};

use bench_calls::rpc::{FIRST, Layout, PACKET};
use revoff_host::shared_abi::words::{Coherent, Load, Store, SystemWords};

use crate::Error;

/// Polls before the thread leaves its core to others: about as long as a call of one thread takes.
const SPINS: u32 = 256;

/// The longest transfer of a lane in bytes: the longest of the benchmark.
const LONGEST: usize = 4096;

/// The memory of all ports. The lock of a port is the client's alone: there is one server.
#[derive(Clone, Copy)]
pub(crate) struct Memory<'a> {
    pub(crate) words: Coherent,
    pub(crate) layout: Layout,
    /// Whether the server has been stopped, so that nobody answers it any more.
    pub(crate) stopped: &'a dyn Fn() -> bool,
}

/// The end of a call before its last packet.
#[derive(Debug)]
pub(crate) enum Broken {
    /// The server has been stopped.
    Stopped,
    /// The client sent something invalid.
    Invalid(Error),
}

/// A port with a request.
pub(crate) struct Port<'a> {
    memory: Memory<'a>,
    index: u32,
    /// The server's flag.
    flag: u32,
    /// The lanes that call.
    lanes: u64,
    received: bool,
    owns_buffer: bool,
}

/// A waiting thread.
#[derive(Default)]
pub(crate) struct Backoff(u32);

impl Backoff {
    /// Waits a little.
    pub(crate) fn wait(&mut self) {
        self.0 += 1;
        if self.0 < SPINS {
            std::hint::spin_loop();
        } else {
            self.0 = 0;
            std::thread::yield_now();
        }
    }
}

impl<'a> Port<'a> {
    /// The port, if it has a request.
    pub(crate) fn open(memory: Memory<'a>, index: u32) -> Option<Self> {
        let Memory { words, layout, .. } = memory;
        // Relaxed: the fence comes after both.
        let client = words.load32(layout.client_flag(index), Load::Relaxed);
        let flag = words.load32(layout.server_flag(index), Load::Relaxed);
        if client == flag {
            return None;
        }
        // Pairs with the client's release fence before its flag: the header is the request's.
        fence(Ordering::Acquire);
        Some(Self {
            memory,
            index,
            flag,
            // Relaxed: the fence has acquired it.
            lanes: words.load64(layout.mask(index), Load::Relaxed),
            received: false,
            owns_buffer: true,
        })
    }

    /// The opcode of the request.
    pub(crate) fn opcode(&self) -> u32 {
        let Memory { words, layout, .. } = self.memory;
        // Relaxed: `open` has acquired it.
        words.load32(layout.opcode(self.index), Load::Relaxed)
    }

    /// The lanes that call, each below the number of lanes of a warp.
    pub(crate) fn lanes(&self) -> impl Iterator<Item = u32> + use<> {
        let lanes = self.lanes;
        (0..self.memory.layout.lanes()).filter(move |lane| lanes >> lane & 1 != 0)
    }

    /// Waits for the client's packets, and lets `take` read that of each lane.
    pub(crate) fn receive(&mut self, mut take: impl FnMut(u32, Packet)) -> Result<(), Broken> {
        if self.received {
            self.pass_buffer();
        }
        self.wait_for_buffer()?;
        self.lanes().for_each(|lane| take(lane, self.packet(lane)));
        self.received = true;
        self.owns_buffer = true;
        Ok(())
    }

    /// Lets `fill` fill the packet of each lane, and passes the buffer to the client.
    pub(crate) fn send(&mut self, mut fill: impl FnMut(u32, Packet)) -> Result<(), Broken> {
        self.wait_for_buffer()?;
        self.lanes().for_each(|lane| fill(lane, self.packet(lane)));
        self.pass_buffer();
        self.received = false;
        Ok(())
    }

    /// Receives the bytes of each lane in several packets, the first with the length, into `data`.
    pub(crate) fn receive_bytes(&mut self, data: &mut [Vec<u8>]) -> Result<(), Broken> {
        let mut too_long = None;
        let mut most = 0;
        self.receive(|lane, packet| {
            let len = packet.load();
            if len > LONGEST as u64 {
                too_long = Some((lane, len));
                return;
            }
            let data = &mut data[lane as usize];
            data.resize(len as usize, 0);
            most = most.max(data.len());
            packet.read(8, data, 0, FIRST);
        })?;
        if let Some((lane, bytes)) = too_long {
            return Err(Broken::Invalid(Error::TooLong {
                port: self.index,
                lane,
                bytes,
                most: LONGEST,
            }));
        }
        for at in (FIRST..most).step_by(PACKET) {
            self.receive(|lane, packet| packet.read(0, &mut data[lane as usize], at, PACKET))?;
        }
        Ok(())
    }

    /// Sends the bytes of each lane in several packets, the first with the length.
    pub(crate) fn send_bytes(&mut self, data: &[Vec<u8>]) -> Result<(), Broken> {
        let mut most = 0;
        self.send(|lane, packet| {
            let data = &data[lane as usize];
            most = most.max(data.len());
            packet.store(data.len() as u64);
            packet.write(8, data, 0, FIRST);
        })?;
        for at in (FIRST..most).step_by(PACKET) {
            self.send(|lane, packet| packet.write(0, &data[lane as usize], at, PACKET))?;
        }
        Ok(())
    }

    /// Ends the call.
    pub(crate) fn close(mut self) {
        if self.owns_buffer {
            self.pass_buffer();
        }
    }

    /// The packet of a lane.
    fn packet(&self, lane: u32) -> Packet {
        Packet {
            words: self.memory.words,
            at: self.memory.layout.packet(self.index, lane),
        }
    }

    /// Waits until the buffer belongs to the server.
    fn wait_for_buffer(&self) -> Result<(), Broken> {
        if !self.owns_buffer {
            let Memory { words, layout, .. } = self.memory;
            let mut backoff = Backoff::default();
            // Relaxed: the fence comes after the last of these loads.
            while words.load32(layout.client_flag(self.index), Load::Relaxed) == self.flag {
                if (self.memory.stopped)() {
                    return Err(Broken::Stopped);
                }
                backoff.wait();
            }
        }
        // Pairs with the client's release fence before its flag.
        fence(Ordering::Acquire);
        Ok(())
    }

    /// Passes the buffer to the client.
    fn pass_buffer(&mut self) {
        self.flag ^= 1;
        // Pairs with the client's acquire fence after it has seen the flag: the packets are those
        // that were just written, and its next ones come after what was read from the last.
        fence(Ordering::Release);
        let Memory { words, layout, .. } = self.memory;
        // Relaxed: after the fence it is a release.
        words.store32(layout.server_flag(self.index), self.flag, Store::Relaxed);
        self.owns_buffer = false;
    }
}

/// The packet of a lane, while the buffer belongs to the server.
#[derive(Clone, Copy)]
pub(crate) struct Packet {
    words: Coherent,
    at: usize,
}

impl Packet {
    /// The first word.
    pub(crate) fn load(self) -> u64 {
        // Relaxed: `wait_for_buffer` has acquired it.
        self.words.load64(self.at, Load::Relaxed)
    }

    /// Stores the first word.
    pub(crate) fn store(self, word: u64) {
        // Relaxed: `pass_buffer` releases it.
        self.words.store64(self.at, word, Store::Relaxed);
    }

    /// Copies up to `most` bytes from offset `from` on to `data` from `at` on.
    pub(crate) fn read(self, from: usize, data: &mut [u8], at: usize, most: usize) {
        if let Some(data) = data.get_mut(at..) {
            let len = data.len().min(most);
            // SAFETY: `data` has `len` bytes, borrowed mutably.
            unsafe {
                self.words
                    .read_bytes(self.at + from, data.as_mut_ptr(), len)
            };
        }
    }

    /// Copies up to `most` bytes of `data` from `at` on to offset `to`.
    pub(crate) fn write(self, to: usize, data: &[u8], at: usize, most: usize) {
        if let Some(data) = data.get(at..) {
            let len = data.len().min(most);
            // SAFETY: `data` has `len` bytes, borrowed meanwhile.
            unsafe { self.words.write_bytes(self.at + to, data.as_ptr(), len) };
        }
    }
}
