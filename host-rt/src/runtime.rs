//! The public face: a runtime on a device, programs, kernels, launches, memory.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use shared_abi::gomp::{ADDITIONAL_ICVS, REV_OFFLOAD_VAR};
use shared_abi::icv::{DEFAULT_DEVICE_UNSET, OffloadIcvs};
use shared_abi::image::{FUNCTION_PREFIX, RUNTIME, Runtime as RuntimeWords};
use shared_abi::wire::WireKind;
use shared_abi::wire::bounce::{BLOCK, MAX_RUN};
use zerocopy::{FromBytes, Immutable, IntoBytes};

use crate::device::{
    self, Device, Global, Grid, LaunchContext, MemoryInfo, Module, Queue, Running,
};
use crate::env::Env;
use crate::error::{DeviceError, Error, ImageError, LaunchError, Result};
use crate::functions::Functions;
use crate::image::{Image, KernelDeclaration};
use crate::map::PresentTable;
use crate::serve::{Config, LaunchState, Server, Waiting};

/// Threads that serve calls, unless somebody says otherwise: libgomp's number.
const DEFAULT_THREADS: usize = 8;

/// Slots of a `native` wire, unless somebody says otherwise: as many as
/// `gcc-ring` has.
const DEFAULT_SLOTS: u32 = 1024;

/// Size of the bounce area, unless somebody says otherwise.
const DEFAULT_BOUNCE: u64 = 16 << 20;

/// The bounce area is made of these: the longest runs.
const BOUNCE_STEP: u64 = MAX_RUN as u64 * BLOCK as u64;

/// The largest bounce area.
const MAX_BOUNCE: u64 = 1 << 30;

/// The wire called `name`.
///
/// # Errors
/// There is none of that name.
pub fn wire_by_name(name: &str) -> Result<WireKind> {
    WireKind::ALL
        .into_iter()
        .find(|kind| kind.name() == Some(name))
        .ok_or_else(|| Error::NoWire {
            name: name.to_owned(),
        })
}

/// Says how a [`Runtime`] is to be; what it does not say, the environment does
/// (see [`crate::env`]).
#[derive(Clone, Debug)]
#[must_use]
pub struct Builder {
    device: String,
    wire: Option<WireKind>,
    threads: Option<usize>,
    slots: Option<u32>,
    bounce_bytes: Option<u64>,
    waiting: Waiting,
    first_turn: u32,
}

impl Builder {
    /// The wire that images speak which can speak several. Default: `native`.
    pub fn wire(mut self, wire: WireKind) -> Self {
        self.wire = Some(wire);
        self
    }

    /// Most threads that serve calls, at least 1.
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = Some(threads.max(1));
        self
    }

    /// Slots of a `native` wire, rounded up to a power of two, at most 1024.
    pub fn slots(mut self, slots: u32) -> Self {
        self.slots = Some(slots.clamp(1, DEFAULT_SLOTS).next_power_of_two());
        self
    }

    /// Size of the bounce area, rounded up to a multiple of 512 KiB (the longest
    /// run), at most 1 GiB. A smaller area makes callers wait for each other.
    pub fn bounce_bytes(mut self, bytes: u64) -> Self {
        let rounded = bytes.clamp(1, MAX_BOUNCE).next_multiple_of(BOUNCE_STEP);
        self.bounce_bytes = Some(rounded);
        self
    }

    /// How to wait for requests while a kernel runs.
    pub fn waiting(mut self, waiting: Waiting) -> Self {
        self.waiting = waiting;
        self
    }

    /// The turn or ticket that wires start at: a test that starts just below the
    /// wrap passes it at once.
    #[doc(hidden)]
    pub fn first_turn(mut self, turn: u32) -> Self {
        self.first_turn = turn;
        self
    }

    /// Opens the device.
    ///
    /// # Errors
    /// There is no such device, it cannot be opened, or the environment holds
    /// nonsense.
    pub fn build(self) -> Result<Runtime> {
        let env = Env::read()?;
        let device = device::open(&self.device, &env)?;
        let config = Config {
            threads: self.threads.or(env.threads).unwrap_or(DEFAULT_THREADS),
            slots: self.slots.or(env.slots).unwrap_or(DEFAULT_SLOTS),
            bounce_bytes: self
                .bounce_bytes
                .or(env.bounce_bytes)
                .unwrap_or(DEFAULT_BOUNCE) as usize,
            waiting: self.waiting,
            first_turn: self.first_turn,
        };
        let server = Server::new(Arc::clone(&device), config)?;
        Ok(Runtime {
            inner: Arc::new(Inner {
                device,
                server,
                wire: self.wire,
            }),
        })
    }
}

