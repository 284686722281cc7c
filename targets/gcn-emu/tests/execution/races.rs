//! The race checker: correct code has no races, and code that lacks a wait, an invalidation or a scope has.

use std::sync::atomic::Ordering;

use gcn_emu::{Arch, FaultKind};

use crate::device::{Device, Shape, compile};

/// The begin of kernels of two workgroups.
const PROLOGUE: &str = "
typedef unsigned u32;
#define global __attribute__((address_space(1)))
#define shared __attribute__((address_space(3)))
#define kernel __attribute__((amdgpu_kernel, visibility(\"protected\")))
#define group() __builtin_amdgcn_workgroup_id_x()
#define lane() __builtin_amdgcn_workitem_id_x()
#define load(at, order, scope) __scoped_atomic_load_n(at, __ATOMIC_##order, __MEMORY_SCOPE_##scope)
#define store(at, value, order, scope) \\
  __scoped_atomic_store_n(at, value, __ATOMIC_##order, __MEMORY_SCOPE_##scope)
#define await(at, value, order, scope) \\
  while (load(at, order, scope) != (value)) __builtin_amdgcn_s_sleep(1)
";

/// Runs a kernel `k` of two workgroups under the checker; none if there is no compiler. The report of a race, if
/// there is one.
fn check(arch: Arch, source: &str, lanes: u32) -> Option<Option<String>> {
    let object = compile(arch, "c", &format!("{PROLOGUE}{source}"), &["-std=c23"])?;
    Some(check_object(arch, &object, lanes))
}

fn check_object(arch: Arch, object: &[u8], lanes: u32) -> Option<String> {
    let device = Device::checking(arch);
    let kernel = device.load(object, "k");
    let words = device.memory(&[0; 2048]);
    let shape = Shape {
        grid: 2 * lanes,
        group_bytes: kernel.descriptor().group_bytes,
        ..Shape::lanes(lanes)
    };
    match device.run(&kernel, shape, &[words]) {
        Ok(_) => None,
        Err(fault) => match &fault.kind {
            FaultKind::Race(_) => Some(fault.to_string()),
            _ => panic!("{arch}: {fault}"),
        },
    }
}

/// A message from one workgroup to another: the orders and the scope of both sides.
fn message(release: &str, acquire: &str, scope: &str) -> String {
    format!(
        "kernel void k(global u32 *words) {{
           global u32 *ready = words, *data = words + 64, *copy = words + 128;
           if (group() == 0) {{
             data[0] = 7;
             store(ready, 1, {release}, {scope});
           }} else {{
             await(ready, 1, {acquire}, {scope});
             copy[0] = data[0];
           }}
         }}"
    )
}

#[test]
fn messages_need_a_release_and_an_acquire() {
    for arch in Arch::ALL {
        for scope in ["DEVICE", "SYSTEM"] {
            for (release, acquire, is_race) in [
                ("RELEASE", "ACQUIRE", false),
                ("RELAXED", "ACQUIRE", true),
                ("RELEASE", "RELAXED", true),
            ] {
                let Some(race) = check(arch, &message(release, acquire, scope), 1) else {
                    return;
                };
                assert_eq!(
                    race.is_some(),
                    is_race,
                    "{arch}, {scope}, {release}, {acquire}: {race:?}"
                );
            }
        }
    }
}

#[test]
fn a_scope_may_be_too_narrow() {
    // Elsewhere the instructions of a workgroup's scope are those of none, or of a wider one.
    for arch in Arch::ALL {
        let Some(race) = check(arch, &message("RELEASE", "ACQUIRE", "WRKGRP"), 1) else {
            return;
        };
        assert!(race.is_some(), "{arch}");
    }
}

#[test]
fn a_report_names_both_instructions() {
    let source = message("RELAXED", "ACQUIRE", "DEVICE");
    let Some(race) = check(Arch::Gfx90a, &source, 1) else {
        return;
    };
    let race = race.expect("a race");
    for part in [
        "kernel `test`, workgroup (1, 0, 0), lane (0, 0, 0), k+0x",
        "race: 4 bytes of device memory at 0x",
        ": store by workgroup 0 wave 0 at k+0x",
        ": `global_store_dword ",
        " and load by workgroup 1 wave 0 at k+0x",
        ": `global_load_dword ",
        ": nothing orders them",
    ] {
        assert!(race.contains(part), "{part}: {race}");
    }
}

