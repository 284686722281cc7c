//! Loaded images and their kernels.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use targets::count::{Names, Parameters};

use super::loaded_program::LoadedProgram;
use super::{DeviceBuffer, Launch, Result, Runtime, RuntimeError};
use crate::base::lock::lock;
use crate::device::{
    BlockShape, DeviceAddr, DeviceError, Global, Grid, KernelLimits, LaunchContext, Params, Queue,
};
use crate::image::{Image, ImageError, KernelDeclaration};
use crate::serve::{ForeignFunction, FunctionTable, LaunchWire, RegisteredFunction};

/// A loaded image. Cloning is cheap. The image is unloaded with its last clone, kernel and launch.
#[derive(Clone)]
pub struct Program {
    pub(super) inner: Arc<LoadedProgram>,
}

impl Program {
    /// The kernel called `name`.
    ///
    /// # Errors
    /// The image has no kernel of that name, or the device is lost.
    pub fn kernel(&self, name: &str) -> Result<Kernel> {
        let found = self.inner.module.kernel(name)?;
        let declaration = self.inner.kernels.iter().find(|kernel| kernel.name == name);
        match found {
            Some(code) => Ok(Kernel {
                program: self.clone(),
                declaration: declaration.cloned().unwrap_or_else(|| KernelDeclaration {
                    name: name.to_owned(),
                    info: None,
                    sizes: None,
                }),
                code,
                block: BlockShape::default(),
            }),
            None => {
                let kernels = self.inner.kernels.iter();
                let names: Vec<_> = kernels.map(|kernel| kernel.name.clone()).collect();
                Err(ImageError::NoKernel {
                    name: self.inner.image.name().to_owned(),
                    kernel: name.to_owned(),
                    has: if names.is_empty() {
                        "none".to_owned()
                    } else {
                        Names(&names).to_string()
                    },
                }
                .into())
            }
        }
    }

    /// The variable called `name`; `None` if the image has none.
    ///
    /// # Errors
    /// The device is lost.
    pub fn global(&self, name: &str) -> Result<Option<Global>> {
        Ok(self.inner.module.global(name)?)
    }

    /// Lets kernels call `function` by the function word `word`; messages call it `name`. This
    /// serves images without symbols for their host functions, such as GCC's.
    ///
    /// # Safety
    /// Calling the function from any thread, with the arguments that this image sends with the
    /// word, is sound by the rules of its language.
    pub unsafe fn add_foreign(&self, word: u64, name: &str, function: Arc<dyn ForeignFunction>) {
        let entry = Arc::new(RegisteredFunction::foreign(name, function));
        let inner = &self.inner;
        lock(&inner.words).push(word);
        let insert = |table: &mut FunctionTable| table.insert(word, name, Some(&entry));
        inner.runtime.server.change_functions(insert);
    }

    /// The image.
    #[must_use]
    pub fn image(&self) -> &Image {
        &self.inner.image
    }
}

/// A parameter of a kernel.
pub trait KernelArg {
    /// Appends its bytes to `params`, in the layout of the kernel's signature.
    fn push_to(&self, params: &mut Params);
}

fn params_of(args: &[&dyn KernelArg]) -> Params {
    let mut params = Params::default();
    for arg in args {
        arg.push_to(&mut params);
    }
    params
}

macro_rules! plain_args {
    ($($type:ty)*) => {$(
        impl KernelArg for $type {
            fn push_to(&self, params: &mut Params) {
                params.push(&self.to_ne_bytes());
            }
        }
    )*};
}

plain_args!(u8 u16 u32 u64 usize i8 i16 i32 i64 isize f32 f64);

impl KernelArg for DeviceAddr {
    fn push_to(&self, params: &mut Params) {
        self.0.push_to(params);
    }
}

impl KernelArg for DeviceBuffer {
    fn push_to(&self, params: &mut Params) {
        self.address().push_to(params);
    }
}

/// A kernel, ready to be launched.
#[derive(Clone)]
pub struct Kernel {
    pub(super) program: Program,
    pub(super) declaration: KernelDeclaration,
    pub(super) code: Global,
    pub(super) block: BlockShape,
}

impl Kernel {
    /// The image's declaration of this kernel.
    #[must_use]
    pub fn declaration(&self) -> &KernelDeclaration {
        &self.declaration
    }

    /// The same kernel, launched with teams of the shape `block`.
    #[must_use]
    pub fn with_block(mut self, block: BlockShape) -> Self {
        self.block = block;
        self
    }

    /// Its occupancy limits.
    ///
    /// # Errors
    /// The device is lost.
    pub fn limits(&self) -> Result<KernelLimits> {
        Ok(self.program.inner.module.limits(self.code)?)
    }

    /// Starts the kernel and returns at once. Several launches, also of the same kernel, run
    /// concurrently.
    ///
    /// # Safety
    /// - The code is a kernel, and its parameters have the types of `args`. If
    ///   [the image declares](KernelDeclaration) their number and sizes, those are checked.
    /// - The kernel accesses the memory that `args` name only as their types allow, and that memory
    ///   lives until the launch has ended.
    /// - The kernel's frames can be abandoned where it traps, as a panic in Rust does: its safety
    ///   depends on no destructor.
    ///
    /// # Errors
    /// The parameters do not fit the declaration, or the device cannot run the
    /// grid.
    pub unsafe fn launch(&self, grid: Grid, args: &[&dyn KernelArg]) -> Result<Launch> {
        let params = params_of(args);
        // SAFETY: the caller's promise.
        unsafe { self.start_on(None, grid, &params) }
    }

