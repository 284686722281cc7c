//! Builds for GPUs as users run them: from a build script, and with crates that GPUs or all devices
//! reject. Each test makes its own crates in a temporary folder.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::{env, fs};

use revoff_build::BuildError;
use revoff_build::device::Toolchain;
use targets::arch;

/// A folder for crates; a second run builds faster in it.
fn place(name: &str) -> PathBuf {
    let place = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::create_dir_all(&place).expect("a temporary folder");
    place
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("the workspace")
}

/// Whether no compiler here builds for GPUs; prints that.
fn skipped(test: &str) -> bool {
    let arch = arch::find("sm_70").expect("in the table");
    let error = match Toolchain::find(&[arch]) {
        Err(error @ BuildError::NoToolchain { .. }) => error,
        found => {
            found.expect("a toolchain, or none");
            return false;
        }
    };
    let _ = writeln!(std::io::stderr(), "SKIPPED image-build {test}: {error}");
    true
}

/// A crate in `dir` with this source, which depends on `device-rt` and `more`.
fn kernel_crate(dir: &Path, source: &str) {
    fs::create_dir_all(dir.join("src")).expect("a folder");
    let manifest = format!(
        "[package]\nname = \"a-kernel\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\
         [dependencies]\nrevoff-device = {{ path = {:?} }}\n[workspace]\n",
        root().join("device-rt")
    );
    fs::write(dir.join("Cargo.toml"), manifest).expect("written");
    fs::write(dir.join("src/lib.rs"), source).expect("written");
}

const KERNEL: &str = "\
#![no_std]
#![cfg_attr(any(target_arch = \"nvptx64\", target_arch = \"amdgpu\"), feature(abi_gpu_kernel))]
revoff_device::image!();

/// # Safety
/// `to` is there.
#[revoff_device::kernel]
pub unsafe fn one(to: *mut u32) {
    unsafe { *to = 1 };
}
";

/// The error of a build of a kernel crate with this source for `arch`.
fn refusal(name: &str, source: &str, arch: &str) -> String {
    let dir = place(name);
    kernel_crate(&dir, source);
    let arch = arch::find(arch).expect("in the table");
    let toolchain = Toolchain::find(&[arch]).expect("not skipped");
    let none = revoff_build::device::Assemblers::default();
    revoff_build::device::build(&toolchain, &none, &dir, arch, &dir.join("out"))
        .expect_err("no GPU takes this")
        .to_string()
}

#[test]
fn a_forgotten_macro_is_named_without_a_gpu() {
    let dir = place("no-image");
    kernel_crate(&dir, &KERNEL.replace("revoff_device::image!();", ""));
    let error = revoff_build::host_image(&dir, &place("host-out")).expect_err("no panic handler");
    let error = error.to_string();
    assert!(error.contains("call `revoff_device::image!()`"), "{error}");
}

#[test]
fn what_no_gpu_takes_is_refused_with_the_way_out() {
    if skipped("what_no_gpu_takes_is_refused_with_the_way_out") {
        return;
    }
    let cases = [
        (
            "needs-std",
            "use std::collections::HashMap;\npub fn f() -> HashMap<u32, u32> { HashMap::new() }\n"
                .to_owned(),
            "sm_70",
            "#![no_std]",
        ),
        (
            "needs-alloc",
            "#![no_std]\nextern crate alloc;\nrevoff_device::image!();\n".to_owned(),
            "sm_70",
            "heapless",
        ),
        (
            "no-feature",
            KERNEL.replace("feature(abi_gpu_kernel)", "allow(unused)"),
            "sm_70",
            "abi_gpu_kernel",
        ),
        (
            "assembly",
            format!("{KERNEL}\npub fn f() {{ unsafe {{ core::arch::asm!(\"\") }} }}\n"),
            "gfx90a",
            "inline assembly",
        ),
    ];
    for (name, source, arch, way_out) in cases {
        let said = refusal(name, &source, arch);
        assert!(
            said.contains(&format!("`a-kernel` does not build for {arch}")),
            "{said}"
        );
        assert!(
            said.contains("hint: ") && said.contains(way_out),
            "{name}: {said}"
        );
    }
}

