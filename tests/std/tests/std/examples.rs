//! The example programs with unmodified crates: on a device they do the same as on this machine.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Output, Stdio};

use std_tests::{EXAMPLES, PRIMES, Package, devices, run_with};

/// A folder with text to search.
const TEXTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs");

#[test]
fn grep() {
    for pattern in [
        r"(?i)\b(wait|read)(s|ing)?\b.*\.$",
        "no such words anywhere",
    ] {
        for device in devices(&["host"]) {
            same(&EXAMPLES, &device, "grep", &[pattern, TEXTS], b"");
        }
    }
    for device in devices(&["host"]) {
        let output = same(&EXAMPLES, &device, "grep", &["(", TEXTS], b"");
        assert!(!output.status.success());
    }
}

#[test]
fn orders() {
    let orders: Vec<_> = (0..2000)
        .map(|n| {
            format!(
                r#"{{"customer": "Größe {}", "items": [{{"price": {}.5, "count": 2}}, {{"price": 1e2}}]}}"#,
                n % 7,
                n % 100
            )
        })
        .collect();
    let text = format!("[{}]", orders.join(","));
    for device in devices(&["host"]) {
        let output = same(&EXAMPLES, &device, "orders", &[], text.as_bytes());
        assert!(output.status.success(), "{output:?}");
        let output = same(&EXAMPLES, &device, "orders", &[], &text.as_bytes()[..1000]);
        assert!(!output.status.success(), "{output:?}");
    }
}

#[test]
fn gzip() {
    let text = fs::read(EXAMPLES.path("Cargo.lock")).expect("a file");
    let text = text.repeat(20);
    for device in devices(&["host"]) {
        let packed = same(&EXAMPLES, &device, "gzip", &[], &text).stdout;
        assert!(packed.len() < text.len() / 2);
        assert_eq!(
            same(&EXAMPLES, &device, "gzip", &["-d"], &packed).stdout,
            text
        );
        let cut = same(
            &EXAMPLES,
            &device,
            "gzip",
            &["-d"],
            &packed[..packed.len() / 2],
        );
        assert!(!cut.status.success());
    }
}

#[test]
fn primes() {
    devices(&["host", "emu"])
        .iter()
        .for_each(|device| primes_on(device));
}

fn primes_on(device: &str) {
    let limit = if device == "host" { "20000" } else { "2000" };
    let output = same(&PRIMES, device, "primes", &[limit], b"");
    assert!(output.status.success(), "{output:?}");
}

/// An AMD GPU, where the builder gives a program its stacks in another way than on NVIDIA's.
mod amd {
    use super::*;

    const DEVICE: &str = "emu:gfx90a";

    #[test]
    fn primes() {
        primes_on(DEVICE);
    }

    #[test]
    fn a_stack_that_is_too_small() {
        let options = ["--stack", "32K", "--", "2000"];
        let output = run_with(&mut PRIMES.on(DEVICE, "primes", &options), b"");
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(errors.contains("stack overflow"), "{errors}");
        assert_eq!(output.status.code(), Some(128 + libc::SIGABRT), "{errors}");
    }
}

/// A server on the device for a client here, and the other way round.
#[test]
fn http() {
    devices(&["host"])
        .iter()
        .for_each(|device| http_with(device));
}

fn http_with(device: &str) {
    let device = Place::Device(device);
    for (server, client) in [(device, Place::Here), (Place::Here, device)] {
        let (_server, url) = serve(server);
        let file = "src/bin/get.rs";
        let got = run_with(client.command("get").arg(format!("{url}{file}")), b"");
        assert!(got.status.success(), "{got:?}");
        assert_eq!(got.stdout, fs::read(EXAMPLES.path(file)).expect("a file"));
        let errors = String::from_utf8_lossy(&got.stderr);
        assert!(errors.contains("200 OK"), "{errors}");
        let got = run_with(client.command("get").arg(format!("{url}../secret")), b"");
        assert_eq!(got.status.code(), Some(1), "{got:?}");
    }
    let got = run_with(device.command("get").arg("http://127.0.0.1:1/"), b"");
    let errors = String::from_utf8_lossy(&got.stderr);
    assert!(errors.contains("Connection refused"), "{errors}");
}

/// Where a program runs.
#[derive(Clone, Copy)]
enum Place<'a> {
    Here,
    Device(&'a str),
}

impl Place<'_> {
    fn command(self, program: &str) -> Command {
        match self {
            Place::Here => EXAMPLES.here(program),
            Place::Device(device) => EXAMPLES.on(device, program, &["--"]),
        }
    }
}

/// A server that ends with the value.
struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Serves the folder of the examples, at an address that the system chooses.
fn serve(place: Place<'_>) -> (Server, String) {
    let mut command = place.command("serve");
    let mut child = command
        .arg("127.0.0.1:0")
        .arg(EXAMPLES.path(""))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .expect("it runs");
    let out = child.stdout.take().expect("it is piped");
    let server = Server(child);
    let mut url = String::new();
    BufReader::new(out).read_line(&mut url).expect("a line");
    (server, url.trim_end().to_owned())
}

/// Runs a program here and on a device. Both do the same. Returns what it did.
fn same(
    package: &Package,
    device: &str,
    program: &str,
    arguments: &[&str],
    input: &[u8],
) -> Output {
    let here = run_with(package.here(program).args(arguments), input);
    let there = run_with(package.on(device, program, &["--"]).args(arguments), input);
    let name = format!("{program} {arguments:?} on {device}: {there:?}");
    assert_eq!(here.stdout, there.stdout, "{name}");
    assert_eq!(here.status.code(), there.status.code(), "{name}");
    let last = |output: &Output| {
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        errors.lines().last().unwrap_or_default().to_owned()
    };
    if !last(&here).is_empty() {
        assert_eq!(last(&here), last(&there), "{name}");
    }
    there
}
