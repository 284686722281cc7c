//! Looking for requests, and serving them.

use bench_calls::rpc::{PACKET, SUCCESS, Transfer, UNKNOWN_OPCODE, transfer};

use crate::port::{Backoff, Broken, Memory, Port};
use crate::{Error, Handler};

/// The state of the serving thread.
pub(crate) struct Server<'a> {
    memory: Memory<'a>,
    handler: Handler,
    /// The bytes of each lane, kept from call to call.
    bytes: Vec<Vec<u8>>,
}

impl<'a> Server<'a> {
    pub(crate) fn new(memory: Memory<'a>, handler: Handler) -> Self {
        Self {
            memory,
            handler,
            bytes: vec![Vec::new(); memory.layout.lanes() as usize],
        }
    }

    /// Serves calls until it is stopped.
    pub(crate) fn run(mut self) -> Result<(), Error> {
        let mut backoff = Backoff::default();
        while !(self.memory.stopped)() {
            let ports = 0..self.memory.layout.ports();
            let found = ports
                .into_iter()
                .find_map(|port| Port::open(self.memory, port));
            match found.map(|port| self.serve(port)) {
                None => backoff.wait(),
                Some(Ok(())) => backoff = Backoff::default(),
                Some(Err(Broken::Stopped)) => break,
                Some(Err(Broken::Invalid(error))) => return Err(error),
            }
        }
        Ok(())
    }

    /// Serves the call of a port, for each of its lanes.
    fn serve(&mut self, mut port: Port<'_>) -> Result<(), Broken> {
        let opcode = port.opcode();
        let handler = self.handler;
        match transfer(opcode) {
            None => {
                port.receive(|_, _| ())?;
                port.send(|_, packet| packet.store(UNKNOWN_OPCODE))?;
            }
            Some(Transfer::Nothing) => {
                port.receive(|_, _| handler(opcode, &mut []))?;
                port.send(|_, _| ())?;
            }
            Some(Transfer::Status) => {
                port.receive(|_, _| handler(opcode, &mut []))?;
                port.send(|_, packet| packet.store(SUCCESS))?;
            }
            Some(Transfer::Packet) => {
                // The handler changes the packet in place.
                port.receive(|_, packet| {
                    let mut data = [0; PACKET];
                    packet.read(0, &mut data, 0, PACKET);
                    handler(opcode, &mut data);
                    packet.write(0, &data, 0, PACKET);
                })?;
                port.send(|_, _| ())?;
            }
            Some(Transfer::Stream) => {
                port.receive_bytes(&mut self.bytes)?;
                for lane in port.lanes() {
                    handler(opcode, &mut self.bytes[lane as usize]);
                }
                port.send_bytes(&self.bytes)?;
            }
        }
        port.close();
        Ok(())
    }
}
