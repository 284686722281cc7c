//! The memory of the ports, and the thread that serves them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{Builder, JoinHandle};

use bench_calls::rpc::{CLIENT, Client, Layout};
use revoff_host::device::MappedMemory;
use revoff_host::shared_abi::words::Coherent;
use revoff_host::targets::DeviceArch;
use revoff_host::{DeviceBuffer, Program, Runtime};

use crate::port::Memory;
use crate::server::Server;
use crate::{Error, Handler};

/// A program whose kernels can make calls by RPC. All launches with such calls must have ended when
/// it is dropped.
pub struct Connection {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
    /// The device uses it until the last launch has ended.
    _locks: DeviceBuffer,
}

impl Connection {
    /// Connects `program` by this many ports. Each call runs `handler`.
    ///
    /// # Errors
    /// The image has no client, the device is not supported, or memory or a thread is lacking.
    pub fn open(
        runtime: &Runtime,
        program: &Program,
        ports: u32,
        handler: Handler,
    ) -> Result<Self, Error> {
        let lanes = match runtime.arch() {
            DeviceArch::Host(_) => 1,
            DeviceArch::Nvidia(_) | DeviceArch::Emulated(_) => 32,
            other => return Err(Error::Architecture(other)),
        };
        let layout = Layout::new(ports, lanes);
        let variable = program
            .global(CLIENT)?
            .filter(|variable| variable.size == size_of::<Client>() as u64)
            .ok_or_else(|| Error::NoClient {
                image: program.image().name().to_owned(),
            })?;
        let mapped = runtime.alloc_mapped(layout.bytes())?;
        let locks = runtime.alloc(layout.lock_bytes() as u64)?;
        let client = Client {
            memory: mapped.device.0,
            locks: locks.address().0,
            ports,
            lanes,
        };
        let mut queue = runtime.queue()?;
        let from = (&raw const client).cast();
        // SAFETY: `client` is a local of this size, without padding, which nobody writes until
        // `synchronize` returns.
        unsafe { queue.copy_to_device(variable.address, from, size_of::<Client>())? };
        queue.synchronize()?;

        let stop = Arc::new(AtomicBool::new(false));
        let thread = {
            let stop = Arc::clone(&stop);
            // The benchmark finds serving threads by this prefix.
            Builder::new().name("serve rpc".to_owned()).spawn(move || {
                if let Err(error) = serve(&mapped, layout, &stop, handler) {
                    tracing::error!("calls by RPC are not answered any more: {error}");
                }
            })?
        };
        Ok(Self {
            stop,
            thread: Some(thread),
            _locks: locks,
        })
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        // Relaxed: it orders nothing, and the thread is waited for.
        self.stop.store(true, Ordering::Relaxed);
        // A panic of the handler was printed when it happened.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

/// Serves calls until `stop` is set.
fn serve(
    mapped: &MappedMemory,
    layout: Layout,
    stop: &AtomicBool,
    handler: Handler,
) -> Result<(), Error> {
    let memory = Memory {
        // SAFETY: the allocation outlives this function, is aligned to 128 bytes and has the size
        // of `layout`, whose offsets alone are used; both sides access it by atomics.
        words: unsafe { Coherent::new(mapped.host.as_ptr()) },
        layout,
        // Relaxed: it orders nothing.
        stopped: &|| stop.load(Ordering::Relaxed),
    };
    Server::new(memory, handler).run()
}
