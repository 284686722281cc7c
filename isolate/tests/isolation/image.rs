//! Images for the device `host`: native code.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use revoff_host::{Functions, Grid, Image, KernelArg, Runtime};
use revoff_isolate::{Error, Isolated, Job, JobError, Sandbox};
use tempfile::TempDir;

pub(crate) const LAUNCH: Job = Job::new("launch", launch);

const SOURCE: &str = "#include <stdlib.h>\n\
     void adds(void **p) { ++**(long **)p[0]; }\n\
     void writes_to_null(void **p) { (void)p; *(volatile int *)8 = 1; }\n\
     void aborts(void **p) { (void)p; abort(); }\n\
     void exits(void **p) { (void)p; exit(5); }\n";

/// Launches the kernel `KERNEL` of an image, `IMAGE KERNEL`, and returns its number.
fn launch(isolated: Isolated) -> Result<Vec<u8>, JobError> {
    let text = String::from_utf8(isolated.input)?;
    let (image, kernel) = text.split_once(' ').ok_or("two words")?;
    let runtime = Runtime::builder("host").build()?;
    let number = add(&runtime, Path::new(image), kernel)?;
    Ok(number.to_ne_bytes().to_vec())
}

fn add(runtime: &Runtime, image: &Path, kernel: &str) -> Result<u64, JobError> {
    let image = Image::open(image)?;
    let kernel = runtime.load(&image, &Functions::new())?.kernel(kernel)?;
    let buffer = runtime.alloc(8)?;
    buffer.write(0, &41u64.to_ne_bytes())?;
    let address = buffer.address().0;
    let args: [&dyn KernelArg; 1] = [&address];
    let grid = Grid {
        teams: 1,
        threads: 1,
    };
    // SAFETY: the kernels of the image take an address of a number, or look at nothing; the buffer lives
    // until the launch has ended.
    unsafe { kernel.launch(grid, &args) }?.wait()?;
    let mut bytes = [0; 8];
    buffer.read(0, &mut bytes)?;
    Ok(u64::from_ne_bytes(bytes))
}

fn build() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a folder");
    let (source, image) = (folder.path().join("i.c"), folder.path().join("broken.so"));
    fs::write(&source, SOURCE).expect("written");
    let status = Command::new("cc")
        .args(["-shared", "-fPIC", "-O2", "-o"])
        .args([&image, &source])
        .status()
        .expect("this test needs a C compiler called cc (install gcc)");
    assert!(status.success(), "{status}");
    (folder, image)
}

pub(crate) fn a_broken_image_takes_nothing_down() {
    let (_folder, image) = build();
    // It has its own runtime, whose launches go on while those of the others crash.
    let bystander = Runtime::builder("host").build().expect("a runtime");
    let sandbox = Sandbox::new().image(&image);
    let run = |kernel: &str| {
        let input = format!("{} {kernel}", image.display());
        LAUNCH.run(&sandbox, input.as_bytes())
    };
    std::thread::scope(|scope| {
        let crashing = scope.spawn(|| {
            for (kernel, signal) in [("writes_to_null", libc::SIGSEGV), ("aborts", libc::SIGABRT)] {
                let error = run(kernel).expect_err(kernel);
                let message = error.to_string();
                let is_it = matches!(error, Error::Killed { signal: it, .. } if it == signal);
                assert!(is_it, "{message}");
                assert!(message.contains("broken.so"), "{message}");
            }
            let error = run("exits").expect_err("it exits");
            assert!(matches!(error, Error::Exited { status: 5, .. }), "{error}");
        });
        let mut count = 0;
        while !crashing.is_finished() || count == 0 {
            assert_eq!(add(&bystander, &image, "adds").expect("a launch"), 42);
            count += 1;
        }
        crashing.join().expect("as expected");
    });
    assert_eq!(run("adds").expect("a result"), 42u64.to_ne_bytes());
}
