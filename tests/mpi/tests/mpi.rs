//! Runs kernels that call MPI on ranks of this machine. MPIRUN names the `mpirun` of the MPI that this was built with.
//!
//! For each test this program starts itself by `mpirun`; a rank runs the kernel that its environment names.

use std::env;
use std::fmt::Debug;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Output};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use libtest_mimic::{Arguments, Failed, Trial};
use revoff_build::BuildError;
use revoff_build::device::{Assemblers, Toolchain};
use revoff_host::{Functions, Grid, Image, LaunchError, Runtime, targets};
use revoff_mpi::Mpi;
use rustix::process::{Resource, Rlimit, setrlimit};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id};
use tracing::{Event, Subscriber};
use tracing_subscriber::layer::{Context, SubscriberExt};
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{Layer, registry};

/// The kernel that a rank runs.
const KERNEL: &str = "MPI_TESTS_KERNEL";

/// The environment variable of ranks where one thread makes all calls of MPI.
const ONE_THREAD: &str = "MPI_TESTS_ONE_THREAD";

/// The environment variable of ranks with their device; `host` if there is none.
const DEVICE: &str = "MPI_TESTS_DEVICE";

/// The environment variable of ranks with their image; that of `host` if there is none.
const IMAGE: &str = "MPI_TESTS_IMAGE";

/// The environment variable of ranks by which messages are not staged in device memory.
const GPU: &str = "REVOFF_MPI_GPU";

/// The environment variable with a folder with emulated drivers: for processes that load them, they are no emulated
/// GPUs, but real ones.
const DRIVER: &str = "MPI_TESTS_DRIVER";

/// How the names of kernels in C begin.
const IN_C: &str = "c_";

/// A kernel that is launched when MPI has ended.
const AFTER_THE_END: &str = "after_the_end";

/// A kernel some of whose threads wait for the others.
const HOARD_WAITING: &str = "hoard_waiting";

/// Not a kernel: MPI is started again.
const TWICE: &str = "twice";

/// Words of a long message: more than any MPI sends at once, and not staged in the host's memory if MPI accesses a
/// GPU's.
const LONG: u64 = 1 << 17;

/// Bytes of a message that may pass through the host's memory in any case.
const SHORT: u64 = 64 << 10;

/// A kernel that waits for a long message which nobody sends.
const NEVER: &str = "long_never";

/// A kernel that sends a long message which nobody receives, and one that receives it later.
const SEND_NEVER: &str = "long_send_never";
const TAKE: &str = "long_take";

/// Architectures of emulated GPUs.
const ARCHES: [&str; 2] = ["sm_90", "gfx90a"];

/// Kernels with long messages that end well, with ranks, and the bytes of copies within device memory of each rank:
/// then no message passes through the host's memory.
const LONG_RIGHT: &[(&str, u32, Option<u64>)] = &[
    ("requests", 4, Some(2 * 8 * LONG)),
    ("long_messages", 2, Some(2 * 8 * (LONG - 1000))),
    ("long_place", 1, None),
    ("long_meanwhile", 2, Some(3 * 8 * LONG)),
];

/// Kernels with long messages that fail, as in `WRONG`, and the bytes of copies within device memory.
const LONG_WRONG: &[(&str, &str, Option<u64>)] = &[
    (
        "long_too_long",
        "a message of 1048576 bytes does not fit into 1048568 bytes: ",
        Some(2 * 8 * LONG + 8),
    ),
    (NEVER, "deadline", Some(0)),
    (SEND_NEVER, "deadline", Some(8 * LONG)),
];

/// Kernels that end well, with device threads of each rank.
const RIGHT: &[(&str, u32)] = &[
    ("messages", 1),
    ("requests", 1),
    ("together", 1),
    ("threads", 32),
    ("matching", 1),
    ("c_messages", 1),
    ("c_together", 1),
];

/// A kernel that leaves messages, and each rank's log about them.
const UNRECEIVED: &str = "unreceived";
const LEFT: &str = "WARN: not received before MPI ended: 2 messages to this rank";

/// A kernel that leaves a message of so many words, which its rank has no memory to discard: more than an arena of the
/// allocator grows by without asking for address space. And the rank's error.
const HUGE_UNRECEIVED: &str = "huge_unreceived";
const HUGE: u64 = 1 << 24;
const NO_MEMORY: &str = "cannot allocate 134217728 bytes to discard a message ";

/// A kernel that waits for a collective function at the deadline on rank 0, and one on the others, before rank 0 begins it.
/// MPI ends all the same.
const ALONE: &str = "alone_never";
const LATE: &str = "late_never";

