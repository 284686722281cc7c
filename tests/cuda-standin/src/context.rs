//! Contexts: their resources and their state.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex};

use host_rt::device::{self, Device};
use host_rt::env::Env;
use emu_driver::process::{handle, lock, setting};

use crate::code::{Answer, Code};
use crate::copy::Engine;
use crate::driver::with_context;
use crate::event::Event;
use crate::link::Linker;
use crate::memory::{Block, Pinned};
use crate::module::Module;
use crate::stream::{Progress, Stream};

/// A context.
pub(crate) struct Context {
    pub(crate) handle: u64,
    /// Its device's number.
    pub(crate) number: i32,
    /// The replacement for the GPU, one per context.
    pub(crate) device: Arc<dyn Device>,
    pub(crate) progress: Arc<Progress>,
    pub(crate) engine: Arc<Engine>,
    pub(crate) owned: Mutex<Owned>,
}

/// Resources created in a context and not destroyed. Numbers are handles or addresses.
#[derive(Default)]
pub(crate) struct Owned {
    pub(crate) blocks: BTreeMap<u64, Block>,
    pub(crate) pinned: BTreeMap<u64, Arc<Pinned>>,
    pub(crate) streams: HashMap<u64, Arc<Stream>>,
    pub(crate) events: HashMap<u64, Arc<Event>>,
    pub(crate) modules: HashMap<u64, Arc<Module>>,
    pub(crate) linkers: HashMap<u64, Linker>,
}

impl Context {
    pub(crate) fn new(number: i32) -> Answer<Arc<Self>> {
        let env = Env::read().map_err(|_| Code::UNKNOWN)?;
        let device = device::open("host", &env).map_err(|_| Code::OUT_OF_MEMORY)?;
        Ok(Arc::new(Self {
            handle: handle(),
            number,
            device,
            progress: Arc::default(),
            engine: Arc::default(),
            owned: Mutex::default(),
        }))
    }

    /// Waits for everything in all streams.
    pub(crate) fn wait(&self) -> Answer {
        let streams: Vec<_> = lock(&self.owned).streams.values().cloned().collect();
        streams.iter().try_for_each(|stream| stream.end().wait())
    }

    /// For functions whose waiting NVIDIA does not document: callers must handle both, so the
    /// environment decides.
    pub(crate) fn perhaps_wait(&self) -> Answer {
        match setting("REVOFF_STAND_IN_WAITS", 0) {
            0 => self.progress.broken().map_or(Ok(()), Err),
            _ => self.wait(),
        }
    }

    /// Destroys everything in it; returns the number of resources that the caller should have
    /// destroyed.
    pub(crate) fn destroy(&self) -> u64 {
        let owned = std::mem::take(&mut *lock(&self.owned));
        for stream in owned.streams.values() {
            stream.close();
        }
        self.progress.wait_for_workers();
        if self.progress.broken().is_some() {
            // On a GPU, kernels end with their context. Here they cannot be ended, and their
            // resources stay.
            std::mem::forget(owned.pinned);
            return 0;
        }
        let counts = [
            ("blocks of memory", owned.blocks.len()),
            ("blocks of pinned memory", owned.pinned.len()),
            ("streams", owned.streams.len()),
            ("events", owned.events.len()),
            ("modules", owned.modules.len()),
            ("linkers", owned.linkers.len()),
        ];
        let leaked = counts.into_iter().filter(|&(_, count)| count > 0);
        leaked.map(|(what, count)| say(what, count)).sum()
    }
}

#[expect(clippy::print_stderr, reason = "a number says too little to a test")]
fn say(what: &str, count: usize) -> u64 {
    eprintln!("stand-in: a context is destroyed with {count} {what}");
    count as u64
}

#[unsafe(no_mangle)]
extern "C" fn cuCtxSynchronize() -> u32 {
    with_context("cuCtxSynchronize", |context| context.wait())
}
