//! A kernel in C for AMD, compiled by clang.

use std::path::Path;
use std::process::Command;

use pieces::{
    Tool, check_linked, check_registers, clang, is_linked, object_files, piece, run, said, scratch,
    tool,
};

use super::{FUNCTIONS, TMP, compile, link_bitcode, root};

const ARCHES: [&str; 2] = ["gfx90a", "gfx1100"];

/// LLVM's tools for code objects.
struct Tools {
    clang: Tool,
    lld: Tool,
    readelf: Tool,
    objdump: Tool,
}

impl Tools {
    fn find(test: &str) -> Option<Self> {
        Some(Self {
            clang: clang(test)?,
            lld: tool(test, "ld.lld-22", "lld-22")?,
            readelf: tool(test, "llvm-readelf-22", "llvm-22")?,
            objdump: tool(test, "llvm-objdump-22", "llvm-22")?,
        })
    }

    fn registers(&self, code_object: &Path) -> Result<(), String> {
        check_registers(&self.readelf, &self.objdump, code_object, "hello")
    }

    /// A command that links `objects` to the code object `to`.
    fn link(&self, arch: &str, objects: &[&Path], to: &Path) -> Command {
        let mut command = self.lld.command();
        command.args(["-shared", "--no-undefined"]);
        command.arg(format!("-plugin-opt=mcpu={arch}"));
        command.args(objects).arg("-o").arg(to);
        command
    }
}

fn flags(arch: &str) -> [String; 3] {
    [
        "--target=amdgcn-amd-amdhsa".to_owned(),
        format!("-mcpu={arch}"),
        "-nogpulib".to_owned(),
    ]
}

#[test]
fn bitcode() {
    let Some(tools) = Tools::find("bitcode for AMD") else {
        return;
    };
    let out = scratch(Path::new(TMP), "amdgcn-bitcode");
    for arch in ARCHES {
        let flags = flags(arch);
        let flags = flags.each_ref().map(String::as_str);
        let code_object = out.join(format!("hello.{arch}.hsaco"));
        let why = said(&mut compile(&tools.clang, &flags, &code_object));
        assert!(why.contains("GOMP_target_ext"), "{arch}: {why}");

        let bitcode = piece(root(), arch, "revoff_piece.bc");
        let mut linking = compile(&tools.clang, &flags, &code_object);
        run(link_bitcode(&mut linking, &bitcode));
        check_linked(&code_object, "hello", &FUNCTIONS);
        tools.registers(&code_object).expect(arch);
    }
}

/// An image of several files, all of which are bitcode until the linker runs.
#[test]
fn bitcode_by_the_linker() {
    let Some(tools) = Tools::find("link-time optimization for AMD") else {
        return;
    };
    let out = scratch(Path::new(TMP), "amdgcn-lto");
    for arch in ARCHES {
        let flags = flags(arch);
        let [target, cpu, library] = flags.each_ref().map(String::as_str);
        let object = out.join(format!("hello.{arch}.o"));
        let flags = [target, cpu, library, "-flto", "-c"];
        run(&mut compile(&tools.clang, &flags, &object));

        let code_object = out.join(format!("hello.{arch}.hsaco"));
        let why = said(&mut tools.link(arch, &[&object], &code_object));
        assert!(why.contains("GOMP_target_ext"), "{arch}: {why}");
        let bitcode = piece(root(), arch, "revoff_piece.bc");
        run(&mut tools.link(arch, &[&object, &bitcode], &code_object));
        check_linked(&code_object, "hello", &FUNCTIONS);
        tools.registers(&code_object).expect(arch);
    }
}

/// The reason why the pieces include no object files: they link without an error to a kernel that
/// states too few registers. If this fails, LLVM has fixed it.
#[test]
fn object_files_are_no_piece() {
    let Some(tools) = Tools::find("object files for AMD") else {
        return;
    };
    let out = scratch(Path::new(TMP), "amdgcn-object");
    for arch in ARCHES {
        let flags = flags(arch);
        let [target, cpu, library] = flags.each_ref().map(String::as_str);
        let object = out.join(format!("hello.{arch}.o"));
        run(&mut compile(
            &tools.clang,
            &[target, cpu, library, "-c"],
            &object,
        ));
        let code_object = out.join(format!("hello.{arch}.hsaco"));
        let archive = object_files(root(), arch);
        run(&mut tools.link(arch, &[&object, &archive], &code_object));
        is_linked(&code_object, "hello", &FUNCTIONS).expect("to the linker all is well");
        let why = tools.registers(&code_object).expect_err(arch);
        assert!(why.contains("registers stated"), "{arch}: {why}");
    }
}