/// A kernel whose threads make collective functions until MPI ends, which each rank does after another one of them; and
/// the number of its threads.
const UNTIL_THE_END: &str = "until_the_end";
const THREADS_UNTIL_THE_END: u32 = 3;

/// Kernels with calls that fail, with ranks, device threads, and the error of the first call.
const WRONG: &[(&str, u32, u32, &str)] = &[
    (
        "too_long",
        1,
        1,
        "receiving at most 80 bytes with tag 3 from rank 0: the message has 100 bytes, and is lost",
    ),
    (
        "much_too_long",
        1,
        1,
        "receiving at most 8 bytes with tag 1 from rank 0: the message has 1000 bytes, and is lost",
    ),
    (
        "disagree",
        2,
        1,
        ": another rank has called something else, or with other data, or has no memory for it: ",
    ),
    ("nonsense", 1, 1, "sending 1 byte with tag 0 to rank 1000: "),
    (
        "nonsense_of_one",
        3,
        1,
        "rank 1 of 3: sending 1 byte with tag 0 to rank 1000: ",
    ),
    ("c_wrong", 1, 1, "sending 4 bytes with tag 0 to rank 1000: "),
    ("hoard", 1, 1, NO_ROOM),
    (HOARD_WAITING, 1, 4, NO_ROOM),
    ("never", 1, 1, "deadline"),
    (
        AFTER_THE_END,
        1,
        1,
        "MPI has ended: wait for launches before `Mpi::finish`",
    ),
    (
        TWICE,
        1,
        1,
        "MPI is started already: a process starts it once",
    ),
];

/// The error of an invalid value of the environment variable.
const NO_SETTING: &str = "environment variable REVOFF_MPI_GPU=\"always\": 0, 1 or auto expected";

/// The error of a request for a GiB beside three others.
const NO_ROOM: &str =
    " bytes of at most 4294967296, no room for 1073741824 bytes more: wait for some first";

/// The log about a GPU whose memory it does not access.
const STAGED: &str = "INFO: messages are staged in the host's memory, because this MPI reports no support for this \
                      GPU's memory";

/// A rank's error about copies that it must not make.
const COPIES: &str = "wrong copies";

/// The words before the first failed call in the error of a kernel that has aborted itself, such as by a panic.
const ABORTED: &str = "; before that, ";

fn main() -> ExitCode {
    if let Ok(kernel) = env::var(KERNEL) {
        return rank(&kernel);
    }
    let mut tests = vec![];
    for one_thread in [false, true] {
        let name = |kernel: &str| match one_thread {
            false => str::to_owned(kernel),
            true => format!("{kernel}_on_one_thread"),
        };
        for &(kernel, _) in RIGHT {
            let run = move || check(kernel, 4, one_thread, &[], Expected::Success);
            tests.push(Trial::test(name(kernel), run));
        }
        for &(kernel, ranks, _, text) in WRONG {
            let run = move || check(kernel, ranks, one_thread, &[], Expected::Failure(text));
            tests.push(Trial::test(name(kernel), run));
        }
        for (kernel, expected) in [
            (UNRECEIVED, Expected::Logs(LEFT, 4)),
            (ALONE, Expected::Success),
            (LATE, Expected::Success),
            (UNTIL_THE_END, Expected::Success),
            (HUGE_UNRECEIVED, Expected::Failure(NO_MEMORY)),
        ] {
            let run = move || check(kernel, 4, one_thread, &[], expected);
            tests.push(Trial::test(name(kernel), run));
        }
        for (kernel, ranks, expected) in long().filter(|test| test.0.starts_with("long")) {
            let run = move || check(kernel, ranks, one_thread, &[], expected);
            tests.push(Trial::test(name(kernel), run));
        }
    }
    let setting = [(GPU, "always".to_owned())];
    tests.push(Trial::test("setting", move || {
        check(
            "messages",
            1,
            false,
            &setting,
            Expected::Failure(NO_SETTING),
        )
    }));
    for arch in ARCHES {
        match build(arch) {
            Ok(image) => tests.extend(on_gpu(arch, &image)),
            Err(reason) => println!("SKIPPED device emu:{arch}: {reason}"),
        }
    }
    libtest_mimic::run(&Arguments::from_args(), tests).exit_code()
}

/// The kernels with long messages, with ranks.
fn long() -> impl Iterator<Item = (&'static str, u32, Expected)> {
    let right = LONG_RIGHT.iter();
    let right = right.map(|&(kernel, ranks, _)| (kernel, ranks, Expected::Success));
    let wrong = LONG_WRONG.iter();
    right.chain(wrong.map(|&(kernel, text, _)| (kernel, 1, Expected::Failure(text))))
}

