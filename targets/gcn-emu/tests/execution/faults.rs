//! Kernels that do what they must not.

use std::time::{Duration, Instant};

use gcn_emu::{Arch, FaultKind, Target};

use crate::assembly::Assembly;
use crate::device::{Device, Shape};

/// The fault of a kernel in assembly; none if there is no compiler.
fn fault_of(arch: Arch, body: &str) -> Option<FaultKind> {
    let object = Assembly::new(Target::new(arch)).compile(body)?;
    let device = Device::new(arch);
    let kernel = device.load(&object, "k");
    let shape = Shape {
        group_bytes: 64,
        private_bytes: 16,
        ..Shape::lanes(32)
    };
    let fault = device.run(&kernel, shape, &[]).expect_err("a fault");
    Some(fault.kind)
}

#[test]
fn a_kernel_runs_past_its_code() {
    for arch in Arch::ALL {
        let Some(kind) = fault_of(arch, "s_nop 0") else {
            return;
        };
        assert!(matches!(kind, FaultKind::NoCode(..)), "{arch}: {kind}");
    }
}

#[test]
fn words_are_no_instruction() {
    for arch in Arch::ALL {
        let Some(kind) = fault_of(arch, ".long 0xc5ffffff\ns_endpgm") else {
            return;
        };
        assert!(matches!(kind, FaultKind::Decode(_)), "{arch}: {kind}");
    }
}

#[test]
fn a_trap_ends_the_launch() {
    for arch in Arch::ALL {
        let Some(kind) = fault_of(arch, "s_trap 2\ns_endpgm") else {
            return;
        };
        assert_eq!(kind, FaultKind::Trap(2), "{arch}");
    }
}

#[test]
fn memory_that_is_not_allocated() {
    let body = "
        v_mov_b32 v0, 0x1000
        v_mov_b32 v1, 0
        global_load_dword v2, v[0:1], off
        s_endpgm";
    for arch in Arch::ALL {
        let body = match arch {
            Arch::Gfx1100 | Arch::Gfx1201 => body.replace("load_dword", "load_b32"),
            _ => body.to_owned(),
        };
        let Some(kind) = fault_of(arch, &body) else {
            return;
        };
        let expected = matches!(
            kind,
            FaultKind::Unreachable {
                address: 0x1000,
                ..
            }
        );
        assert!(expected, "{arch}: {kind}");
    }
}

#[test]
fn lds_beyond_the_launch() {
    for arch in Arch::ALL {
        let load = match arch {
            Arch::Gfx1100 | Arch::Gfx1201 => "ds_load_b32",
            _ => "ds_read_b32",
        };
        let body = format!("v_mov_b32 v0, 64\n{load} v1, v0\ns_endpgm");
        let Some(kind) = fault_of(arch, &body) else {
            return;
        };
        let FaultKind::Unreachable { what, .. } = &kind else {
            panic!("{arch}: {kind}");
        };
        assert!(what.contains("the 64 bytes of LDS"), "{arch}: {what}");
    }
}

#[test]
fn private_memory_beyond_the_launch() {
    for arch in [Arch::Gfx942, Arch::Gfx1100, Arch::Gfx1201] {
        let load = match arch {
            Arch::Gfx942 => "scratch_load_dword",
            _ => "scratch_load_b32",
        };
        let body = format!("v_mov_b32 v0, 16\n{load} v1, v0, off\ns_endpgm");
        let Some(kind) = fault_of(arch, &body) else {
            return;
        };
        let FaultKind::Unreachable { what, .. } = &kind else {
            panic!("{arch}: {kind}");
        };
        assert!(
            what.contains("the 16 bytes of private memory"),
            "{arch}: {what}"
        );
    }
}

#[test]
fn registers_that_are_not_declared() {
    for arch in Arch::ALL {
        let Some(kind) = fault_of(arch, "v_mov_b32 v50, 0\ns_endpgm") else {
            return;
        };
        let FaultKind::Register { register, .. } = &kind else {
            panic!("{arch}: {kind}");
        };
        assert_eq!(register, "v50", "{arch}");
    }
}

#[test]
fn an_endless_loop_can_be_stopped() {
    let arch = Arch::Gfx90a;
    let assembly = Assembly::new(Target::new(arch));
    let Some(object) = assembly.compile("again:\ns_branch again") else {
        return;
    };
    let device = Device::new(arch);
    let kernel = device.load(&object, "k");
    let running = device.start(&kernel, Shape::lanes(1), &[]).expect("valid");
    let soon = Instant::now() + Duration::from_millis(20);
    assert!(running.wait(Some(soon)).is_none(), "it runs");
    running.stop();
    let fault = running.wait(None).expect("an end").expect_err("a fault");
    assert_eq!(fault.kind, FaultKind::Stopped);
}

/// Loops that wait for LDS to change.
const WAITS: [&str; 2] = [
    "v_mov_b32 v2, 0
    again:
    ds_read_b32 v1, v2
    s_waitcnt lgkmcnt(0)
    v_readfirstlane_b32 s0, v1
    s_cmp_eq_u32 s0, 7
    s_cbranch_scc0 again
    s_endpgm",
    "v_mov_b32 v2, 0
    v_mov_b32 v3, 7
    v_mov_b32 v4, 8
    again:
    ds_cmpst_rtn_b32 v1, v2, v3, v4
    s_waitcnt lgkmcnt(0)
    v_readfirstlane_b32 s0, v1
    s_cmp_eq_u32 s0, 7
    s_cbranch_scc0 again
    s_endpgm",
];

#[test]
fn waves_that_wait_for_nothing() {
    for body in WAITS {
        let Some(kind) = fault_of(Arch::Gfx90a, body) else {
            return;
        };
        let FaultKind::Deadlock(report) = &kind else {
            panic!("{kind}");
        };
        assert!(
            report.contains("wave 0") && report.contains("loops"),
            "{report}"
        );
    }
}

#[test]
fn launches_out_of_bounds_are_rejected() {
    let arch = Arch::Gfx1100;
    let Some(object) = Assembly::new(Target::new(arch)).compile("s_endpgm") else {
        return;
    };
    let device = Device::new(arch);
    let kernel = device.load(&object, "k");
    let one = Shape::lanes(1);
    for (shape, what) in [
        (Shape { grid: 0, ..one }, "grid"),
        (
            Shape {
                workgroup: 1025,
                ..one
            },
            "1024",
        ),
        (
            Shape {
                group_bytes: 1 << 20,
                ..one
            },
            "LDS",
        ),
        (
            Shape {
                private_bytes: u32::MAX,
                ..one
            },
            "private",
        ),
    ] {
        let error = device
            .start(&kernel, shape, &[])
            .expect_err("out of bounds");
        assert!(error.to_string().contains(what), "{error}");
    }
}
