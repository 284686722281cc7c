//! The examples that take part in MPI, on several ranks. MPIRUN names the `mpirun` of the MPI they were built with.

mod common;

use std::process::{Command, Output};
use std::time::{Duration, Instant};
use std::{env, fs, thread};

use revoff_build::device::Toolchain;
use revoff_host::targets;
use tempfile::TempDir;

/// A command that runs an example on as many ranks as each part says, with its options, and its folder of temporary
/// files. It fails after some minutes.
fn command(example: &str, parts: &[(u32, &[&str])]) -> (Command, TempDir) {
    let folder = tempfile::tempdir().expect("a folder");
    let example = common::example(example);
    let mut command = Command::new("timeout");
    let mpirun = env::var_os("MPIRUN").unwrap_or_else(|| "mpirun".into());
    command.arg("300").arg(mpirun);
    for (name, value) in example.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    // Open MPI starts nothing as root, and no more ranks than there are processors, unless it is told to.
    command.envs([
        ("OMPI_ALLOW_RUN_AS_ROOT", "1"),
        ("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"),
        ("OMPI_MCA_rmaps_base_oversubscribe", "1"),
    ]);
    // Open MPI's `mpirun` removes, at its end, the folder in which others of this user are starting.
    command.env("TMPDIR", folder.path());
    for (number, (ranks, options)) in parts.iter().enumerate() {
        command.args((number > 0).then_some(":"));
        command.args(["-n", &ranks.to_string()]);
        command.arg(example.get_program()).args(*options);
    }
    (command, folder)
}

