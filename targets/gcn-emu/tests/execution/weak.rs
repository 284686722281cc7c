//! Weak memory mode: correct code gives right results, and code without its waits or invalidations does
//! not.

use gcn_emu::{Arch, Op, Target, decode, isa};

use crate::device::{Device, Shape, compile};

/// Rounds of a message from one workgroup to another.
const ROUNDS: u32 = 50;

/// A workgroup stores data and publishes them; another one waits for that, reads the data and answers.
const MESSAGES: &str = "
typedef unsigned u32;
#define global __attribute__((address_space(1)))
static void publish(global u32 *at, u32 value) {
  __atomic_store_n(at, value, __ATOMIC_RELEASE);
}
static void await(global u32 *at, u32 value) {
  while (__atomic_load_n(at, __ATOMIC_ACQUIRE) != value)
    __builtin_amdgcn_s_sleep(1);
}
__attribute__((amdgpu_kernel, visibility(\"protected\")))
void k(global u32 *words, u32 rounds) {
  global u32 *ready = words, *answered = words + 64, *data = words + 128, *wrong = words + 1024;
  for (u32 i = 1; i <= rounds; i++) {
    if (__builtin_amdgcn_workgroup_id_x() == 0) {
      for (u32 at = 0; at < 4; at++) data[32 * at] = i + at;
      publish(ready, i);
      await(answered, i);
    } else {
      await(ready, i);
      for (u32 at = 0; at < 4; at++) *wrong += data[32 * at] != i + at;
      publish(answered, i);
    }
  }
}";

/// Replaces instructions of the code by ones without effect; returns how many.
fn remove(object: &mut [u8], arch: Arch, is_removed: impl Fn(Op) -> bool) -> usize {
    use object::{Object, ObjectSection};
    const NOP: u32 = 0xbf80_0000;
    let file = object::File::parse(&*object).expect("an ELF file");
    let text = file.section_by_name(".text").expect("code");
    let (start, len) = text.file_range().expect("in the file");
    let code = &mut object[start as usize..(start + len) as usize];
    let words: Vec<u32> = code
        .as_chunks()
        .0
        .iter()
        .map(|&word| u32::from_le_bytes(word))
        .collect();
    let (mut at, mut removed) = (0, 0);
    while at < words.len() {
        let Ok(inst) = decode(Target::new(arch), 4 * at as u64, &words[at..]) else {
            at += 1;
            continue;
        };
        if is_removed(inst.op) {
            removed += 1;
            for word in at..at + usize::from(inst.words) {
                code[4 * word..4 * word + 4].copy_from_slice(&NOP.to_le_bytes());
            }
        }
        at += usize::from(inst.words);
    }
    removed
}

/// The number of wrong data, if the kernel ends.
fn wrong(arch: Arch, object: &[u8], seed: u64) -> Option<u32> {
    let device = Device::weak(arch, seed);
    let kernel = device.load(object, "k");
    let words = device.memory(&[0; 2048]);
    let shape = Shape {
        grid: 2,
        ..Shape::lanes(1)
    };
    device.run(&kernel, shape, &[words, ROUNDS.into()]).ok()?;
    Some(device.read(words + 4096, 1)[0])
}

/// Whether an instruction makes later loads find the content of memory.
fn invalidates(op: Op) -> bool {
    matches!(op, Op::Buffer(_) | Op::Flat(_)) && op.row().name.contains("inv")
}

/// Whether an instruction waits for stores.
fn waits(op: Op) -> bool {
    matches!(
        op,
        Op::Sopp(isa::SoppOp::s_waitcnt | isa::SoppOp::s_wait_storecnt)
            | Op::Sopk(isa::SopkOp::s_waitcnt_vscnt)
    )
}

#[test]
fn messages_need_waits_and_invalidations() {
    for arch in Arch::ALL {
        let Some(object) = compile(arch, "c", MESSAGES, &["-std=c23"]) else {
            return;
        };
        for seed in 1..4 {
            assert_eq!(wrong(arch, &object, seed), Some(0), "{arch}, seed {seed}");
        }
        for (what, is_removed) in [
            ("waits", waits as fn(Op) -> bool),
            ("invalidations", invalidates),
        ] {
            let mut broken = object.clone();
            assert_ne!(
                remove(&mut broken, arch, is_removed),
                0,
                "{arch} has {what}"
            );
            // A kernel that waits for garbage ends with a fault.
            let is_caught = (1..20).any(|seed| wrong(arch, &broken, seed) != Some(0));
            assert!(is_caught, "{arch}: no {what}, and nothing is wrong");
        }
    }
}
