//! GCC's tools for NVIDIA: nvptx-tools and the offload compiler.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use pieces::{
    Tool, built, check_linked, gcc, missing, nvlink, piece, ptxas, run, said, scratch, tool,
};

use targets::gcc::{Swapped, swap};

use super::{TMP, root};

const PACKAGE: &str = "gcc-12 gcc-12-offload-nvptx";
const ARCHIVE: &str = "librevoff-gcc.a";

/// An object with a kernel that uses another file's `GOMP_target_ext`, and with libgcc's variable
/// for warps.
const CALLER: &str = "\
// BEGIN PREAMBLE
.version 6.3
.target sm_35
.address_size 64
// END PREAMBLE
// BEGIN GLOBAL FUNCTION DECL: GOMP_target_ext
.extern .func GOMP_target_ext (.param .u32 a, .param .u64 b, .param .u64 c, .param .u64 d,
  .param .u64 e, .param .u64 f, .param .u32 g, .param .u64 h, .param .u64 i);
// BEGIN GLOBAL FUNCTION DEF: caller
.visible .entry caller { ret; }
// BEGIN GLOBAL VAR DEF: __nvptx_uni
.visible .shared .align 4 .u32 __nvptx_uni[32];
";

const CONTROL_VARIABLES: &str = "\
// BEGIN GLOBAL VAR DEF: __gomp_additional_icvs
.visible .global .align 4 .u64 __gomp_additional_icvs[2];
";

#[test]
fn the_linker_of_nvptx_tools() {
    const TEST: &str = "nvptx-none-ld";
    let Some(ld) = tool(TEST, "nvptx-none-ld", "nvptx-tools") else {
        return;
    };
    let out = scratch(Path::new(TMP), "gcc-ld");
    let archive = piece(root(), "sm_35", ARCHIVE);
    let library = archive
        .parent()
        .expect("the folder of the piece")
        .to_owned();
    let object = |name: &str, text: &str| {
        let path = out.join(name);
        fs::write(&path, text).expect("a file in the target folder");
        path
    };
    let caller = object("caller.o", CALLER);
    let with_variables = object("complete.o", &format!("{CALLER}{CONTROL_VARIABLES}"));
    let linked = out.join("linked.ptx");
    let link = |objects: &[&Path], library: Option<&Path>| {
        let mut command = ld.command();
        command.args(objects).arg("-o").arg(&linked);
        if let Some(library) = library {
            command.arg("-L").arg(library).arg("-lrevoff-gcc");
        }
        command
    };

    let why = said(&mut link(&[&with_variables], None));
    assert!(why.contains("unresolved symbol GOMP_target_ext"), "{why}");
    // The control variables are libgomp's: the piece links with and without them.
    for objects in [&with_variables, &caller] {
        run(&mut link(&[objects], Some(&library)));
        let text = fs::read_to_string(&linked).expect("PTX is text");
        assert!(text.contains("\n// BEGIN GLOBAL VAR DEF: __revoff_runtime\n"));
        let defines = text.contains("\n// BEGIN GLOBAL VAR DEF: __gomp_additional_icvs\n");
        assert_eq!(defines, objects == &with_variables);
    }

    // The piece for other compilers defines the control variables; it is an object, not an archive.
    let plain = piece(root(), "sm_35", "revoff_piece.ptx");
    run(&mut link(&[&caller, &plain], None));

    // Without these lines the linker finds no symbols.
    let unmarked = out.join("unmarked");
    fs::create_dir_all(&unmarked).expect("a folder in the target folder");
    let text = fs::read_to_string(&plain).expect("PTX is text");
    let unmarked = object("unmarked.o", &text.replace("// BEGIN GLOBAL", "//"));
    let why = said(&mut link(&[&caller, &unmarked], None));
    assert!(why.contains("unresolved symbol GOMP_target_ext"), "{why}");
}

#[test]
fn the_archive_lists_its_symbols() {
    const TEST: &str = "nvptx-none-nm";
    // Versions of nvptx-tools from before 2023 lack it.
    let Some(nm) = tool(TEST, "nvptx-none-nm", "nvptx-tools of trixie or newer") else {
        return;
    };
    for name in [ARCHIVE, "revoff_piece.ptx"] {
        let listed = run(nm.command().arg(piece(root(), "sm_35", name)));
        for symbol in ["T GOMP_target_ext", "D __revoff_runtime"] {
            assert!(listed.contains(symbol), "{name}: no {symbol} in\n{listed}");
        }
    }
}

#[test]
fn the_archive_is_one_to_ar() {
    let Some(ar) = tool("ar", "ar", "binutils") else {
        return;
    };
    let listed = run(ar.command().arg("t").arg(piece(root(), "sm_35", ARCHIVE)));
    // The rest of libgomp's member, if there is one.
    let rest = if gcc().is_some() { "target.o\n" } else { "" };
    assert_eq!(listed, format!("revoff_gcc.ptx\n{rest}"));
}

