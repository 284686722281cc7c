//! Images for the tests.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// The image of `revoff bench`: its kernels and functions have declarations.
pub(crate) const BENCH: &str = env!("REVOFF_IMAGE_BENCH");

/// The example in C.
pub(crate) struct Hello {
    pub(crate) image: PathBuf,
    pub(crate) functions: PathBuf,
}

/// Builds the example in C as its makefile does, once per test program.
pub(crate) fn hello() -> &'static Hello {
    static HELLO: OnceLock<Hello> = OnceLock::new();
    HELLO.get_or_init(|| {
        let (image, functions) = (out().join("hello.so"), out().join("hello_host.so"));
        link(&root().join("examples/c/hello.c"), &image);
        let source = root().join("examples/c/hello_host.c");
        cc(Command::new("cc")
            .args(["-shared", "-o"])
            .arg(&functions)
            .arg(source));
        Hello { image, functions }
    })
}

/// Builds an image from C source.
pub(crate) fn link(source: &Path, image: &Path) {
    cc(Command::new("cc")
        .args(["-shared", "-Wl,-Bsymbolic", "-I"])
        .arg(root().join("shared-abi/include"))
        .arg("-o")
        .arg(image)
        .arg(source)
        .arg("-Wl,--whole-archive")
        .arg(device_library())
        .arg("-Wl,--no-whole-archive"));
}

/// Builds a shared object from C source, without the device library.
pub(crate) fn link_alone(source: &Path, image: &Path) {
    cc(Command::new("cc")
        .args(["-shared", "-I"])
        .arg(root().join("shared-abi/include"))
        .arg("-o")
        .arg(image)
        .arg(source));
}

pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The folder for built images. Each test program has its own, because two may build at the same
/// time.
fn out() -> PathBuf {
    let program = std::env::current_exe().expect("the test's path");
    let name = format!(
        "images-{}",
        program.file_name().unwrap_or_default().display()
    );
    let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir_all(&out).expect("a folder for the images");
    out
}

/// The static library for images in C, built once.
fn device_library() -> &'static Path {
    static LIBRARY: OnceLock<PathBuf> = OnceLock::new();
    LIBRARY.get_or_init(|| {
        revoff_build::host_library(&root().join("device-rt/linkable"), &out())
            .expect("the device library builds")
    })
}

fn cc(command: &mut Command) {
    command.args(["-O2", "-Wall", "-Wextra", "-Werror", "-fPIC"]);
    match command.status() {
        Ok(status) => assert!(status.success(), "the C compiler failed: {status}"),
        Err(error) => panic!("these tests need a C compiler called cc (install gcc): {error}"),
    }
}
