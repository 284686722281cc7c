//! A kernel in C for NVIDIA, compiled by clang.

use std::fs;
use std::path::Path;

use pieces::{check_linked, clang, is_linked, nvlink, piece, ptxas, run, said, scratch};

use super::{FUNCTIONS, TMP, compile, link_bitcode, root};

/// Architectures, and the PTX version of their pieces.
const ARCHES: [(&str, &str); 3] = [("sm_35", "63"), ("sm_70", "63"), ("sm_90", "78")];

fn flags(arch: &str, ptx: &str) -> Vec<String> {
    vec![
        "--target=nvptx64-nvidia-cuda".to_owned(),
        format!("-march={arch}"),
        "-Xclang".to_owned(),
        "-target-feature".to_owned(),
        "-Xclang".to_owned(),
        format!("+ptx{ptx}"),
        "-S".to_owned(),
    ]
}

fn borrowed(flags: &[String]) -> Vec<&str> {
    flags.iter().map(String::as_str).collect()
}

#[test]
fn bitcode() {
    const TEST: &str = "bitcode for NVIDIA";
    let Some(clang) = clang(TEST) else { return };
    let out = scratch(Path::new(TMP), "nvptx-bitcode");
    for (arch, version) in ARCHES {
        let flags = flags(arch, version);
        let ptx = out.join(format!("hello.{arch}.ptx"));

        // Without the piece, the check must fail.
        run(&mut compile(&clang, &borrowed(&flags), &ptx));
        let why = is_linked(&ptx, "hello", &FUNCTIONS).expect_err("nothing is linked");
        assert!(why.contains("GOMP_target_ext"), "{arch}: {why}");

        let bitcode = piece(root(), arch, "revoff_piece.bc");
        let mut linking = compile(&clang, &borrowed(&flags), &ptx);
        run(link_bitcode(&mut linking, &bitcode));
        check_linked(&ptx, "hello", &FUNCTIONS);
        let text = fs::read_to_string(&ptx).expect("PTX is text");
        assert!(!text.contains("revoff_teams"), "{arch}: the unused stay");

        if let Some(ptxas) = ptxas(TEST, arch) {
            let cubin = ptx.with_extension("cubin");
            let mut assemble = ptxas.command();
            assemble
                .args(["-arch", arch])
                .arg(&ptx)
                .arg("-o")
                .arg(&cubin);
            run(&mut assemble);
            check_linked(&cubin, "hello", &FUNCTIONS);
        }
    }
}

/// Links like the driver, for the newest architecture: NVIDIA's linker supports no older ones.
#[test]
fn ptx() {
    const TEST: &str = "PTX and nvlink";
    const FOR: &str = "sm_90";
    let (Some(clang), Some(ptxas), Some(nvlink)) =
        (clang(TEST), ptxas(TEST, FOR), nvlink(TEST, FOR))
    else {
        return;
    };
    let out = scratch(Path::new(TMP), "nvptx-ptx");
    let assemble = |ptx: &Path, name: &str| {
        let object = out.join(name);
        let mut command = ptxas.command();
        command.args(["-c", "-arch", FOR]);
        run(command.arg(ptx).arg("-o").arg(&object));
        object
    };
    for (arch, version) in ARCHES {
        let ptx = out.join(format!("hello.{arch}.ptx"));
        run(&mut compile(&clang, &borrowed(&flags(arch, version)), &ptx));
        let kernel = assemble(&ptx, &format!("hello.{arch}.o"));
        let device_rt = assemble(
            &piece(root(), arch, "revoff_piece.ptx"),
            &format!("revoff_piece.{arch}.o"),
        );
        let cubin = out.join(format!("hello.{arch}.cubin"));
        let link = || {
            let mut command = nvlink.command();
            command
                .args(["-arch", FOR])
                .arg(&kernel)
                .arg("-o")
                .arg(&cubin);
            command
        };
        let why = said(&mut link());
        assert!(why.contains("'GOMP_target_ext'"), "{arch}: {why}");
        run(link().arg(&device_rt));
        check_linked(&cubin, "hello", &FUNCTIONS);
    }
}

#[test]
fn cuda() {
    const TEST: &str = "CUDA without an SDK";
    let Some(clang) = clang(TEST) else { return };
    let out = scratch(Path::new(TMP), "nvptx-cuda");
    let ptx = out.join("hello.ptx");
    let flags = [
        "-x",
        "cuda",
        "--cuda-device-only",
        "--cuda-gpu-arch=sm_70",
        "--cuda-feature=+ptx63",
        "-nocudainc",
        "-nocudalib",
        "-S",
    ];
    let bitcode = piece(root(), "sm_70", "revoff_piece.bc");
    run(link_bitcode(&mut compile(&clang, &flags, &ptx), &bitcode));
    check_linked(&ptx, "hello", &FUNCTIONS);
}