/// GCC itself links the archive, and NVIDIA's linker accepts the result. It also does if our
/// function replaces libgomp's later.
#[test]
fn openmp_programs() {
    const TEST: &str = "OpenMP program by GCC";
    let Some((release, gcc)) = gcc() else {
        return missing(
            TEST,
            &format!("no GCC with a compiler for NVIDIA (Debian: apt-get install {PACKAGE})"),
        );
    };
    let out = scratch(Path::new(TMP), "gcc-openmp");
    for flag in ["-UTEAMS", "-DTEAMS"] {
        let out = out.join(flag);
        let check = |linked: &[String], folder: &Path, why: &str| {
            let cubin = folder.join("linked.cubin");
            for name in ["VAR DEF: __revoff_runtime", "FUNCTION DEF: GOMP_target_ext"] {
                let line = format!("// BEGIN GLOBAL {name}\n");
                let count: usize = linked.iter().map(|text| text.matches(&line).count()).sum();
                assert_eq!(count, 1, "{why}, {flag}: {name}");
            }
            if assemble(TEST, linked, folder, &cubin) {
                check_linked(&cubin, "main$_omp_fn$0", &[]);
            }
        };

        // libgomp's own function, which ours replaces; in GCC 12 it does nothing.
        let without = device_code(&gcc, &out.join("without"), None, flag);
        let all = without.concat();
        assert!(!all.contains("__revoff_runtime"));
        assert_eq!(all.matches("FUNCTION DEF: GOMP_target_ext").count(), 1);

        for arch in ["sm_35", "sm_70", "sm_90"] {
            let archive = piece(root(), arch, ARCHIVE);
            let folder = out.join(arch);
            let linked = device_code(&gcc, &folder, archive.parent(), flag);
            check(&linked, &folder, arch);
        }

        let arch = "sm_70";
        let ptx = built(root()).join(arch).join("revoff_gcc.ptx");
        let ptx = fs::read_to_string(ptx).expect("PTX is text");
        let mut swapped = without;
        let done = swap(&mut swapped, Some(&ptx));
        // The program has control variables if GCC has them.
        assert_eq!(done, Ok(Swapped::Now), "gcc-{release}");
        let folder = out.join("swapped");
        fs::create_dir_all(&folder).expect("a folder in the target folder");
        check(&swapped, &folder, "swapped");
    }
}

/// The offload compiler's link of `gcc.c`: the text of each file. `library` is the folder of our
/// archive.
fn device_code(gcc: &Tool, folder: &Path, library: Option<&Path>, flag: &str) -> Vec<String> {
    fs::create_dir_all(folder).expect("a folder in the target folder");
    let mut options = "nvptx-none=-misa=sm_35".to_owned();
    if let Some(library) = library {
        options += &format!(" -L{} -lrevoff-gcc", library.display());
    }
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("c/gcc.c");
    let mut command: Command = gcc.command();
    command
        .current_dir(folder)
        .args(["-O2", "-fopenmp", "-foffload=nvptx-none", flag]);
    command.arg(format!("-foffload-options={options}"));
    run(command.args(["-save-temps", "-o", "program"]).arg(source));
    let linked = folder.join("program.xnvptx-none.mkoffload");
    let linked = [linked, folder.join("a.xnvptx-none.mkoffload")]
        .into_iter()
        .find(|path| path.is_file())
        .expect("GCC kept what it linked");
    // Each ends with a NUL.
    let linked = fs::read(linked).expect("it can be read");
    let linked = String::from_utf8_lossy(&linked);
    let texts = linked.split('\0').filter(|text| !text.trim().is_empty());
    texts.map(str::to_owned).collect()
}

/// Makes one cubin of all files in `linked`; false if a tool for it is missing.
fn assemble(test: &str, linked: &[String], folder: &Path, cubin: &Path) -> bool {
    const FOR: &str = "sm_90";
    let (Some(ptxas), Some(nvlink)) = (ptxas(test, FOR), nvlink(test, FOR)) else {
        return false;
    };
    let mut objects: Vec<PathBuf> = vec![];
    for text in linked {
        let ptx = folder.join(format!("{}.ptx", objects.len()));
        fs::write(&ptx, text).expect("a file in the target folder");
        let object = ptx.with_extension("o");
        let mut command = ptxas.command();
        run(command
            .args(["-c", "-arch", FOR])
            .arg(&ptx)
            .arg("-o")
            .arg(&object));
        objects.push(object);
    }
    let mut command = nvlink.command();
    run(command
        .args(["-arch", FOR])
        .args(objects)
        .arg("-o")
        .arg(cubin));
    true
}