/// Builds the kernels for an emulated GPU.
fn build(arch: &str) -> Result<PathBuf, BuildError> {
    let arch = targets::arch::find(arch).expect("is known");
    let toolchain = Toolchain::find(&[arch])?;
    // PTX alone: a file with machine code for the GPU would have no PTX, which is what the emulated GPU runs.
    let assemblers = Assemblers::default();
    let kernels = Path::new(env!("CARGO_MANIFEST_DIR")).join("kernel");
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(arch.name);
    let built = revoff_build::device::build(&toolchain, &assemblers, &kernels, arch, &folder)?;
    let file = folder.join("kernels.offload");
    revoff_build::write_file(&file, &[built], None)?;
    Ok(file)
}

/// The tests with an emulated GPU, whose memory every MPI accesses.
fn on_gpu(arch: &str, image: &Path) -> Vec<Trial> {
    let device = format!("emu:{arch}");
    let environment = [
        (DEVICE, device.clone()),
        (IMAGE, image.display().to_string()),
    ];
    let mut tests = vec![];
    let mut add = |name: String, kernel: &'static str, ranks, expected, more: &[_]| {
        for one_thread in [false, true] {
            let threads = if one_thread { "_on_one_thread" } else { "" };
            let name = format!("{name}{threads}");
            let mut environment = environment.to_vec();
            environment.extend_from_slice(more);
            let run = move || check(kernel, ranks, one_thread, &environment, expected);
            tests.push(Trial::test(name, run));
        }
    };
    for (kernel, ranks, expected) in long() {
        add(format!("{arch}_{kernel}"), kernel, ranks, expected, &[]);
    }
    add(
        format!("{arch}_off"),
        "requests",
        1,
        Expected::Success,
        &[(GPU, "0".to_owned())],
    );
    let (device, library) = match arch.starts_with("gfx") {
        false => ("cuda:0", "libcuda.so.1"),
        true => ("hsa:0", "libhsa-runtime64.so.1"),
    };
    match env::var(DRIVER) {
        Ok(driver) => {
            let more = [
                (DEVICE, device.to_owned()),
                ("LD_LIBRARY_PATH", driver),
                ("REVOFF_EMU_ARCH", arch.to_owned()),
            ];
            let name = format!("{arch}_is_not_supported");
            add(name, "requests", 1, Expected::Logs(STAGED, 1), &more);
        }
        Err(_) => {
            println!("SKIPPED device {device}: {DRIVER} names no folder with an emulated {library}")
        }
    }
    // How a short message gets to the one thread is the same on every device.
    let right = RIGHT.iter();
    let right = right.map(|&(kernel, _)| (kernel, 4, Expected::Success));
    let wrong = WRONG.iter();
    let wrong = wrong.map(|&(kernel, ranks, _, text)| (kernel, ranks, Expected::Failure(text)));
    let is_long = |kernel| LONG_RIGHT.iter().any(|test| test.0 == kernel);
    for (kernel, ranks, expected) in right.chain(wrong) {
        // In lock-step, lanes that wait in one branch keep those in the other.
        let is_stuck = arch.starts_with("gfx") && kernel == HOARD_WAITING;
        // The images of kernels in C are for the host.
        if !is_stuck && !kernel.starts_with(IN_C) && !is_long(kernel) {
            let environment = environment.to_vec();
            let run = move || check(kernel, ranks, false, &environment, expected);
            tests.push(Trial::test(format!("{arch}_{kernel}"), run));
        }
    }
    tests
}

