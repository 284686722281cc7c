//! C functions, executed by the emulator and by this machine: the results are equal.

use std::process::Command;

use gcn_emu::{Arch, Fault};

use crate::device::{Device, Shape, Tools, compile};

const FUNCTIONS: &str = include_str!("functions.c");

/// Words of input and output of each lane.
const INPUTS: usize = 16;
const OUTPUTS: usize = 16;

const LANES: usize = 256;

/// Random words, with many that are at the edges of integers and floats.
fn inputs() -> Vec<u32> {
    const EDGES: [u32; 12] = [
        0,
        1,
        0x7fff_ffff,
        0x8000_0000,
        u32::MAX,
        0x3f80_0000,
        0xbf80_0000,
        0x7f80_0000,
        0x0000_0007,
        0x4f00_0000,
        0x3ff0_0000,
        0x7fc0_0000,
    ];
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    let words = (0..LANES * INPUTS).map(|_| {
        state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
        let random = (state >> 32) as u32;
        match random % 5 {
            0 => EDGES[(state >> 40) as usize % EDGES.len()],
            1 => random >> (state >> 20 & 31),
            _ => random,
        }
    });
    words.collect()
}

/// The results of this machine.
fn native(function: &str, input: &[u32]) -> Option<Vec<u32>> {
    let clang = &Tools::find()?.clang;
    let folder = tempfile::tempdir().expect("a folder");
    let (source, program) = (folder.path().join("main.c"), folder.path().join("main"));
    let words: Vec<_> = input.iter().map(|word| format!("{word}u")).collect();
    let main = format!(
        "{FUNCTIONS}
        int printf(const char *, ...);
        static const u32 input[] = {{ {} }};
        int main(void) {{
          for (u32 lane = 0; lane < {LANES}; lane++) {{
            u32 out[OUTPUTS];
            {function}(input + lane * INPUTS, out);
            for (u32 i = 0; i < OUTPUTS; i++) printf(\"%u\\n\", out[i]);
          }}
        }}",
        words.join(",")
    );
    std::fs::write(&source, main).expect("a temporary file");
    let flags = ["-std=c23", "-O1", "-ffp-contract=off", "-w", "-lm"];
    let made = Command::new(clang)
        .args(flags)
        .arg(&source)
        .arg("-o")
        .arg(&program)
        .output()
        .expect("it was found before");
    let errors = String::from_utf8_lossy(&made.stderr);
    assert!(made.status.success(), "{errors}");
    let output = Command::new(&program).output().expect("clang made it");
    let text = String::from_utf8(output.stdout).expect("numbers");
    let words = text.lines().map(|line| line.parse().expect("a number"));
    Some(words.collect())
}

/// The index of a lane's input, one that differs in a workgroup, and one that does not.
const OF_LANE: &str = "__builtin_amdgcn_workgroup_id_x() * 128 + __builtin_amdgcn_workitem_id_x()";
const OF_WORKGROUP: &str = "__builtin_amdgcn_workgroup_id_x()";

fn compare(function: &str) {
    compare_at(function, OF_LANE, 128);
}

/// Runs workgroups of so many lanes. `index` has the index of a lane's input.
fn compare_at(function: &str, index: &str, workgroup: u32) {
    let input = inputs();
    let Some(expected) = native(function, &input) else {
        return;
    };
    let source = format!(
        "{FUNCTIONS}
        __attribute__((amdgpu_kernel, visibility(\"protected\")))
        void k(const u32 *in, u32 *out) {{
          u32 lane = {index};
          {function}(in + lane * INPUTS, out + lane * OUTPUTS);
        }}"
    );
    for arch in Arch::ALL {
        for (level, seeds) in [("-O0", &[None][..]), ("-O2", &[None, Some(1)])] {
            let flags = ["-std=c23", "-ffp-contract=off", "-w", level];
            let Some(object) = compile(arch, "c", &source, &flags) else {
                return;
            };
            for &seed in seeds {
                let device = match seed {
                    None => Device::new(arch),
                    Some(seed) => Device::weak(arch, seed, None),
                };
                let found = results(&device, &object, workgroup, &input)
                    .unwrap_or_else(|fault| panic!("{arch} {level} {function}: {fault}"));
                for (at, (found, expected)) in found.iter().zip(&expected).enumerate() {
                    let (lane, word) = (at / OUTPUTS, at % OUTPUTS);
                    let input = &input[lane * INPUTS..(lane + 1) * INPUTS];
                    assert_eq!(
                        found, expected,
                        "{arch} {level} {seed:?} {function}: word {word} of lane {lane}: \
                         {found:#x}, {expected:#x} expected, of {input:x?}"
                    );
                }
            }
        }
    }
}

/// The results of the emulator.
fn results(
    device: &Device,
    object: &[u8],
    workgroup: u32,
    input: &[u32],
) -> Result<Vec<u32>, Box<Fault>> {
    let kernel = device.load(object, "k");
    let memory = [
        device.memory(input),
        device.memory(&vec![0; LANES * OUTPUTS]),
    ];
    let shape = Shape {
        grid: LANES as u32,
        private_bytes: 16 << 10,
        // The compiler may keep arrays there.
        group_bytes: kernel.descriptor().group_bytes,
        workgroup,
    };
    device.run(&kernel, shape, &memory)?;
    Ok(device.read(memory[1], LANES * OUTPUTS))
}

#[test]
fn integers() {
    compare("integers");
}

#[test]
fn wide_integers() {
    compare("wide_integers");
}

#[test]
fn floats() {
    compare("floats");
}

#[test]
fn doubles() {
    compare("doubles");
}

#[test]
fn narrow_integers() {
    compare("narrow");
}

#[test]
fn half_floats() {
    compare("halves");
}

/// Scalar instructions compute what all lanes have in common, on gfx12 floats, too.
#[test]
fn floats_of_a_workgroup() {
    compare_at("floats", OF_WORKGROUP, 1);
    compare_at("halves", OF_WORKGROUP, 1);
    compare_at("uniform_floats", OF_WORKGROUP, 1);
}

#[test]
fn calls() {
    compare("calls");
}

#[test]
fn arrays_on_the_stack() {
    compare("stack");
}
