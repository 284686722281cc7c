//! The speed of `emu`: instructions per second, and the digest example's kernel compared with the
//! `host` device.
//!
//! ```console
//! $ cargo bench -p examples --bench emu
//! ```
#![expect(clippy::print_stdout, reason = "the benchmark prints its figures")]

use std::io::Read;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use digest_calls::{FAILED, NONE, NextFile, ReadChunk, Report};
use examples::Kernel;
use host_rt::{Functions, Grid, Image, Runtime};
use ptx_emu::{Machine, Options, Part};

/// Integer arithmetic as in hashes: ten instructions per round.
const ROUNDS: &str = "
.version 7.0
.target sm_70
.address_size 64
.visible .entry rounds(.param .u64 out, .param .u32 count)
{
    .reg .b32 %r<8>;
    .reg .b64 %rd<3>;
    .reg .pred %p;
    ld.param.u64 %rd1, [out];
    ld.param.u32 %r1, [count];
    mov.u32 %r2, %tid.x;
    mov.u32 %r3, 0;
round:
    mad.lo.u32 %r2, %r2, 1664525, 1013904223;
    xor.b32 %r4, %r2, %r3;
    shf.l.wrap.b32 %r5, %r4, %r4, 7;
    add.u32 %r2, %r5, %r2;
    and.b32 %r6, %r2, 255;
    shr.u32 %r7, %r2, 3;
    xor.b32 %r2, %r7, %r2;
    add.u32 %r3, %r3, 1;
    setp.lt.u32 %p, %r3, %r1;
    @%p bra round;
    mul.wide.u32 %rd2, %r6, 4;
    add.u64 %rd2, %rd2, %rd1;
    st.global.u32 [%rd2], %r2;
    ret;
}
";

/// The minimum time of a measurement.
const TIME: Duration = Duration::from_millis(500);

fn main() {
    instructions("full warps", 32);
    instructions("one lane a warp", 1);
    digest();
}

const KERNEL: Kernel = Kernel {
    folder: "digest/kernel",
    host: env!("REVOFF_IMAGE_DIGEST"),
};

/// Instructions per second of one core, for warps with `lanes` lanes.
fn instructions(what: &str, lanes: u32) {
    let options = Options {
        processors: 1,
        ..Options::default()
    };
    let machine = Machine::new(options).expect("addresses");
    let part = Part {
        name: "rounds",
        text: ROUNDS,
    };
    let module = machine.load(&[part]).expect("good PTX");
    let kernel = module.kernel("rounds").expect("is there");
    let out = machine.memory().alloc(1024).expect("room");
    let params = [out.to_le_bytes().to_vec(), 20_000u32.to_le_bytes().to_vec()];
    let grid = ptx_emu::Grid {
        grid: [4, 1, 1],
        block: [lanes, 1, 1],
        shared: 0,
    };
    let (start, mut count) = (Instant::now(), 0);
    while start.elapsed() < TIME {
        let running = machine
            .launch(&module, kernel, grid, &params, Box::new(|_| {}))
            .expect("a good launch");
        running.wait(None).expect("no deadline").expect("no fault");
        count += running.instructions();
    }
    let rate = count as f64 / start.elapsed().as_secs_f64();
    println!(
        "{what}: {:.0} million lane-instructions/s on one core",
        rate / 1e6
    );
}

/// The digest kernel on both devices.
fn digest() {
    let runtime = |device| Runtime::open(device).expect("a device");
    let (host, emu) = (runtime("host"), runtime("emu"));
    let image = match KERNEL.image(&emu, None) {
        Ok(image) => image,
        Err(error) => return println!("SKIPPED digest: {error:#}"),
    };
    let emu = bytes_per_second(&emu, &image, 8 << 20);
    let image = KERNEL.image(&host, None).expect("the build script's image");
    let host = bytes_per_second(&host, &image, 256 << 20);
    println!(
        "digest: {:.1} MB/s on host, {:.2} MB/s on emu: {:.0} times slower",
        host / 1e6,
        emu / 1e6,
        host / emu
    );
}

/// 32 files of `bytes / 32` each, read by as many device threads.
fn bytes_per_second(runtime: &Runtime, image: &Image, bytes: usize) -> f64 {
    const FILES: u32 = 32;
    const CHUNK: u64 = 16 << 10;
    let file: &'static [u8] = vec![0x5a; bytes / FILES as usize].leak();
    let mut functions = Functions::new();
    let next = AtomicU32::new(0);
    let hand_out = move || match next.fetch_add(1, Ordering::Relaxed) {
        number @ 0..FILES => number,
        _ => NONE,
    };
    functions.add(NextFile::bind(hand_out)).expect("once");
    let rest = [file; FILES as usize].map(Mutex::new);
    let read = move |number: u32, buffer: &mut [u8]| {
        let mut rest = rest[number as usize].lock().expect("no reader panics");
        rest.read(buffer).map_or(FAILED, |len| len as u32)
    };
    functions.add(ReadChunk::bind(read)).expect("once");
    functions.add(Report::bind(|_, _| {})).expect("once");
    let program = runtime.load(image, &functions).expect("it loads");
    let kernel = program.kernel("digest").expect("is there");
    let alloc = |bytes| runtime.alloc(bytes).expect("room");
    let threads = u64::from(FILES);
    let (buffers, times) = (alloc(threads * CHUNK), alloc(threads * 4 * 16));
    let counts = alloc(threads * 8);
    let grid = Grid {
        teams: 2,
        threads: FILES / 2,
    };
    let start = Instant::now();
    // SAFETY: the parameters are those of `digest`, with memory for all threads, which lives until
    // the kernel has ended.
    let launch = unsafe { kernel.launch(grid, &[&buffers, &CHUNK, &times, &16u64, &counts]) };
    launch.expect("it starts").wait().expect("it ends well");
    bytes as f64 / start.elapsed().as_secs_f64()
}