/// A device, with the threads and wires by which its kernels call the host.
///
/// Cheap to clone; all clones are the same runtime. It ends with the last clone,
/// program, launch or buffer.
#[derive(Clone)]
pub struct Runtime {
    inner: Arc<Inner>,
}

struct Inner {
    device: Arc<dyn Device>,
    server: Arc<Server>,
    wire: Option<WireKind>,
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.server.stop();
    }
}

/// What a runtime has allocated for calls to the host, in bytes; bounded however
/// many kernels run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cost {
    /// Mapped memory: wires, bounce area, bell.
    pub mapped: u64,
    /// Device memory: claims.
    pub device: u64,
    /// Most threads.
    pub threads: usize,
}

impl Runtime {
    /// A runtime on the device called `device`, as the environment has it.
    ///
    /// # Errors
    /// As for [`Builder::build`].
    pub fn open(device: &str) -> Result<Self> {
        Self::builder(device).build()
    }

    /// Begins to describe a runtime on the device called `device`.
    pub fn builder(device: &str) -> Builder {
        Builder {
            device: device.to_owned(),
            wire: None,
            threads: None,
            slots: None,
            bounce_bytes: None,
            waiting: Waiting::Adaptive,
            first_turn: 0,
        }
    }

    /// What the device is made of, in a few words.
    #[must_use]
    pub fn description(&self) -> String {
        self.inner.device.description()
    }

    /// The device's memory.
    #[must_use]
    pub fn memory(&self) -> MemoryInfo {
        self.inner.device.memory()
    }

    /// What calls to the host cost in memory and threads at most, with one wire.
    #[must_use]
    pub fn cost(&self) -> Cost {
        self.inner
            .server
            .cost(self.inner.wire.unwrap_or(WireKind::NATIVE))
    }

    /// Calls from kernels served so far.
    #[must_use]
    pub fn requests(&self) -> u64 {
        self.inner.server.requests()
    }

    /// Threads that serve calls, as many as there are now.
    #[must_use]
    pub fn threads(&self) -> usize {
        self.inner.server.threads()
    }

    /// Host data that has a copy on the device: arguments in that copy reach the
    /// host function as the original.
    #[must_use]
    pub fn present(&self) -> &PresentTable {
        &self.inner.server.present
    }

    /// Refuses all further calls of kernels with
    /// [`SHUTTING_DOWN`](shared_abi::status::Status::SHUTTING_DOWN).
    pub fn shut_down(&self) {
        self.inner.server.refuse();
    }

    /// Allocates zeroed device memory.
    ///
    /// # Errors
    /// There is not that much.
    pub fn alloc(&self, bytes: u64) -> Result<DeviceBuffer> {
        let address = self.inner.device.alloc(bytes)?;
        Ok(DeviceBuffer {
            inner: Arc::clone(&self.inner),
            address,
            bytes,
        })
    }

    /// Allocates device memory and copies `data` there.
    ///
    /// # Errors
    /// There is not that much.
    pub fn alloc_from<T: IntoBytes + Immutable>(&self, data: &[T]) -> Result<DeviceBuffer> {
        let buffer = self.alloc(size_of_val(data) as u64)?;
        buffer.write(0, data)?;
        Ok(buffer)
    }

