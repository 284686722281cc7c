//! Weak memory mode: correct code gives right results, and code without its waits or invalidations does
//! not.

use gcn_emu::{Arch, FaultKind, Ignored};

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

/// Whether data are right, as far as the kernel ends: it may wait for garbage.
fn is_right(arch: Arch, object: &[u8], seed: u64, ignored: Option<Ignored>) -> bool {
    let device = Device::weak(arch, seed, ignored);
    let kernel = device.load(object, "k");
    let words = device.memory(&[0; 2048]);
    let shape = Shape {
        grid: 2,
        ..Shape::lanes(1)
    };
    match device.run(&kernel, shape, &[words, ROUNDS.into()]) {
        Ok(_) => device.read(words + 4096, 1)[0] == 0,
        Err(fault) if matches!(fault.kind, FaultKind::Deadlock(_)) => false,
        Err(fault) => panic!("{fault}"),
    }
}

#[test]
fn messages_need_waits_and_invalidations() {
    for arch in Arch::ALL {
        let Some(object) = compile(arch, "c", MESSAGES, &["-std=c23"]) else {
            return;
        };
        for seed in 1..4 {
            assert!(is_right(arch, &object, seed, None), "{arch}, seed {seed}");
        }
        for ignored in Ignored::ALL {
            let is_caught = (1..20).any(|seed| !is_right(arch, &object, seed, Some(ignored)));
            assert!(
                is_caught,
                "{arch}: no {}, and nothing is wrong",
                ignored.name()
            );
        }
    }
}

#[test]
fn code_without_orders_is_caught() {
    for arch in Arch::ALL {
        for order in ["__ATOMIC_RELEASE", "__ATOMIC_ACQUIRE"] {
            let source = MESSAGES.replace(order, "__ATOMIC_RELAXED");
            let Some(object) = compile(arch, "c", &source, &["-std=c23"]) else {
                return;
            };
            let is_caught = (1..20).any(|seed| !is_right(arch, &object, seed, None));
            assert!(is_caught, "{arch}: no {order}, and nothing is wrong");
        }
    }
}
