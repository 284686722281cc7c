//! A runtime with the suite's kernels on it.

use conformance::Target;
use conformance_calls::{Act, Outcome};
use revoff_fn::zerocopy::{FromBytes, Immutable, IntoBytes};
use revoff_host::device::Queue;
use revoff_host::{
    Builder, DeviceBuffer, Functions, Grid, Image, KernelArg, Launch, LaunchError, Program, Report,
    Runtime,
};

use crate::image::image;

/// A runtime, and an image that is loaded there.
pub(crate) struct Session {
    pub(crate) runtime: Runtime,
    pub(crate) program: Program,
}

impl Session {
    /// The suite's kernels on a new runtime, which call `functions`.
    pub(crate) fn new(target: &Target, functions: &Functions) -> Self {
        Self::build(target, target.builder(), functions)
    }

    /// Like `new`, on the runtime that `builder` describes.
    pub(crate) fn build(target: &Target, builder: Builder, functions: &Functions) -> Self {
        let runtime = builder
            .build()
            .expect("a device that could be opened before");
        Self::on(&runtime, &image(target), functions)
    }

    /// Loads `image` on an existing runtime.
    pub(crate) fn on(runtime: &Runtime, image: &Image, functions: &Functions) -> Self {
        let program = runtime.load(image, functions).expect("a good image");
        Self {
            runtime: runtime.clone(),
            program,
        }
    }

    /// Starts a kernel on `teams` x `threads`.
    pub(crate) fn start(
        &self,
        kernel: &str,
        (teams, threads): (u32, u32),
        args: &[&dyn KernelArg],
    ) -> Launch {
        let kernel = self.program.kernel(kernel).expect("a kernel of the image");
        // SAFETY: number and sizes of the parameters are checked against the declaration (the
        // kernels in C take only pointers). The suite's kernels access only memory that their
        // parameters name; each test passes buffers of the size that the kernel documents for the
        // grid, and keeps them until it has waited for the launch.
        unsafe { kernel.launch(Grid { teams, threads }, args) }.expect("a grid that fits")
    }

    /// Like `start`, in a queue.
    pub(crate) fn enqueue(
        &self,
        queue: &mut dyn Queue,
        kernel: &str,
        (teams, threads): (u32, u32),
        args: &[&dyn KernelArg],
    ) -> Launch {
        let kernel = self.program.kernel(kernel).expect("a kernel of the image");
        // SAFETY: the parameters match the declaration, the buffers live until the launch has been
        // waited for, and the queue belongs to this runtime.
        unsafe { kernel.enqueue(queue, Grid { teams, threads }, args) }.expect("a grid that fits")
    }

    /// Runs a kernel to its end.
    pub(crate) fn run(
        &self,
        kernel: &str,
        grid: (u32, u32),
        args: &[&dyn KernelArg],
    ) -> Result<Report, LaunchError> {
        self.start(kernel, grid, args).wait()
    }

    /// Device memory for `count` `T`s, zeroed.
    pub(crate) fn zeroed<T>(&self, count: usize) -> DeviceBuffer {
        let bytes = (count * size_of::<T>()) as u64;
        self.runtime.alloc(bytes).expect("device memory")
    }

    /// Device memory with a copy of `data`.
    pub(crate) fn filled<T: IntoBytes + Immutable>(&self, data: &[T]) -> DeviceBuffer {
        self.runtime.alloc_from(data).expect("device memory")
    }

    /// Launches a grid whose threads each call `act(what + step * thread)` `rounds` times.
    pub(crate) fn act(
        &self,
        grid: (u32, u32),
        what: u64,
        step: u64,
        rounds: u32,
    ) -> (Vec<Outcome>, Result<Report, LaunchError>) {
        let acting = self.start_act(grid, what, step, rounds);
        let result = acting.launch.wait();
        (read(&acting.outcomes), result)
    }

    /// Like `act`, but only starts it.
    pub(crate) fn start_act(&self, grid: (u32, u32), what: u64, step: u64, rounds: u32) -> Acting {
        let outcomes = self.zeroed::<Outcome>((grid.0 * grid.1) as usize);
        let launch = self.start("call_act", grid, &[&what, &step, &rounds, &outcomes]);
        Acting { launch, outcomes }
    }

    /// Checks that a kernel without calls runs.
    pub(crate) fn works_without_calls(&self) {
        let flag = self.filled(&[1u32]);
        let result = self.run("wait_for", (1, 1), &[&flag]);
        result.expect("a launch after what happened before");
    }

    /// Checks that a kernel can call the host without errors, as a runtime must after a test.
    /// `act(1)` must return 1.
    pub(crate) fn works(&self) {
        let (outcomes, result) = self.act((2, 2), 1, 0, 3);
        result.expect("a launch after what happened before");
        for outcome in outcomes {
            assert_eq!((outcome.sum, outcome.ok, outcome.failed), (3, 3, 0));
        }
    }
}

/// A launch whose threads call `act`. The field `launch` comes first: it must end before its memory
/// is freed.
pub(crate) struct Acting {
    pub(crate) launch: Launch,
    pub(crate) outcomes: DeviceBuffer,
}

/// Functions of which one is `act`.
pub(crate) fn acting(act: impl Fn(u64) -> u64 + Send + Sync + 'static) -> Functions {
    let mut functions = Functions::new();
    functions
        .add(Act::bind(act))
        .expect("the first of its name");
    functions
}

/// Like `acting`, for one that may fail.
pub(crate) fn acting_or(
    act: impl Fn(u64) -> Result<u64, String> + Send + Sync + 'static,
) -> Functions {
    let mut functions = Functions::new();
    functions
        .add(Act::try_bind(act))
        .expect("the first of its name");
    functions
}

/// The contents of a buffer.
pub(crate) fn read<T: FromBytes + IntoBytes + Clone>(buffer: &DeviceBuffer) -> Vec<T> {
    let count = buffer.bytes() as usize / size_of::<T>();
    let mut data = vec![T::new_zeroed(); count];
    buffer.read(0, &mut data).expect("as many as there are");
    data
}