    /// Loads `image`, whose kernels may call `functions`.
    ///
    /// # Errors
    /// The image is not for this device or this host, or disagrees with
    /// `functions` about a signature.
    pub fn load(&self, image: &Image, functions: &Functions) -> Result<Program> {
        let info = image.info()?;
        if let Some(info) = info
            && info.abi_version != shared_abi::ABI_VERSION
        {
            return Err(ImageError::OtherAbi {
                name: image.name().to_owned(),
                image: info.abi_version,
                host: shared_abi::ABI_VERSION,
            }
            .into());
        }
        let kind = self.choose_wire(image, info.map(|info| info.wires))?;
        let declared = image.functions()?;
        for entry in functions.iter() {
            let theirs = declared
                .iter()
                .find(|f| f.name == entry.name())
                .map_or(0, |f| f.signature);
            if theirs != 0 && entry.signature() != 0 && theirs != entry.signature() {
                return Err(ImageError::OtherSignature {
                    name: image.name().to_owned(),
                    function: entry.name().to_owned(),
                    image: theirs,
                    host: entry.signature(),
                }
                .into());
            }
        }
        let kernels = image.kernels()?;
        let module = self.inner.device.load(image)?;
        let server = &self.inner.server;
        if let Some(kind) = kind {
            self.connect(image, &*module, kind)?;
        }
        let mut words = Vec::new();
        server.change_functions(|table| {
            let mut insert = |symbol: &str, name: &str, entry| {
                if let Some(global) = module.global(symbol) {
                    table.insert(global.address, name, entry);
                    words.push(global.address);
                }
            };
            for function in &declared {
                insert(
                    &format!("{FUNCTION_PREFIX}{}", function.name),
                    &function.name,
                    None,
                );
            }
            for entry in functions.iter() {
                let symbol = format!("{FUNCTION_PREFIX}{}", entry.name());
                insert(&symbol, entry.name(), Some(entry));
            }
        });
        Ok(Program {
            inner: Arc::new(ProgramInner {
                runtime: Arc::clone(&self.inner),
                module,
                image: image.clone(),
                kernels,
                words,
                calls_host: kind.is_some(),
            }),
        })
    }

    /// The wire for `image`, which can speak the set `wires` if it says so; `None`
    /// if it has no reverse offload.
    fn choose_wire(&self, image: &Image, wires: Option<u32>) -> Result<Option<WireKind>> {
        if !image.has_reverse_offload() {
            return Ok(None);
        }
        // An image that says nothing is one of GCC's; which of the two wires it
        // speaks cannot be seen. Mainline's is the first.
        let (wires, default) = match wires {
            Some(wires) => (wires, WireKind::NATIVE),
            None => (
                WireKind::GCC_SLOT.bit() | WireKind::GCC_RING.bit(),
                WireKind::GCC_SLOT,
            ),
        };
        let kind = self.inner.wire.unwrap_or(default);
        if wires & kind.bit() == 0 {
            return Err(ImageError::NoWire {
                name: image.name().to_owned(),
                wire: kind.name().unwrap_or("unknown").to_owned(),
                speaks: Image::wire_names(wires),
            }
            .into());
        }
        Ok(Some(kind))
    }

    /// Writes the variables through which the image finds its wire.
    fn connect(&self, image: &Image, module: &dyn Module, kind: WireKind) -> Result<()> {
        let server = &self.inner.server;
        let wire = server.wire(kind)?;
        let mut queue = self.inner.device.queue()?;
        let mut write = |symbol: &str, bytes: &[u8]| -> Result<()> {
            let Some(Global { address, size }) = module.global(symbol) else {
                return Ok(());
            };
            if size != bytes.len() as u64 {
                return Err(ImageError::BadSymbol {
                    name: image.name().to_owned(),
                    symbol: symbol.to_owned(),
                    reason: format!("has {size} bytes, expected {}", bytes.len()),
                }
                .into());
            }
            // SAFETY: `bytes` lives until `synchronize` returns.
            unsafe { queue.copy_to_device(address, bytes.as_ptr(), bytes.len())? };
            queue.synchronize()?;
            Ok(())
        };
        let config = server.config();
        let words = RuntimeWords {
            wire_kind: kind.0,
            slots: config.slots,
            wire,
            claims: server.claims_address(),
            bounce: server.bounce().device,
            bell: server.bell_address(),
            bounce_blocks: (config.bounce_bytes / shared_abi::wire::bounce::BLOCK) as u32,
            reserved: 0,
        };
        let icvs = OffloadIcvs {
            device_num: 0,
            default_device: DEFAULT_DEVICE_UNSET,
            nteams: 0,
            teams_thread_limit: 0,
        };
        write(RUNTIME, &runtime_bytes(&words))?;
        if kind != WireKind::NATIVE {
            write(REV_OFFLOAD_VAR, &wire.to_le_bytes())?;
        }
        write(ADDITIONAL_ICVS, &icv_bytes(&icvs))
    }
}

fn runtime_bytes(words: &RuntimeWords) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(size_of::<RuntimeWords>());
    bytes.extend(words.wire_kind.to_le_bytes());
    bytes.extend(words.slots.to_le_bytes());
    for word in [words.wire, words.claims, words.bounce, words.bell] {
        bytes.extend(word.to_le_bytes());
    }
    bytes.extend(words.bounce_blocks.to_le_bytes());
    bytes.extend(words.reserved.to_le_bytes());
    bytes
}

