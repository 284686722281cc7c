//! Runs kernels that call MPI on ranks of this machine. MPIRUN names the `mpirun` of the MPI that this was built with.
//!
//! For each test this program starts itself by `mpirun`; a rank runs the kernel that its environment names.

use std::env;
use std::process::{Command, ExitCode, Output};
use std::time::Duration;

use libtest_mimic::{Arguments, Failed, Trial};
use revoff_host::{Functions, Grid, Image, Runtime};
use revoff_mpi::Mpi;

/// The kernel that a rank runs.
const KERNEL: &str = "MPI_TESTS_KERNEL";

/// The environment variable of ranks where one thread makes all calls of MPI.
const ONE_THREAD: &str = "MPI_TESTS_ONE_THREAD";

/// How the names of kernels in C begin.
const IN_C: &str = "c_";

/// A kernel that is launched when MPI has ended.
const AFTER_THE_END: &str = "after_the_end";

/// Words of a long message: more than any MPI sends at once.
const LONG: u64 = 1 << 17;

/// Kernels that end well, with device threads of each rank.
const RIGHT: &[(&str, u32)] = &[
    ("messages", 1),
    ("requests", 1),
    ("together", 1),
    ("threads", 32),
    ("c_messages", 1),
    ("c_together", 1),
];

/// Kernels with calls that fail, with device threads, and what the first of them is.
const WRONG: &[(&str, u32, &str)] = &[
    (
        "too_long",
        1,
        "receiving at most 80 bytes with tag 3 from rank 0: ",
    ),
    ("nonsense", 1, "sending 1 byte with tag 0 to rank 1000: "),
    ("c_wrong", 1, "sending 4 bytes with tag 0 to rank 1000: "),
    ("hoard", 1, NO_ROOM),
    ("hoard_waiting", 4, NO_ROOM),
    ("never", 1, "deadline"),
    (
        AFTER_THE_END,
        1,
        "MPI has ended: wait for launches before `Mpi::finish`",
    ),
];

/// The error of a request for a GiB beside three others.
const NO_ROOM: &str = "MPI requests that are not done take 3221227008 of at most 4294967296 bytes, no room for \
                       1073741824 bytes more: wait for some first";

/// What precedes the first failed call in the error of a kernel that has aborted itself, such as by a panic.
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
            let run = move || check(kernel, 4, one_thread, |output| output.status.success());
            tests.push(Trial::test(name(kernel), run));
        }
        for &(kernel, _, text) in WRONG {
            let is_expected = move |output: &Output| {
                let errors = String::from_utf8_lossy(&output.stderr);
                !output.status.success() && errors.contains(text) && !errors.contains(ABORTED)
            };
            let run = move || check(kernel, 1, one_thread, is_expected);
            tests.push(Trial::test(name(kernel), run));
        }
    }
    libtest_mimic::run(&Arguments::from_args(), tests).exit_code()
}

/// Runs a kernel on several ranks, and checks how they end.
fn check(
    kernel: &str,
    ranks: u32,
    one_thread: bool,
    is_expected: impl Fn(&Output) -> bool,
) -> Result<(), Failed> {
    let program = env::current_exe()?;
    let output = Command::new(env::var_os("MPIRUN").unwrap_or_else(|| "mpirun".into()))
        // Open MPI starts nothing as root, and no more ranks than there are processors, unless it is told to.
        .envs([
            ("OMPI_ALLOW_RUN_AS_ROOT", "1"),
            ("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"),
            ("OMPI_MCA_rmaps_base_oversubscribe", "1"),
            (KERNEL, kernel),
        ])
        .envs(one_thread.then_some((ONE_THREAD, "1")))
        .args(["-n", &ranks.to_string()])
        .arg(program)
        .output()?;
    if is_expected(&output) {
        return Ok(());
    }
    let text = String::from_utf8_lossy(&output.stderr);
    Err(format!("{kernel}, {}: {text}", output.status).into())
}

/// What each rank does.
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
    let mut functions = Functions::new();
    mpi.add_to(&mut functions)?;
    let runtime = Runtime::builder("host")
        .deadline(Duration::from_secs(5))
        .build()?;
    let image = match name.starts_with(IN_C) {
        false => env!("REVOFF_IMAGE_MPI"),
        true => env!("REVOFF_IMAGE_MPI_C"),
    };
    let program = runtime.load(&Image::open(image)?, &functions)?;
    let mut mpi = Some(mpi);
    let mut finish = || mpi.take().map_or(Ok(()), Mpi::finish);
    let kernel = if name == AFTER_THE_END {
        finish()?;
        program.kernel("never")?
    } else {
        program.kernel(name)?
    };
    let wrong = WRONG.iter().map(|&(kernel, threads, _)| (kernel, threads));
    let mut kernels = RIGHT.iter().copied().chain(wrong);
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
    } else if name == "requests" {
        let memory = runtime.alloc(2 * 8 * LONG)?;
        // SAFETY: the kernel takes these, and the memory lives until it has ended.
        unsafe { kernel.launch(grid, &[&memory, &LONG])? }.wait()
    } else {
        // SAFETY: the kernel takes no parameters.
        unsafe { kernel.launch(grid, &[])? }.wait()
    };
    launch?;
    finish()?;
    Ok(())
}