fn run(example: &str, parts: &[(u32, &[&str])]) -> Output {
    let (mut command, _folder) = command(example, parts);
    let output = command.output().expect("mpirun runs");
    assert_ne!(output.status.code(), Some(TIMED_OUT), "{}", stderr(&output));
    output
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Fails if the ranks succeeded, or had to be ended.
#[track_caller]
fn assert_failed(output: &Output) {
    let is_failed = !matches!(output.status.code(), Some(0 | TIMED_OUT));
    assert!(is_failed, "{output:?}");
}

/// Cells of four ranks, of which each sends several pieces to the first.
const CELLS: usize = 20_000;

/// The lines that `halo` prints.
fn halo(device: &str, ranks: u32, more: &[&str]) -> Vec<String> {
    let cells = CELLS.to_string();
    let args = ["--device", device, "--cells", &cells, "--steps", "33"];
    let output = run("halo", &[(ranks, &[&args, more].concat())]);
    assert!(output.status.success(), "{}", stderr(&output));
    let text = String::from_utf8(output.stdout).expect("text");
    text.lines().map(str::to_owned).collect()
}

/// The same, computed here.
fn expected() -> Vec<String> {
    let mut cells = vec![0i64; CELLS];
    cells[0] = 1_000_000_000_000;
    for _ in 0..33 {
        let flow = |i: usize| {
            let beside = [cells[(i + CELLS - 1) % CELLS], cells[(i + 1) % CELLS]];
            cells[i] + (beside[0] - cells[i]) / 4 + (beside[1] - cells[i]) / 4
        };
        cells = (0..CELLS).map(flow).collect();
    }
    let lines = cells.iter().enumerate();
    let lines = lines.map(|(i, heat)| format!("cell {i}: {heat} of 1000000000000"));
    lines.collect()
}

/// Fails at the first line that is not the expected one.
fn check(lines: &[String], run: &str) {
    let expected = expected();
    assert_eq!(lines.len(), expected.len(), "{run}");
    for (line, expected) in lines.iter().zip(&expected) {
        assert_eq!(line, expected, "{run}");
    }
}

#[test]
fn heat_flows_the_same_on_one_rank_and_on_four() {
    let mut devices = vec!["host"];
    let arch = targets::arch::find("sm_90").expect("is known");
    match Toolchain::find(&[arch]) {
        Ok(_) => devices.push("emu"),
        Err(reason) => println!("SKIPPED device emu: {reason}"),
    }
    for device in devices {
        for ranks in [1, 4] {
            check(
                &halo(device, ranks, &[]),
                &format!("{device}, {ranks} ranks"),
            );
        }
        check(
            &halo(device, 4, &["--leave"]),
            &format!("{device}, leaving"),
        );
    }
}

#[test]
fn ranks_share_files_and_the_first_prints_their_digests() {
    let paths = ["src", "absent", "Cargo.toml", "src", "Cargo.toml"];
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../device-rt");
    let at = |path: &str| format!("{folder}/{path}");
    let paths: Vec<_> = paths.iter().map(|path| at(path)).collect();
    let paths: Vec<_> = paths.iter().map(String::as_str).collect();
    let alone = run("digest", &[(1, &[&["--mpi"][..], &paths].concat())]);
    let shared = run("digest", &[(3, &[&["--mpi"][..], &paths].concat())]);
    let text = String::from_utf8_lossy(&shared.stdout);
    assert_eq!(text, String::from_utf8_lossy(&alone.stdout));
    assert!(text.lines().count() > 20, "{text}");
    for output in [&alone, &shared] {
        assert!(!output.status.success());
        assert!(stderr(output).contains("absent: No such file or directory"));
    }
    // Each has digested some of them.
    let counts = stderr(&shared)
        .lines()
        .filter(|line| line.contains(" requests/s, "))
        .count();
    assert_eq!(counts, 3, "{}", stderr(&shared));
    let sums = Command::new("sha256sum")
        .arg(at("Cargo.toml"))
        .output()
        .expect("sha256sum runs");
    assert!(
        text.contains(&*String::from_utf8_lossy(&sums.stdout)),
        "{text}"
    );
}

#[test]
fn cells_that_cannot_be_shared_out_are_an_error() {
    for (cells, reason) in [
        ("40", "no multiple of 3 ranks"),
        ("0", "must be at least 3"),
        ("2", "must be at least 3"),
        ("6917529027641081856", "too many for the memory"),
    ] {
        let output = run("halo", &[(3, &["--cells", cells])]);
        assert_failed(&output);
        let text = stderr(&output);
        let wanted = format!("halo: --cells {cells}: {reason}");
        assert!(text.contains(&wanted), "{text}");
    }
}

#[test]
fn ranks_whose_options_differ_report_it() {
    let cases: [(&str, [&[&str]; 2], &str); 5] = [
        (
            "halo",
            [&["--cells=30"], &["--cells=60"]],
            "--cells: 30 on rank 0, but 60 on rank 2",
        ),
        (
            "halo",
            [&["--cells=30", "--steps=3"], &["--cells=30", "--steps=4"]],
            "--steps: 3 on rank 0, but 4 on rank 2",
        ),
        (
            "halo",
            [&["--cells=30", "--leave"], &["--cells=30"]],
            "--leave: 1 on rank 0, but 0 on rank 2",
        ),
        (
            "halo",
            [&["--cells=30"], &["--cells=30", "--compare=2"]],
            "--compare: 0 on rank 0, but 2 on rank 2",
        ),
        (
            "digest",
            [&["--mpi", "lib.rs"], &["--mpi", "build.rs"]],
            "--mpi: rank 2 has other paths than rank 0",
        ),
    ];
    for (example, [first, other], reason) in cases {
        let output = run(example, &[(2, first), (1, other)]);
        assert_failed(&output);
        // All ranks report it, unless mpirun ends them before.
        assert!(stderr(&output).contains(reason), "{}", stderr(&output));
    }
}

#[test]
fn an_invalid_option_of_a_rank_ends_the_others() {
    let output = run("halo", &[(2, &[]), (1, &["--compare=0"])]);
    assert_failed(&output);
    assert!(stderr(&output).contains("--compare"), "{output:?}");
}

#[test]
fn a_rank_that_fails_ends_the_others() {
    // The kernels of the first two wait for cells of the third, for ever if nobody ends them.
    let steps = "--steps=1000000";
    let parts: [(u32, &[&str]); 2] = [
        (2, &[steps, "--cells=999"]),
        (1, &["--image=/nowhere", steps, "--cells=999"]),
    ];
    let output = run("halo", &parts);
    assert!(!output.status.success());
    assert!(stderr(&output).contains("/nowhere"), "{}", stderr(&output));
}

#[test]
fn a_rank_that_is_killed_ends_the_others() {
    // Their kernels run for hours.
    let options: [&str; 2] = ["--steps=1000000007", "--cells=999"];
    // Its output is not captured: it says why there are no ranks.
    let (mut command, _folder) = command("halo", &[(3, &options)]);
    let mut mpirun = command.spawn().expect("mpirun runs");
    let wait_for = |count: usize| {
        let begin = Instant::now();
        loop {
            let ranks = processes(options[0]);
            if ranks.len() == count {
                return ranks;
            }
            assert!(begin.elapsed() < Duration::from_secs(60), "{ranks:?}");
            thread::sleep(Duration::from_millis(10));
        }
    };
    let ranks = wait_for(3);
    // Soon they have started MPI; if not, the others are ended as well.
    thread::sleep(Duration::from_secs(1));
    let killed = Command::new("kill").args(["-9", &ranks[1]]).status();
    assert!(killed.expect("kill runs").success());
    let code = mpirun.wait().expect("it ends").code();
    assert!(!matches!(code, Some(0 | TIMED_OUT)), "{code:?}");
    wait_for(0);
}

/// The exit code of `timeout` if it had to end its command.
const TIMED_OUT: i32 = 124;

/// The numbers of the processes of `halo` with an option.
fn processes(option: &str) -> Vec<String> {
    let folders = fs::read_dir("/proc").expect("Linux has it").flatten();
    let numbers = folders.map(|folder| folder.file_name().to_string_lossy().into_owned());
    let is_rank = |number: &String| {
        let line = fs::read_to_string(format!("/proc/{number}/cmdline")).unwrap_or_default();
        let mut words = line.split('\0');
        words.next().is_some_and(|word| word.ends_with("/halo")) && words.any(|word| word == option)
    };
    numbers.filter(is_rank).collect()
}
