//! Calls by RPC on `host` and on emulated GPUs: each kind transfers the right bytes, from single
//! threads, whole warps, warps whose lanes diverge, and more warps than there are ports.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::sync::{Arc, Mutex};

use bench_calls::rpc::{RPC, entry};
use bench_calls::{EMPTY, TOFROM};
use bench_rpc::{Connection, Error};
use revoff_build::BuildError;
use revoff_build::device::{Assemblers, Toolchain};
use revoff_host::bus_cost::{Calls, CountCosts};
use revoff_host::targets::{DeviceArch, arch};
use revoff_host::{Builder, Functions, Grid, Image, Runtime};

/// The emulated GPUs: lanes in lock-step, and independent ones.
const EMULATED: [(&str, &str); 2] = [("emu:sm_60", "sm_60"), ("emu:sm_90", "sm_90")];

fn handler(opcode: u32, data: &mut [u8]) {
    assert!(opcode & RPC == 0);
    if let Some(first) = data.first_mut() {
        *first = first.wrapping_add(1);
    }
}

/// The benchmark's image for `host`.
fn host_image() -> Image {
    Image::open(env!("REVOFF_IMAGE_BENCH")).expect("the build script's image")
}

/// The image for a GPU, built now; `None` without a toolchain for GPUs.
fn gpu_image(name: &str) -> Option<Image> {
    let arch = arch::find(name).expect("an architecture of the table");
    let toolchain = match Toolchain::find(&[arch]) {
        Ok(toolchain) => toolchain,
        Err(why @ BuildError::NoToolchain { .. }) => {
            let _ = writeln!(std::io::stderr(), "\nSKIPPED RPC on emu: {why}");
            return None;
        }
        Err(error) => panic!("{error}"),
    };
    let crate_folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../kernels");
    let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join(arch.name);
    let assemblers = Assemblers::find().expect("assemblers, or none");
    let built = revoff_build::device::build(&toolchain, &assemblers, &crate_folder, arch, &out)
        .expect("the image builds");
    let text = fs::read(built.ptx.expect("PTX")).expect("the text");
    Some(Image::from_bytes("bench_kernels", text).expect("PTX"))
}

fn verify(device: &str, image: &Image, ports: u32, grid: Grid, rounds: u32, diverged: u32) {
    let runtime = Runtime::open(device).expect("the device");
    let program = runtime.load(image, &Functions::new()).expect("it loads");
    let _connection = Connection::open(&runtime, &program, ports, handler).expect("connected");
    let threads = (grid.teams * grid.threads) as usize;
    let right = runtime.alloc(4 * threads as u64).expect("device memory");
    let kernel = program.kernel("verify_rpc").expect("the kernel");
    // SAFETY: the parameters are the kernel's; `right` has a word for each thread, and lives until
    // the launch has ended.
    let launch = unsafe { kernel.launch(grid, &[&rounds, &diverged, &right]) };
    launch.expect("it starts").wait().expect("it ends");
    let mut found = vec![0u32; threads];
    right.read(0, &mut found).expect("the counts");
    assert_eq!(
        found,
        vec![rounds; threads],
        "{device}, {ports} ports, {}x{}, diverged: {diverged}",
        grid.teams,
        grid.threads
    );
}

fn verify_all(device: &str, image: &Image, cases: &[(u32, u32, u32)], rounds: u32) {
    for &(ports, teams, threads) in cases {
        for diverged in [0, 1] {
            let grid = Grid { teams, threads };
            verify(device, image, ports, grid, rounds, diverged);
        }
    }
}

#[test]
fn bytes_arrive_on_host() {
    // In the last case, threads wait for a port of others.
    verify_all(
        "host",
        &host_image(),
        &[(64, 1, 1), (64, 2, 4), (2, 1, 8)],
        40,
    );
}

#[test]
fn bytes_arrive_on_emulated_gpus() {
    // In the last two cases, warps and diverged lanes wait for a port of others.
    let cases = [(64, 1, 1), (64, 1, 32), (64, 2, 72), (2, 2, 64), (1, 1, 32)];
    for (device, arch) in EMULATED {
        if let Some(image) = gpu_image(arch) {
            verify_all(device, &image, &cases, 8);
        }
    }
}