/// How the ranks must end.
#[derive(Clone, Copy)]
enum Expected {
    Success,
    /// With an error with this text.
    Failure(&'static str),
    /// Well, and all ranks have logged this text so many times.
    Logs(&'static str, usize),
}

impl Expected {
    fn is_met(self, output: &Output) -> bool {
        let (has_succeeded, text) = (output.status.success(), stderr(output));
        if output.status.code() == Some(TIMED_OUT) {
            return false;
        }
        match self {
            Self::Success => has_succeeded && !text.contains(STAGED),
            Self::Failure(error) => {
                let others = [ABORTED, COPIES];
                !has_succeeded
                    && text.contains(error)
                    && !others.iter().any(|other| text.contains(other))
            }
            Self::Logs(line, times) => has_succeeded && text.matches(line).count() == times,
        }
    }
}

/// The exit status of `timeout` if it has ended its command.
const TIMED_OUT: i32 = 124;

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Runs a kernel on several ranks, with more environment variables, and checks how they end.
fn check(
    kernel: &str,
    ranks: u32,
    one_thread: bool,
    environment: &[(&str, String)],
    expected: Expected,
) -> Result<(), Failed> {
    let program = env::current_exe()?;
    let folder = tempfile::tempdir()?;
    let output = Command::new("timeout")
        .arg("600")
        .arg(env::var_os("MPIRUN").unwrap_or_else(|| "mpirun".into()))
        // Open MPI starts nothing as root, and no more ranks than there are processors, unless it is told to.
        .envs([
            ("OMPI_ALLOW_RUN_AS_ROOT", "1"),
            ("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"),
            ("OMPI_MCA_rmaps_base_oversubscribe", "1"),
            (KERNEL, kernel),
        ])
        // Open MPI's `mpirun` removes, at its end, the folder in which others of this user are starting.
        .env("TMPDIR", folder.path())
        .envs(one_thread.then_some((ONE_THREAD, "1")))
        .envs(environment.iter().map(|(name, value)| (name, value)))
        .args(["-n", &ranks.to_string()])
        .arg(program)
        .output()?;
    if expected.is_met(&output) {
        return Ok(());
    }
    let text = stderr(&output);
    Err(format!("{kernel}, {}: {text}", output.status).into())
}

/// Fails unless so many bytes were copied within device memory and few others; for `None`, unless it is the other way
/// round.
fn check_copies(within: Option<u64>) -> Result<(), String> {
    // Relaxed: the launch has ended, and its calls.
    let [on_device, to_host] = COPIED.each_ref().map(|bytes| bytes.load(Ordering::Relaxed));
    let is_right = match within {
        Some(bytes) => on_device == bytes && to_host < SHORT,
        None => on_device == 0 && to_host > SHORT,
    };
    let text = || format!("{COPIES}: {on_device} bytes on the device, {to_host} from or to it");
    if is_right { Ok(()) } else { Err(text()) }
}

/// Bytes of copies within device memory, and of those between it and the host.
static COPIED: [AtomicU64; 2] = [const { AtomicU64::new(0) }; 2];

/// Counts copies, and prints what MPI logs.
struct TestLayer;

impl<S: Subscriber> Layer<S> for TestLayer {
    fn on_new_span(&self, span: &Attributes<'_>, _: &Id, _: Context<'_, S>) {
        let mut copy = CopySpan::default();
        span.record(&mut copy);
        if span.metadata().name() == "copy" {
            let place = usize::from(copy.direction != "copy on device");
            // Relaxed: a number alone.
            COPIED[place].fetch_add(copy.bytes, Ordering::Relaxed);
        }
    }

    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        if event.metadata().target().starts_with("revoff_mpi") {
            let level = *event.metadata().level();
            let mut print = |field: &Field, value: &dyn Debug| {
                if field.name() == "message" {
                    // At once: other ranks print, too.
                    let line = format!("{level}: {value:?}\n");
                    let _ = io::stderr().write_all(line.as_bytes());
                }
            };
            event.record(&mut print);
        }
    }
}

/// The fields of a copy's span.
#[derive(Default)]
struct CopySpan {
    direction: String,
    bytes: u64,
}

impl Visit for CopySpan {
    fn record_u64(&mut self, _: &Field, bytes: u64) {
        self.bytes = bytes;
    }

    fn record_str(&mut self, _: &Field, direction: &str) {
        direction.clone_into(&mut self.direction);
    }