fn icv_bytes(icvs: &OffloadIcvs) -> Vec<u8> {
    [
        icvs.device_num,
        icvs.default_device,
        icvs.nteams,
        icvs.teams_thread_limit,
    ]
    .into_iter()
    .flat_map(i32::to_le_bytes)
    .collect()
}

/// A loaded image. Cheap to clone; unloaded with the last clone, kernel or
/// launch.
#[derive(Clone)]
pub struct Program {
    inner: Arc<ProgramInner>,
}

struct ProgramInner {
    runtime: Arc<Inner>,
    module: Arc<dyn Module>,
    image: Image,
    kernels: Vec<KernelDeclaration>,
    /// Function words of this image.
    words: Vec<u64>,
    calls_host: bool,
}

impl Drop for ProgramInner {
    fn drop(&mut self) {
        self.runtime.server.change_functions(|table| {
            for &word in &self.words {
                table.remove(word);
            }
        });
    }
}

impl Program {
    /// The kernel called `name`.
    ///
    /// # Errors
    /// The image has none of that name.
    pub fn kernel(&self, name: &str) -> Result<Kernel> {
        let found = self.inner.module.kernel(name);
        let declaration = self.inner.kernels.iter().find(|kernel| kernel.name == name);
        match found {
            Some(code) => Ok(Kernel {
                program: self.clone(),
                declaration: declaration.cloned().unwrap_or_else(|| KernelDeclaration {
                    name: name.to_owned(),
                    info: None,
                }),
                code,
            }),
            None => {
                let names: Vec<_> = self.inner.kernels.iter().map(|k| k.name.as_str()).collect();
                Err(ImageError::NoKernel {
                    name: self.inner.image.name().to_owned(),
                    kernel: name.to_owned(),
                    has: if names.is_empty() {
                        "none".to_owned()
                    } else {
                        names.join(", ")
                    },
                }
                .into())
            }
        }
    }

    /// The image.
    #[must_use]
    pub fn image(&self) -> &Image {
        &self.inner.image
    }
}

/// A parameter of a kernel: its bytes, as the kernel's signature has them.
pub trait KernelArg {
    /// The bytes.
    fn bytes(&self) -> Vec<u8>;
}

macro_rules! plain_args {
    ($($type:ty)*) => {$(
        impl KernelArg for $type {
            fn bytes(&self) -> Vec<u8> {
                self.to_ne_bytes().to_vec()
            }
        }
    )*};
}

plain_args!(u8 u16 u32 u64 usize i8 i16 i32 i64 isize f32 f64);

impl KernelArg for DeviceBuffer {
    fn bytes(&self) -> Vec<u8> {
        self.address.to_ne_bytes().to_vec()
    }
}

/// A kernel, ready to be launched.
#[derive(Clone)]
pub struct Kernel {
    program: Program,
    declaration: KernelDeclaration,
    code: Global,
}

impl Kernel {
    /// What the image says of it.
    #[must_use]
    pub fn declaration(&self) -> &KernelDeclaration {
        &self.declaration
    }

    /// Starts it. Returns at once; several launches, of the same kernel too, run
    /// at the same time.
    ///
    /// # Safety
    /// The code is a kernel, whose parameters are of these types, and which does
    /// with the memory that they name only what it may; that memory lives until
    /// the launch has ended. Parameters of a kernel with a
    /// [declaration](KernelDeclaration::info) are checked for number and total
    /// size.
    ///
    /// # Errors
    /// The parameters do not fit the declaration, or the device cannot run the
    /// grid.
    pub unsafe fn launch(&self, grid: Grid, args: &[&dyn KernelArg]) -> Result<Launch> {
        let params: Vec<Vec<u8>> = args.iter().map(|arg| arg.bytes()).collect();
        let bytes: usize = params.iter().map(Vec::len).sum();
        if let Some(info) = self.declaration.info
            && (info.params as usize, info.bytes as usize) != (params.len(), bytes)
        {
            return Err(Error::BadArguments {
                kernel: self.declaration.name.clone(),
                wants: format!("{} parameters of {} bytes in all", info.params, info.bytes),
                given: format!("{} of {bytes} bytes", params.len()),
            });
        }
        let program = &self.program.inner;
        let runtime = &program.runtime;
        let mut queue = runtime.device.queue()?;
        let state = runtime
            .server
            .begin(&self.declaration.name, program.calls_host)?;
        let ring = {
            let server = Arc::clone(&runtime.server);
            Arc::new(move || server.ring())
        };
        let ended = {
            let (server, state) = (Arc::clone(&runtime.server), Arc::clone(&state));
            Arc::new(move || server.end(&state))
        };
        let context = LaunchContext {
            key: state.key,
            ring,
            ended,
        };
        let started = Instant::now();
        // SAFETY: the caller vouches for kernel, parameters and memory; the
        // program keeps the code loaded.
        let running = unsafe { queue.launch(&program.module, self.code, grid, &params, context) };
        match running {
            Ok(running) => Ok(Launch {
                program: Arc::clone(program),
                running,
                state,
                started,
                waited: AtomicBool::new(false),
                _queue: queue,
            }),
            Err(error) => {
                runtime.server.end(&state);
                Err(error.into())
            }
        }
    }
}