/// The counts of `count` calls in each of `threads` threads.
fn costs(device: &str, image: &Image, what: u32, threads: u32, count: u64) -> Calls {
    let counted = Arc::new(Mutex::new(None));
    let sink = Arc::clone(&counted);
    let builder: Builder = Runtime::builder(device).costs(CountCosts {
        entry: entry(what).expect("a call").to_owned(),
        sink: Arc::new(move |_, costs| *sink.lock().unwrap() = Some(costs.calls.clone())),
    });
    let runtime = builder.build().expect("the device");
    let program = runtime.load(image, &Functions::new()).expect("it loads");
    let _connection = Connection::open(&runtime, &program, 64, handler).expect("connected");
    let kernel = program.kernel("repeat").expect("the kernel");
    let grid = Grid { teams: 1, threads };
    // SAFETY: the parameters are the kernel's, which accesses no memory of the launcher.
    let launch = unsafe { kernel.launch(grid, &[&(what | RPC), &count]) };
    launch.expect("it starts").wait().expect("it ends");
    counted.lock().unwrap().take().expect("it was counted")
}

#[test]
fn an_empty_call_costs_what_the_protocol_asks_for() {
    for (device, arch) in EMULATED {
        let Some(image) = gpu_image(arch) else { return };
        for threads in [1, 32] {
            let calls = costs(device, &image, EMPTY, threads, 4);
            assert_eq!(
                (calls.warp_calls, calls.lane_calls),
                (4, 4 * u64::from(threads))
            );
            let counts = &calls.counts;
            // A warp opens one port: opcode, mask and flag, whatever the number of lanes.
            assert_eq!(counts.stores.instructions, 4 * 3, "{device}: {counts:?}");
            assert_eq!(counts.stores.transactions, 4 * 3, "{device}: {counts:?}");
            // Both flags, one after the other.
            assert_eq!(counts.serial_reads, 4 * 2, "{device}: {counts:?}");
            assert!(counts.serial_polls >= 4, "{device}: {counts:?}");
            // Before the packet is filled, before the flag, and after the reply.
            assert_eq!(counts.fences.sys, 4 * 3, "{device}: {counts:?}");
            // The lock is taken and released.
            assert_eq!(counts.device_atomics, 4 * 2, "{device}: {counts:?}");
            assert_eq!(counts.atomics.instructions, 0, "{device}: {counts:?}");
        }
    }
}

#[test]
fn lanes_store_their_packets_together() {
    for (device, arch) in EMULATED {
        let Some(image) = gpu_image(arch) else { return };
        let calls = costs(device, &image, TOFROM, 32, 1);
        let stores = &calls.counts.stores;
        assert_eq!(calls.warp_calls, 1);
        // 8 words of each lane's packet, two at a time, besides opcode, mask and flag.
        assert_eq!(stores.instructions, 4 + 3, "{device}: {stores:?}");
        assert_eq!(
            stores.bytes,
            32 * 64 + 4 + 8 + 32 * 4,
            "{device}: {stores:?}"
        );
    }
}

#[test]
fn images_without_a_client_are_rejected() {
    let runtime = Runtime::open("emu").expect("the device");
    let text = ".version 7.0\n.target sm_60\n.address_size 64\n.visible .entry none() { ret; }\n";
    let image = Image::from_bytes("other.ptx", text.as_bytes()).expect("PTX");
    let program = runtime.load(&image, &Functions::new()).expect("it loads");
    let error = Connection::open(&runtime, &program, 64, handler)
        .err()
        .expect("no client");
    assert!(matches!(error, Error::NoClient { .. }), "{error}");
    assert!(
        error
            .to_string()
            .contains("other.ptx makes no calls by RPC"),
        "{error}"
    );
    assert!(matches!(runtime.arch(), DeviceArch::Emulated(_)));
}