    fn record_debug(&mut self, _: &Field, _: &dyn Debug) {}
}

/// Runs a rank.
#[expect(clippy::print_stderr, reason = "the test reads it")]
fn rank(kernel: &str) -> ExitCode {
    match run(kernel) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn run(name: &str) -> Result<(), Box<dyn std::error::Error>> {
    let mpi = match env::var_os(ONE_THREAD) {
        Some(_) => Mpi::start_on_one_thread()?,
        None => Mpi::start()?,
    };
    if name == TWICE {
        Mpi::start()?.finish()?;
    }
    let mut functions = Functions::new();
    mpi.add_to(&mut functions)?;
    let device = env::var(DEVICE).unwrap_or_else(|_| "host".to_owned());
    registry().with(TestLayer).init();
    // Emulated GPUs are slow: only a kernel that never ends reaches its deadline.
    let deadline = Duration::from_secs(if name.ends_with("never") { 5 } else { 300 });
    let runtime = Runtime::builder(&device).deadline(deadline).build()?;
    let image = match name.starts_with(IN_C) {
        false => env!("REVOFF_IMAGE_MPI"),
        true => env!("REVOFF_IMAGE_MPI_C"),
    };
    let image = env::var(IMAGE).unwrap_or_else(|_| image.to_owned());
    let program = runtime.load(&Image::open(image)?, &functions)?;
    let gives_up = match name {
        ALONE => mpi.rank() == 0,
        LATE => mpi.rank() > 0,
        _ => false,
    };
    if name == LATE && !gives_up {
        thread::sleep(deadline + Duration::from_secs(2));
    }
    let mut mpi = Some(mpi);
    let mut finish = || mpi.take().map_or(Ok(()), Mpi::finish);
    let kernel = if name == AFTER_THE_END {
        finish()?;
        program.kernel("never")?
    } else {
        program.kernel(name)?
    };
    let wrong = WRONG.iter();
    let wrong = wrong.map(|&(kernel, _, threads, _)| (kernel, threads));
    let long = LONG_RIGHT.iter().map(|&(kernel, _, bytes)| (kernel, bytes));
    let long = long.chain(LONG_WRONG.iter().map(|&(kernel, _, bytes)| (kernel, bytes)));
    let long: Vec<_> = long.collect();
    let on_gpu = long.iter().map(|&(kernel, _)| (kernel, 1));
    let others = [UNRECEIVED, HUGE_UNRECEIVED, ALONE, LATE].map(|kernel| (kernel, 1));
    let right = RIGHT.iter().copied().chain(others);
    let right = right.chain([(UNTIL_THE_END, THREADS_UNTIL_THE_END)]);
    let mut kernels = right.chain(wrong).chain(on_gpu);
    let (_, threads) = kernels
        .find(|&(kernel, _)| kernel == name)
        .ok_or("the test has no such kernel")?;
    let grid = Grid { teams: 1, threads };
    let launch = if name.starts_with(IN_C) {
        let result = runtime.alloc(8)?;
        // SAFETY: the kernel takes this, and the memory lives until it has ended.
        let ended = unsafe { kernel.launch(grid, &[&result])? }.wait();
        let mut line = [0u64];
        result.read(0, &mut line)?;
        if line != [1] {
            return Err(format!("line {} of kernels.c found a wrong result", line[0]).into());
        }
        ended
    } else if let Some(&(_, copied)) = long.iter().find(|&&(kernel, _)| kernel == name) {
        let memory = runtime.alloc(2 * 8 * LONG)?;
        let before = runtime.memory().used;
        // SAFETY: the kernel takes these, and the memory lives until it has ended.
        let ended = unsafe { kernel.launch(grid, &[&memory, &LONG])? }.wait();
        let is_accessible = device.starts_with("emu") && env::var_os(GPU).is_none();
        if device != "host" {
            check_copies(copied.filter(|_| is_accessible))?;
        }
        if name == SEND_NEVER {
            // The call has been given up, but MPI sends its memory still.
            thread::sleep(Duration::from_millis(200));
            if is_accessible && runtime.memory().used < before + 8 * LONG {
                return Err(format!("{COPIES}: the memory of a message was freed").into());
            }
            // SAFETY: as above.
            unsafe { program.kernel(TAKE)?.launch(grid, &[&memory, &LONG])? }.wait()?;
        }
        // All calls free their memory in the end, also those that were given up.
        let until = Instant::now() + Duration::from_secs(60);
        while runtime.memory().used > before {
            if Instant::now() > until {
                return Err(format!("{COPIES}: the memory of a message is not freed").into());
            }
            thread::sleep(Duration::from_millis(5));
        }
        ended
    } else if name == HUGE_UNRECEIVED {
        let memory = runtime.alloc(8 * HUGE)?;
        // SAFETY: the kernel takes these, and the memory lives until it has ended.
        let ended = unsafe { kernel.launch(grid, &[&memory, &HUGE])? }.wait();
        // From now on, no more than the process has.
        let none = Rlimit {
            current: Some(0),
            maximum: None,
        };
        setrlimit(Resource::As, none)?;
        ended
    } else {
        // SAFETY: the kernel takes no parameters.
        let launch = unsafe { kernel.launch(grid, &[])? };
        if name == UNTIL_THE_END {
            thread::sleep(Duration::from_millis(100));
            finish()?;
            let _calls_fail = launch.wait();
            return Ok(());
        }
        launch.wait()
    };
    match launch {
        Err(LaunchError::Deadline { .. }) if gives_up => {}
        ended => drop(ended?),
    }
    finish()?;
    Ok(())
}
