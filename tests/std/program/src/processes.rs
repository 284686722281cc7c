//! Pipes and child processes.

use std::env;
use std::fs::File;
use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;

pub fn pipes() {
    let (mut reader, mut writer) = io::pipe().expect("a pipe");
    let mut clone = writer.try_clone().expect("cloned");
    let threads = [
        // More than a pipe holds.
        thread::spawn(move || writer.write_all(&[1; 200_000]).expect("written")),
        thread::spawn(move || clone.write_all(&[2; 100_000]).expect("written")),
    ];
    let mut bytes = Vec::new();
    println!("{:?}", reader.read_to_end(&mut bytes));
    for value in [1, 2] {
        println!("{}", bytes.iter().filter(|byte| **byte == value).count());
    }
    for thread in threads {
        thread.join().expect("joined");
    }
    println!("{:?}", reader.read(&mut [0]));

    let (reader, mut writer) = io::pipe().expect("a pipe");
    drop(reader);
    println!("{:?}", writer.write(b"x"));
}

/// A shell that runs a script.
fn shell(script: &str) -> Command {
    let mut command = Command::new("sh");
    command.arg("-c").arg(script);
    command
}

pub fn children(folder: &str) {
    outputs();
    statuses();
    surroundings(folder);
    streams(folder);
    errors();
    println!(
        "{:?}",
        shell("exit 3")
            .env("A", "b c")
            .env_remove("B")
            .current_dir("/")
    );
}

fn outputs() {
    let output = shell("echo out; echo err >&2").output().expect("it runs");
    println!("{output:?}");
    println!("{}", output.status.success());
    // More than the pipes hold, in turn.
    let script = "for n in 1 2 3; do head -c 100000 /dev/zero; head -c 100000 /dev/zero >&2; done";
    let output = shell(script).output().expect("it runs");
    println!("{} {}", output.stdout.len(), output.stderr.len());

    let mut child = Command::new("cat")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("it runs");
    println!("{}", child.id() > 0);
    let mut stdin = child.stdin.take().expect("piped");
    let writer = thread::spawn(move || stdin.write_all(&[b'x'; 300_000]).expect("written"));
    let output = child.wait_with_output().expect("it ends");
    writer.join().expect("joined");
    println!("{} {}", output.status, output.stdout.len());

    // A child that reads the output of another.
    let mut first = shell("echo from the first")
        .stdout(Stdio::piped())
        .spawn()
        .expect("it runs");
    let mut second = Command::new("cat");
    second.stdin(first.stdout.take().expect("piped"));
    let second = second.output().expect("it runs");
    println!(
        "{:?} {}",
        String::from_utf8_lossy(&second.stdout),
        first.wait().expect("it ends")
    );

    let (mut reader, writer): (PipeReader, PipeWriter) = io::pipe().expect("a pipe");
    let mut command = shell("echo to a pipe; echo also >&2");
    command
        .stdout(writer.try_clone().expect("cloned"))
        .stderr(writer);
    let mut child = command.spawn().expect("it runs");
    drop(command);
    let mut text = String::new();
    reader.read_to_string(&mut text).expect("text");
    println!("{text:?} {}", child.wait().expect("it ends"));
}

fn statuses() {
    for script in [
        "exit 0",
        "exit 7",
        "exit 255",
        "kill -TERM $$",
        "kill -KILL $$",
    ] {
        let status = shell(script).status().expect("it runs");
        println!(
            "{script}: {status} {:?} {}",
            status.code(),
            status.success()
        );
    }
    let mut child = waiting();
    println!("{:?}", child.try_wait());
    println!("{:?}", child.kill());
    println!("{:?}", child.wait());
    println!("{:?} {:?}", child.try_wait(), child.kill());
    let mut child = waiting();
    drop(child.stdin.take());
    println!("{:?} {:?}", child.wait(), child.id() > 0);
}