#[test]
fn workgroups_pass_order_on() {
    // One wave writes, another publishes; one awaits, another reads.
    let by_barrier = "
kernel void k(global u32 *words) {
  global u32 *ready = words, *data = words + 64, *copy = words + 256;
  if (group() == 0) {
    data[lane()] = 7;
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, \"workgroup\");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, \"workgroup\");
    if (lane() == 0) store(ready, 1, RELEASE, DEVICE);
  } else {
    if (lane() == 0) await(ready, 1, ACQUIRE, DEVICE);
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, \"workgroup\");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, \"workgroup\");
    copy[lane()] = data[lane() ^ 64];
  }
}";
    let by_lds = "
kernel void k(global u32 *words) {
  __attribute__((loader_uninitialized)) static shared u32 passed;
  global u32 *ready = words, *data = words + 64, *copy = words + 256;
  if (lane() == 0) passed = 0;
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, \"workgroup\");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, \"workgroup\");
  if (group() == 0) {
    if (lane() == 64) {
      data[0] = 7;
      store(&passed, 1, RELEASE, WRKGRP);
    } else if (lane() == 0) {
      await(&passed, 1, ACQUIRE, WRKGRP);
      store(ready, 1, RELEASE, DEVICE);
    }
  } else {
    if (lane() == 0) {
      await(ready, 1, ACQUIRE, DEVICE);
      store(&passed, 1, RELEASE, WRKGRP);
    } else if (lane() == 64) {
      await(&passed, 1, ACQUIRE, WRKGRP);
      copy[0] = data[0];
    }
  }
}";
    // As the last one, by words of global memory.
    let by_words = by_lds
        .replace(
            "__attribute__((loader_uninitialized)) static shared u32 passed;",
            "",
        )
        .replace("&passed", "words + 16 + group()")
        .replace("passed = 0", "words[16 + group()] = 0");
    for arch in Arch::ALL {
        for (how, source) in [
            ("barrier", by_barrier),
            ("LDS", by_lds),
            ("words", &by_words),
        ] {
            let Some(race) = check(arch, source, 128) else {
                return;
            };
            assert_eq!(race, None, "{arch}, {how}");
            let lacking = source.replace("await(ready, 1, ACQUIRE", "await(ready, 1, RELAXED");
            let race = check(arch, &lacking, 128).flatten();
            assert!(race.is_some(), "{arch}, {how}");
        }
    }
}

#[test]
fn atomic_operations_continue_a_release_and_do_not_race() {
    let counter = "
kernel void k(global u32 *words) {
  global u32 *count = words, *data = words + 64, *copy = words + 256;
  data[group()] = 7;
  u32 before = __scoped_atomic_fetch_add(count, 1, __ATOMIC_ORDER, __MEMORY_SCOPE_DEVICE);
  if (before == 1) copy[0] = data[0] + data[1];
}";
    for arch in Arch::ALL {
        for (order, is_race) in [("ACQ_REL", false), ("RELAXED", true)] {
            let source = counter.replace("ORDER", order);
            let Some(race) = check(arch, &source, 1) else {
                return;
            };
            assert_eq!(race.is_some(), is_race, "{arch}, {order}: {race:?}");
        }
    }
}

#[test]
fn plain_stores_race_where_they_differ_from_atomic_ones() {
    let stores = "kernel void k(global u32 *words) { words[0] = group(); }";
    for arch in Arch::ALL {
        let Some(race) = check(arch, stores, 1) else {
            return;
        };
        let differ = matches!(arch, Arch::Gfx942 | Arch::Gfx1201);
        assert_eq!(race.is_some(), differ, "{arch}: {race:?}");
    }
}

/// The host writes a word that a kernel has read before, and reads later. The scopes of the kernel's release and
/// acquire.
fn exchange(arch: Arch, release: &str, acquire: &str) -> Option<Option<String>> {
    let source = format!(
        "{PROLOGUE}
         kernel void k(global u32 *words) {{
           global u32 *ready = words, *answered = words + 64, *data = words + 128;
           u32 before = data[0];
           store(ready, 1 + before, RELEASE, {release});
           await(answered, 1, ACQUIRE, {acquire});
           words[192] = data[0];
         }}"
    );
    let object = compile(arch, "c", &source, &["-std=c23"])?;
    let device = Device::checking(arch);
    let kernel = device.load(&object, "k");
    let words = device.mapped(256);
    let word = |at: u64| device.word(words + 4 * at);
    let running = device.start(&kernel, Shape::lanes(1), &[words]);
    let running = running.expect("a valid launch");
    while word(0).load(Ordering::Acquire) == 0 {
        std::hint::spin_loop();
    }
    word(128).store(7, Ordering::Relaxed);
    word(64).store(1, Ordering::Release);
    let result = running.wait(None).expect("it has ended");
    if result.is_ok() {
        assert_eq!(word(192).load(Ordering::Relaxed), 7, "{arch}");
    }
    Some(result.err().map(|fault| match &fault.kind {
        FaultKind::Race(_) => fault.to_string(),
        _ => panic!("{arch}: {fault}"),
    }))
}