/// Runs cargo on a program whose build script builds the kernel crate beside it, for `sm_70` and
/// the host, with a variable set.
fn program(dir: &Path, set: Option<(&str, &str)>) -> Output {
    kernel_crate(&dir.join("kernel"), KERNEL);
    fs::create_dir_all(dir.join("src")).expect("a folder");
    let manifest = format!(
        "[package]\nname = \"a-program\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\
         [build-dependencies]\nrevoff-build = {{ path = {:?} }}\n[workspace]\n",
        env!("CARGO_MANIFEST_DIR")
    );
    fs::write(dir.join("Cargo.toml"), manifest).expect("written");
    fs::copy(root().join("Cargo.lock"), dir.join("Cargo.lock")).expect("copied");
    fs::write(
        dir.join("build.rs"),
        "fn main() {\n    revoff_build::images(\"kernel\").arch(\"sm_70\").host().build()\
         .export(\"IMAGES\");\n}\n",
    )
    .expect("written");
    fs::write(
        dir.join("src/main.rs"),
        "fn main() { print!(\"{}\", env!(\"IMAGES\")); }\n",
    )
    .expect("written");
    // The one that this test was built in, which has the dependencies.
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent();
    let mut cargo = Command::new(env!("CARGO"));
    cargo
        .args(["run", "--quiet", "--target-dir"])
        .arg(target.expect("a target directory"))
        .current_dir(dir);
    for name in [revoff_build::SKIP, revoff_build::RUSTC, "RUSTFLAGS"] {
        cargo.env_remove(name);
    }
    if let Some((name, value)) = set {
        cargo.env(name, value);
    }
    cargo.output().expect("cargo runs")
}

#[test]
fn a_build_script_builds_one_file_for_gpu_and_host() {
    if skipped("a_build_script_builds_one_file_for_gpu_and_host") {
        return;
    }
    let dir = place("program");
    let output = program(&dir, None);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    let file = fs::read(String::from_utf8_lossy(&output.stdout).as_ref()).expect("the file");
    let entries = targets::offload_binary::read(&file).expect("an offload binary");
    let held: Vec<_> = entries
        .iter()
        .map(|entry| (entry.triple, entry.arch))
        .collect();
    assert!(held.contains(&("nvptx64-nvidia-cuda", "sm_70")), "{held:?}");
    let host = targets::DeviceArch::this_machine().to_string();
    assert!(held.contains(&(&*host, "")), "{held:?}");

    // A machine that cannot build it reports that, and the variable turns the build off.
    let refused = program(&dir, Some((revoff_build::RUSTC, "/nowhere/rustc")));
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(!refused.status.success(), "{said}");
    for part in ["/nowhere/rustc", "rust-src", revoff_build::SKIP] {
        assert!(said.contains(part), "{said}");
    }
    let without = program(&dir, Some((revoff_build::SKIP, "1")));
    let said = String::from_utf8_lossy(&without.stderr);
    assert!(without.status.success(), "{said}");
    let file = String::from_utf8_lossy(&without.stdout).into_owned();
    assert_eq!(fs::metadata(file).expect("a file").len(), 0);
}

#[test]
fn a_compiler_that_is_too_old_is_named_with_its_release() {
    // The compiler that builds this test may be suitable or not; being a compiler is not enough.
    // Named by its variable alone, in a separate process.
    let dir = place("old");
    let fake = dir.join("rustc");
    fs::write(
        &fake,
        "#!/bin/sh\necho 'release: 1.80.1'\necho 'host: x86_64-unknown-linux-gnu'\n\
         echo 'LLVM version: 18.1.7'\n",
    )
    .expect("written");
    let mut permissions = fs::metadata(&fake).expect("there").permissions();
    std::os::unix::fs::PermissionsExt::set_mode(&mut permissions, 0o755);
    fs::set_permissions(&fake, permissions).expect("set");
    let output = program(
        &place("program-old"),
        Some((revoff_build::RUSTC, fake.to_str().expect("text"))),
    );
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success(), "{said}");
    assert!(
        said.contains("it is 1.80.1, and 1.96 is the oldest that will do"),
        "{said}"
    );
}

#[test]
fn crates_of_one_name_are_not_taken_for_each_other() {
    if skipped("crates_of_one_name_are_not_taken_for_each_other") {
        return;
    }
    let arch = arch::find("sm_70").expect("in the table");
    let toolchain = Toolchain::find(&[arch]).expect("not skipped");
    let none = revoff_build::device::Assemblers::default();
    let out = place("one-name");
    for kernel in ["only_in_a", "only_in_b", "only_in_a"] {
        let dir = place("one-name").join(kernel);
        kernel_crate(&dir, &KERNEL.replace("fn one(", &format!("fn {kernel}(")));
        let image =
            revoff_build::device::build(&toolchain, &none, &dir, arch, &out).expect("it builds");
        let ptx = fs::read_to_string(image.ptx.expect("there")).expect("read");
        assert!(
            ptx.contains(&format!(".entry {kernel}(")),
            "{kernel} is not in its PTX"
        );
    }
}

#[test]
fn what_is_no_kernel_crate_is_refused() {
    if skipped("what_is_no_kernel_crate_is_refused") {
        return;
    }
    let said = refusal("no-kernels", "#![no_std]\npub fn f() {}\n", "sm_70");
    assert!(
        said.contains("revoff_device::kernel") && said.contains("image!()"),
        "{said}"
    );
}
