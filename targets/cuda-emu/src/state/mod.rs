//! The state of the driver: contexts, and what they own.
//!
//! | file | job |
//! |---|---|
//! | `gpu` | a device |
//! | `stream`, `event`, `progress`, `engine` | what happens when |
//! | `memory`, `pools` | memory |
//! | `module`, `linker` | code |

pub(crate) mod engine;
pub(crate) mod event;
pub(crate) mod gpu;
pub(crate) mod linker;
pub(crate) mod memory;
pub(crate) mod module;
pub(crate) mod pools;
pub(crate) mod progress;
pub(crate) mod stream;

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::AtomicU32;
use std::sync::{Arc, Mutex, Weak};
use std::thread::ThreadId;

use emu_driver::process::{handle, lock};
use ptx_emu::{Fault, Running};

use self::engine::Engine;
use self::event::Event;
use self::gpu::Gpu;
use self::linker::Linker;
use self::memory::{Block, Pinned, Registered};
use self::module::Module;
use self::progress::Progress;
use self::stream::Stream;
use crate::code::{Answer, Code};
use crate::settings::settings;

/// A context.
pub(crate) struct Context {
    /// Itself.
    this: Weak<Self>,
    pub(crate) handle: u64,
    pub(crate) gpu: Arc<Gpu>,
    pub(crate) flags: u32,
    pub(crate) is_primary: bool,
    pub(crate) progress: Arc<Progress>,
    pub(crate) engine: Arc<Engine>,
    pub(crate) owned: Mutex<Owned>,
    /// By the numbers of `CUlimit`, those that were set.
    pub(crate) limits: Mutex<HashMap<u32, usize>>,
    /// A `CUfunc_cache`, which changes nothing.
    pub(crate) cache_config: AtomicU32,
    /// Kernels that may be running.
    kernels: Mutex<Vec<Running>>,
    /// The fault that broke the context.
    fault: Mutex<Option<Fault>>,
}

/// Resources created in a context and not destroyed. Numbers are handles or addresses.
#[derive(Default)]
pub(crate) struct Owned {
    pub(crate) blocks: BTreeMap<u64, Block>,
    pub(crate) pinned: BTreeMap<u64, Arc<Pinned>>,
    /// Memory of the host's that is mapped.
    pub(crate) registered: BTreeMap<u64, Arc<Registered>>,
    pub(crate) streams: HashMap<u64, Arc<Stream>>,
    /// Streams that were destroyed and have pending work.
    pub(crate) ending: Vec<Arc<Stream>>,
    pub(crate) events: HashMap<u64, Arc<Event>>,
    pub(crate) modules: HashMap<u64, Arc<Module>>,
    /// The modules of libraries, by the handles of these; not the caller's to unload.
    pub(crate) libraries: HashMap<u64, Arc<Module>>,
    pub(crate) linkers: HashMap<u64, Linker>,
    /// The legacy default stream, which is made when it is used and is not the caller's to destroy.
    pub(crate) legacy: Option<Arc<Stream>>,
    /// The default streams of threads, for which the same holds.
    pub(crate) thread_streams: HashMap<ThreadId, Arc<Stream>>,
}

impl Owned {
    /// All streams.
    pub(crate) fn all_streams(&self) -> impl Iterator<Item = &Arc<Stream>> {
        let default = self.legacy.iter().chain(self.thread_streams.values());
        self.streams.values().chain(&self.ending).chain(default)
    }

    /// Closes a stream that is not in the lists any more. Its work goes on, and others still wait for it.
    pub(crate) fn close(&mut self, stream: Arc<Stream>) {
        stream.close();
        self.ending.retain(|stream| !stream.end().is_reached());
        self.ending.push(stream);
    }

    /// All modules.
    pub(crate) fn all_modules(&self) -> impl Iterator<Item = &Arc<Module>> {
        self.modules.values().chain(self.libraries.values())
    }
}

impl Context {
    pub(crate) fn new(gpu: Arc<Gpu>, flags: u32, is_primary: bool) -> Arc<Self> {
        Arc::new_cyclic(|this| Self {
            this: Weak::clone(this),
            handle: handle(),
            gpu,
            flags,
            is_primary,
            progress: Arc::default(),
            engine: Arc::default(),
            owned: Mutex::default(),
            limits: Mutex::default(),
            cache_config: AtomicU32::new(0),
            kernels: Mutex::default(),
            fault: Mutex::default(),
        })
    }

    /// Waits for everything in all streams.
    pub(crate) fn wait(&self) -> Answer {
        let streams: Vec<_> = lock(&self.owned).all_streams().cloned().collect();
        streams.iter().try_for_each(|stream| stream.end().wait())?;
        self.progress.broken().map_or(Ok(()), Err)
    }

    /// For functions whose waiting NVIDIA does not document: callers must handle both, so a setting
    /// decides.
    pub(crate) fn perhaps_wait(&self) -> Answer {
        if settings().frees_wait {
            self.wait()
        } else {
            self.progress.broken().map_or(Ok(()), Err)
        }
    }

    /// Waits for the kernel's end. Returns its fault, if it had one.
    pub(crate) fn finish(&self, kernel: Running) -> Option<Fault> {
        lock(&self.kernels).push(kernel.clone());
        if self.progress.broken().is_some() {
            // It was broken before the kernel was there to be stopped.
            kernel.stop();
        }
        let outcome = kernel.wait(None);
        lock(&self.kernels).retain(|running| !running.is_over());
        // After this operation its module may be unloaded, and has to free its memory then.
        kernel.release();
        outcome?.err()
    }

    /// Makes all functions fail with this code, and ends all kernels; the first code stays.
    pub(crate) fn break_with(&self, code: Code) {
        self.progress.break_with(code);
        for kernel in &*lock(&self.kernels) {
            kernel.stop();
        }
    }

    /// Breaks it because of a kernel's fault.
    pub(crate) fn break_by(&self, code: Code, fault: &Fault) {
        if self.progress.broken().is_none() {
            lock(&self.fault).get_or_insert_with(|| fault.clone());
            (self.gpu.report)(&fault.to_string());
        }
        self.break_with(code);
    }

    /// The fault that broke the context, if a fault did.
    pub(crate) fn fault(&self) -> Option<Fault> {
        lock(&self.fault).clone()
    }

    /// Destroys everything in it; returns the number of resources that the caller should have
    /// destroyed.
    pub(crate) fn destroy(&self) -> u64 {
        let mut owned = std::mem::take(&mut *lock(&self.owned));
        owned.all_streams().for_each(|stream| stream.close());
        self.progress.wait_for_workers();
        let memory = self.gpu.machine.memory();
        owned
            .blocks
            .keys()
            .for_each(|&address| memory.free(address));
        let registered = std::mem::take(&mut owned.registered);
        let registered_count = registered.len();
        registered.into_values().for_each(Registered::unmap);
        if self.progress.broken().is_some() {
            return 0;
        }
        let counts = [
            ("blocks of memory", owned.blocks.len()),
            ("blocks of pinned memory", owned.pinned.len()),
            ("blocks of registered memory", registered_count),
            ("streams", owned.streams.len()),
            ("events", owned.events.len()),
            ("modules", owned.modules.len()),
            ("linkers", owned.linkers.len()),
        ];
        let leaked = counts.into_iter().filter(|&(_, count)| count > 0);
        let say = |(what, count): (&str, usize)| {
            tracing::info!(count, "a context is destroyed with {what}");
            count as u64
        };
        leaked.map(say).sum()
    }
}