    /// As [`launch`](Self::launch), for a kernel that calls the host and prints through `wire`,
    /// whose address is among `args`. The kernel can call the host even if its image has no wire
    /// of its own.
    ///
    /// # Safety
    /// As for [`launch`](Self::launch).
    ///
    /// # Errors
    /// As for [`launch`](Self::launch), or the wire belongs to another runtime.
    pub unsafe fn launch_on(
        &self,
        wire: LaunchWire,
        grid: Grid,
        args: &[&dyn KernelArg],
    ) -> Result<Launch> {
        if !wire.is_of(&self.program.inner.runtime.server) {
            return Err(RuntimeError::WireOfOtherRuntime {
                kernel: self.declaration.name.clone(),
            });
        }
        let params = params_of(args);
        // SAFETY: the caller's promise.
        unsafe { self.start_on(Some(wire), grid, &params) }
    }

    /// As [`launch`](Self::launch), in the caller's queue: the kernel starts when earlier work in
    /// the queue is done and the events that the queue waits for are reached. If one of them
    /// fails, the launch fails too, and the kernel does not run. The launch's time and its
    /// [deadline](crate::Builder::deadline) count from this call.
    ///
    /// # Safety
    /// As for [`launch`](Self::launch); the queue belongs to this kernel's device.
    ///
    /// # Errors
    /// As for [`launch`](Self::launch).
    pub unsafe fn enqueue(
        &self,
        queue: &mut dyn Queue,
        grid: Grid,
        args: &[&dyn KernelArg],
    ) -> Result<Launch> {
        let params = params_of(args);
        // SAFETY: the caller's promise.
        unsafe { self.start_in(queue, None, grid, &params) }
    }

    /// The runtime whose device it runs on.
    pub(crate) fn runtime(&self) -> Runtime {
        Runtime {
            inner: Arc::clone(&self.program.inner.runtime),
        }
    }

    /// As [`launch_on`](Self::launch_on), with an optional wire of the kernel's runtime, and the
    /// bytes of the parameters.
    ///
    /// # Safety
    /// As for [`launch`](Self::launch).
    unsafe fn start_on(
        &self,
        launch_wire: Option<LaunchWire>,
        grid: Grid,
        params: &Params,
    ) -> Result<Launch> {
        let mut queue = self.program.inner.runtime.device.queue()?;
        // SAFETY: the caller's promise.
        let mut launch = unsafe { self.start_in(&mut *queue, launch_wire, grid, params)? };
        launch.queue = Some(queue);
        Ok(launch)
    }

    fn check_params(&self, params: &Params) -> Result<()> {
        let KernelDeclaration { name, info, sizes } = &self.declaration;
        let given = params.sizes();
        let expected = match (info, sizes) {
            (_, Some(sizes)) if *sizes == given => return Ok(()),
            (_, Some(sizes)) => Parameters(sizes).to_string(),
            (None, None) => return Ok(()),
            (Some(info), None) => {
                let (count, bytes) = (u64::from(info.params), u64::from(info.bytes));
                if (count, bytes) == (given.len() as u64, given.iter().sum()) {
                    return Ok(());
                }
                match count {
                    0 | 1 => Parameters(&[bytes][..count as usize]).to_string(),
                    _ => format!("{count} parameters, {bytes} bytes in total"),
                }
            }
        };
        Err(RuntimeError::Device(DeviceError::BadParameters {
            kernel: name.clone(),
            expected,
            found: Parameters(&given).to_string(),
        }))
    }

    /// As [`enqueue`](Self::enqueue), with the bytes of the parameters.
    ///
    /// # Safety
    /// As for [`enqueue`](Self::enqueue).
    pub(crate) unsafe fn start_in(
        &self,
        queue: &mut dyn Queue,
        launch_wire: Option<LaunchWire>,
        grid: Grid,
        params: &Params,
    ) -> Result<Launch> {
        self.check_params(params)?;
        let program = &self.program.inner;
        let runtime = &program.runtime;
        let calls_host = program.calls_host || launch_wire.is_some();
        let guard = runtime.server.begin(&self.declaration.name, calls_host)?;
        let state = Arc::clone(&guard.state);
        state.begin_span(runtime.device.name(), grid);
        if let Some(wire) = &launch_wire {
            wire.assign_to(state.key);
        }
        let wake_host = {
            let server = Arc::clone(&runtime.server);
            Arc::new(move || server.wake_host())
        };
        let ended = {
            let (server, state) = (Arc::clone(&runtime.server), Arc::clone(&state));
            Arc::new(move || server.end(&state))
        };
        let context = LaunchContext {
            block: self.block,
            key: state.key,
            calls_host,
            wake_host,
            ended,
        };
        let started = Instant::now();
        // SAFETY: our caller guarantees what `# Safety` of `launch` states about kernel,
        // parameters and memory. The `Launch` holds the program, which keeps the code loaded.
        let running = unsafe { queue.launch(&program.module, self.code, grid, params, context)? };
        guard.end_with_kernel();
        Ok(Launch {
            program: Arc::clone(program),
            running,
            state,
            started,
            waited: AtomicBool::new(false),
            queue: None,
            launch_wire,
            kept: None,
        })
    }
}