/// What a launch that ended well has to say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Report {
    /// From start to end.
    pub time: Duration,
}

/// A kernel under way. Dropping it waits for the kernel to end.
pub struct Launch {
    program: Arc<ProgramInner>,
    running: Arc<dyn Running>,
    state: Arc<LaunchState>,
    started: Instant,
    waited: AtomicBool,
    _queue: Box<dyn Queue>,
}

impl Launch {
    /// What a host function finds in [`CallContext::launch`](crate::CallContext::launch)
    /// when this launch calls it.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.state.key
    }

    /// Whether the kernel has ended.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.running.is_done()
    }

    /// Waits until the kernel has ended. In a host function, serves calls
    /// meanwhile.
    ///
    /// # Errors
    /// The kernel was ended by a fault, or calls that it made have failed.
    pub fn wait(&self) -> Result<Report, LaunchError> {
        self.waited.store(true, Ordering::Relaxed);
        if crate::serve::current_call().is_some() {
            self.program
                .runtime
                .server
                .serve_until(|| self.running.is_done());
        }
        let ended = self.running.wait();
        let time = self.started.elapsed();
        if let Err(message) = ended {
            return Err(LaunchError::Fault {
                kernel: self.state.kernel.clone(),
                message,
            });
        }
        match self.state.failure() {
            Some(error) => Err(error),
            None => Ok(Report { time }),
        }
    }
}

impl Drop for Launch {
    fn drop(&mut self) {
        // Relaxed: a flag of this value alone.
        if !self.waited.load(Ordering::Relaxed)
            && let Err(error) = self.wait()
        {
            tracing::error!(%error, "a launch that nobody waited for failed");
        }
    }
}

/// Device memory, freed when dropped.
pub struct DeviceBuffer {
    inner: Arc<Inner>,
    address: u64,
    bytes: u64,
}

impl DeviceBuffer {
    /// Its device address.
    #[must_use]
    pub fn address(&self) -> u64 {
        self.address
    }

    /// Its size in bytes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Copies `data` to byte offset `at`.
    ///
    /// # Errors
    /// It does not fit.
    pub fn write<T: IntoBytes + Immutable>(&self, at: u64, data: &[T]) -> Result<()> {
        let bytes = data.as_bytes();
        let address = self.range(at, bytes.len() as u64)?;
        let mut queue = self.inner.device.queue()?;
        // SAFETY: `bytes` lives until `synchronize` returns.
        unsafe { queue.copy_to_device(address, bytes.as_ptr(), bytes.len())? };
        Ok(queue.synchronize()?)
    }

    /// Copies from byte offset `at` to `data`.
    ///
    /// # Errors
    /// There are not that many bytes.
    pub fn read<T: IntoBytes + FromBytes>(&self, at: u64, data: &mut [T]) -> Result<()> {
        let bytes = data.as_mut_bytes();
        let address = self.range(at, bytes.len() as u64)?;
        let mut queue = self.inner.device.queue()?;
        // SAFETY: `bytes` lives, borrowed by us alone, until `synchronize` returns.
        unsafe { queue.copy_from_device(bytes.as_mut_ptr(), address, bytes.len())? };
        Ok(queue.synchronize()?)
    }

    fn range(&self, at: u64, len: u64) -> Result<u64, DeviceError> {
        match at.checked_add(len) {
            Some(end) if end <= self.bytes => Ok(self.address + at),
            _ => Err(DeviceError::Unreachable {
                address: self.address.wrapping_add(at),
                len,
                what: "past the end of its buffer",
            }),
        }
    }
}

impl Drop for DeviceBuffer {
    fn drop(&mut self) {
        self.inner.device.free(self.address);
    }
}