#[test]
fn exchanges_with_the_host_need_the_system_scope() {
    for arch in Arch::ALL {
        // Elsewhere both scopes have the same instructions.
        let differ = matches!(arch, Arch::Gfx90a | Arch::Gfx942 | Arch::Gfx1201);
        for (release, acquire, is_narrow) in [
            ("SYSTEM", "SYSTEM", false),
            ("DEVICE", "SYSTEM", true),
            ("SYSTEM", "DEVICE", true),
        ] {
            let Some(race) = exchange(arch, release, acquire) else {
                return;
            };
            assert_eq!(
                race.is_some(),
                is_narrow && differ,
                "{arch}, {release}, {acquire}: {race:?}"
            );
            if let Some(race) = race {
                assert!(race.contains("a store by the host"), "{race}");
            }
        }
    }
}

/// A message by instructions: how it is published after two stores, and how it is awaited.
fn instructions(publish: &str, await_ready: &str) -> String {
    format!(
        "kernel void k(global u32 *words) {{
           global u32 *ready = words, *data = words + 64, *copy = words + 128;
           if (group() == 0) {{
             __asm__ volatile(
               \"global_store_dword %0, %2, off\\n\"
               \"global_store_dword %0, %2, off offset:128\\n\"
               \"{publish}\\n\"
               \"global_store_dword %1, %2, off\\n\"
               : : \"v\"(data), \"v\"(ready), \"v\"(1) : \"memory\");
           }} else {{
             u32 seen;
             do {{
               __asm__ volatile(
                 \"global_load_dword %0, %1, off glc\\n\"
                 \"{await_ready}\\n\"
                 \"s_waitcnt vmcnt(0)\" : \"=&v\"(seen) : \"v\"(ready) : \"memory\");
             }} while (seen != 1);
             copy[0] = data[0];
           }}
         }}"
    )
}

#[test]
fn each_instruction_of_a_message_counts() {
    const WAIT: &str = "s_waitcnt vmcnt(0)";
    const DROP: &str = "s_waitcnt vmcnt(0)\\nbuffer_wbinvl1_vol";
    const DROP_BOTH: &str = "s_waitcnt vmcnt(0)\\nbuffer_gl1_inv\\nbuffer_gl0_inv";
    const WAIT_FOR_STORES: &str = "s_waitcnt_vscnt null, 0x0";
    for (arch, publish, await_ready, is_race) in [
        (Arch::Gfx90a, WAIT, DROP, false),
        // The first store is complete.
        (Arch::Gfx90a, "s_waitcnt vmcnt(1)", DROP, false),
        (Arch::Gfx90a, "s_waitcnt vmcnt(2)", DROP, true),
        (Arch::Gfx90a, "s_waitcnt lgkmcnt(0)", DROP, true),
        (Arch::Gfx90a, WAIT, WAIT, true),
        // The load may be performed after the invalidation.
        (Arch::Gfx90a, WAIT, "buffer_wbinvl1_vol", true),
        (
            Arch::Gfx90a,
            WAIT,
            "s_waitcnt vmcnt(0)\\nbuffer_invl2",
            true,
        ),
        (Arch::Gfx1100, WAIT_FOR_STORES, DROP_BOTH, false),
        (Arch::Gfx1100, "s_waitcnt_vscnt null, 0x1", DROP_BOTH, false),
        (Arch::Gfx1100, "s_waitcnt_vscnt null, 0x2", DROP_BOTH, true),
        // It waits for loads.
        (Arch::Gfx1100, WAIT, DROP_BOTH, true),
        (
            Arch::Gfx1100,
            WAIT_FOR_STORES,
            "s_waitcnt vmcnt(0)\\nbuffer_gl0_inv",
            true,
        ),
        (
            Arch::Gfx1100,
            WAIT_FOR_STORES,
            "s_waitcnt vmcnt(0)\\nbuffer_gl1_inv",
            true,
        ),
    ] {
        let source = instructions(publish, await_ready);
        let Some(race) = check(arch, &source, 1) else {
            return;
        };
        assert_eq!(
            race.is_some(),
            is_race,
            "{arch}, {publish}, {await_ready}: {race:?}"
        );
    }
}
