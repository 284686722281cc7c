//! Executes kernels with known results.
#![expect(clippy::print_stdout, reason = "a skipped test says so")]

mod assembly;
mod costs;
mod device;
mod differential;
mod faults;
mod instructions;
mod races;
mod weak;

use device::{Device, Shape, compile};
use gcn_emu::Arch;

/// The begin of every kernel in C: the number of the lane.
const PROLOGUE: &str = "
#define kernel __attribute__((amdgpu_kernel, visibility(\"protected\")))
#define global __attribute__((address_space(1)))
#define shared __attribute__((address_space(3)))
typedef unsigned u32;
typedef unsigned long u64;
static inline u32 lane(void) { return __builtin_amdgcn_workitem_id_x(); }
static inline u32 group(void) { return __builtin_amdgcn_workgroup_id_x(); }
";

/// Compiles and runs a kernel `k` in C; none if there is no compiler.
fn run_c(
    arch: Arch,
    source: &str,
    shape: Shape,
    input: &[u32],
    outputs: usize,
) -> Option<Vec<u32>> {
    let object = compile(arch, "c", source, &["-std=c23"])?;
    let device = Device::new(arch);
    let kernel = device.load(&object, "k");
    let memory = [device.memory(input), device.memory(&vec![0; outputs])];
    let result = device.run(&kernel, shape, &memory);
    result.unwrap_or_else(|fault| panic!("{arch}: {fault}"));
    Some(device.read(memory[1], outputs))
}

fn check(source: &str, shape: Shape, input: &[u32], expected: &[u32]) {
    for arch in Arch::ALL {
        let source = format!("{PROLOGUE}{source}");
        let Some(found) = run_c(arch, &source, shape, input, expected.len()) else {
            return;
        };
        assert_eq!(found, expected, "{arch}");
    }
}

#[test]
fn a_lane_stores_its_number() {
    let expected: Vec<u32> = (0..200).map(|lane| 7 + 3 * lane).collect();
    check(
        "kernel void k(global u32 *in, global u32 *out) { out[lane()] = 7 + 3 * lane(); }",
        Shape::lanes(200),
        &[0],
        &expected,
    );
}

/// LLVM keeps the array in registers, and accesses them at a distance.
#[test]
fn an_array_in_registers_is_indexed() {
    let input: Vec<u32> = (0..64).map(|lane| lane * 5 % 8).collect();
    let expected: Vec<u32> = input
        .iter()
        .map(|&at| 10 * at + if at == 7 { 60 } else { 0 })
        .collect();
    check(
        "kernel void k(global u32 *in, global u32 *out) {
            u32 words[8];
            for (u32 i = 0; i < 8; i++) words[i] = 10 * i + in[8];
            words[in[3]] += 60;
            out[lane()] = words[in[lane()]];
        }",
        Shape::lanes(64),
        &input,
        &expected,
    );
}

#[test]
fn lanes_diverge_and_loop() {
    let collatz = |mut n: u32| {
        let mut steps = 0;
        while n != 1 {
            n = if n.is_multiple_of(2) {
                n / 2
            } else {
                3 * n + 1
            };
            steps += 1;
        }
        steps
    };
    let input: Vec<u32> = (1..=100).collect();
    let expected: Vec<u32> = input.iter().map(|&n| collatz(n)).collect();
    check(
        "kernel void k(global u32 *in, global u32 *out) {
            u32 n = in[lane()], steps = 0;
            while (n != 1) { n = n % 2 ? 3 * n + 1 : n / 2; steps++; }
            out[lane()] = steps;
        }",
        Shape::lanes(100),
        &input,
        &expected,
    );
}

#[test]
fn workgroups_share_lds_and_a_barrier() {
    let input: Vec<u32> = (0..512).map(|at| at * at).collect();
    let expected: Vec<u32> = (0..512)
        .map(|at| input[at / 256 * 256 + (255 - at % 256)])
        .collect();
    check(
        "static shared u32 data[256] __attribute__((loader_uninitialized));
        kernel void k(global u32 *in, global u32 *out) {
            u32 at = group() * 256 + lane();
            data[lane()] = in[at];
            __builtin_amdgcn_fence(__ATOMIC_RELEASE, \"workgroup\");
            __builtin_amdgcn_s_barrier();
            __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, \"workgroup\");
            out[at] = data[255 - lane()];
        }",
        Shape {
            grid: 512,
            group_bytes: 1024,
            ..Shape::lanes(256)
        },
        &input,
        &expected,
    );
}

#[test]
fn lanes_have_private_memory() {
    // An index that is not known keeps the array in memory.
    let input: Vec<u32> = (0..64).map(|lane| (lane * 7 + 3) % 16).collect();
    let expected: Vec<u32> = input
        .iter()
        .enumerate()
        .map(|(lane, &at)| (0..16).filter(|other| *other != at).sum::<u32>() + 100 + lane as u32)
        .collect();
    check(
        "kernel void k(global u32 *in, global u32 *out) {
            volatile u32 array[16];
            for (u32 i = 0; i < 16; i++) array[i] = i;
            array[in[lane()]] = 100 + lane();
            u32 sum = 0;
            for (u32 i = 0; i < 16; i++) sum += array[i];
            out[lane()] = sum;
        }",
        Shape {
            private_bytes: 128,
            ..Shape::lanes(64)
        },
        &input,
        &expected,
    );
}
