//! The speed of `emu`: the digest example's kernel compared with the `host` device.
//!
//! ```console
//! $ cargo bench -p examples --bench emu
//! ```
#![expect(clippy::print_stdout, reason = "the benchmark prints its figures")]

use std::io::Read;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Instant;

use digest_calls::{FAILED, NONE, NextFile, ReadChunk, Report};
use examples::Kernel;
use revoff_host::{Functions, Grid, Image, Runtime};

const KERNEL: Kernel = Kernel {
    folder: "digest/kernel",
    host: env!("REVOFF_IMAGE_DIGEST"),
};

fn main() {
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