/// A child that waits until its input ends.
fn waiting() -> Child {
    let mut command = Command::new("cat");
    command.stdin(Stdio::piped()).stdout(Stdio::null());
    command.spawn().expect("it runs")
}

fn surroundings(folder: &str) {
    let text = |command: &mut Command| {
        let output = command.output().expect("it runs");
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    println!(
        "{}",
        text(shell("pwd -P").current_dir(folder)) == format!("{folder}\n")
    );
    let before = env::current_dir().expect("a folder");
    env::set_current_dir(folder).expect("changed");
    println!("{}", text(&mut shell("pwd -P")) == format!("{folder}\n"));
    std::fs::create_dir("below").expect("created");
    println!(
        "{}",
        text(shell("pwd -P").current_dir("below")) == format!("{folder}/below\n")
    );
    env::set_current_dir(before).expect("changed");

    // SAFETY: there is only one thread.
    unsafe { env::set_var("REVOFF_OWN", "of the program") };
    println!("{:?}", text(&mut shell("echo $REVOFF_OWN")));
    println!(
        "{:?}",
        text(shell("echo $REVOFF_OWN").env("REVOFF_OWN", "of the child"))
    );
    println!(
        "{:?}",
        text(shell("echo ${REVOFF_OWN-unset}").env_remove("REVOFF_OWN"))
    );
    println!(
        "{:?}",
        text(
            Command::new("/usr/bin/env")
                .env_clear()
                .env("ONLY", "a=b\nc")
        )
    );
    let odd = ["", "two words", "ünï", "a=b", "*"];
    println!("{:?}", text(Command::new("printf").arg("[%s]").args(odd)));

    // The program's own PATH, or the child's.
    let script = Path::new(folder).join("own-command");
    std::fs::write(&script, "#!/bin/sh\necho own command\n").expect("written");
    let mode = shell("chmod 755 own-command").current_dir(folder).status();
    println!("{:?}", mode.expect("it runs").code());
    println!("{:?}", Command::new("own-command").output().map(drop));
    println!(
        "{:?}",
        text(Command::new("own-command").env("PATH", folder))
    );
}

fn streams(folder: &str) {
    // Text of this program before and behind stays there.
    println!("before");
    println!("{}", shell("echo inherited").status().expect("it runs"));
    println!(
        "{}",
        shell("echo as error >&2")
            .stderr(io::stdout())
            .status()
            .expect("it runs")
    );
    println!(
        "{}",
        shell("echo dropped")
            .stdout(Stdio::null())
            .status()
            .expect("it runs")
    );
    println!(
        "{}",
        shell("cat").stdin(Stdio::null()).status().expect("it runs")
    );
    println!("{}", shell("head -c 7").status().expect("it runs"));

    let path = Path::new(folder).join("output");
    let file = File::create(&path).expect("created");
    println!(
        "{}",
        shell("echo to a file")
            .stdout(file)
            .status()
            .expect("it runs")
    );
    let file = File::open(&path).expect("opened");
    println!("{}", shell("cat").stdin(file).status().expect("it runs"));
}

fn errors() {
    for program in ["no-such-program", "/", "/etc/passwd", ""] {
        println!("{program}: {:?}", Command::new(program).status());
    }
    println!(
        "{:?}",
        shell("true").current_dir("/no/such/folder").status()
    );
    println!("{:?}", shell("true").current_dir("").status());
    for command in [
        Command::new("a\0b").arg("c"),
        shell("true").arg("a\0b"),
        shell("true").env("a", "b\0c"),
        shell("true").current_dir("a\0b"),
    ] {
        println!("{:?}", command.status());
    }
}

pub fn denied() {
    println!("{:?}", shell("true").status());
    println!("{:?}", shell("true").output());
    let (mut reader, mut writer) = io::pipe().expect("a pipe needs no permission");
    writer.write_all(b"x").expect("written");
    println!("{:?}", reader.read(&mut [0]));
}
