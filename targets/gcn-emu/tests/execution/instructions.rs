//! Single instructions in assembly, with known results in each lane: those that other tests meet only if
//! a compiler emits them.

use gcn_emu::{Arch, Generation, Target, WaveSize};

use crate::assembly::Assembly;
use crate::device::{Device, Shape};

/// The results of a body, which computes `v2` of each lane from its number in `v0`; none if there is no
/// compiler. `s[2:3]` has the address of the results, which are 5 before.
fn results(assembly: &Assembly, body: &str) -> Option<Vec<u32>> {
    let Target { arch, wave } = assembly.target;
    let (load, store, wait) = match arch.generation() {
        Generation::Gfx9 => ("load_dwordx2", "store_dword", "waitcnt lgkmcnt(0)"),
        Generation::Gfx11 => ("load_b64", "store_b32", "waitcnt lgkmcnt(0)"),
        Generation::Gfx12 => ("load_b64", "store_b32", "wait_kmcnt 0"),
    };
    let body = format!(
        "v_and_b32 v0, 0x3ff, v0
        s_{load} s[2:3], s[0:1], 0x0
        s_{wait}
        {body}
        v_lshlrev_b32 v7, 2, v0
        global_{store} v7, v2, s[2:3]
        s_endpgm"
    );
    let object = assembly.compile(&body)?;
    let device = Device::new(arch);
    let kernel = device.load(&object, "k");
    let lanes = match wave {
        WaveSize::Wave32 => 32,
        WaveSize::Wave64 => 64,
    };
    let out = device.memory(&vec![5; lanes]);
    let shape = Shape {
        group_bytes: 256,
        private_bytes: 16,
        ..Shape::lanes(lanes as u32)
    };
    let ran = device.run(&kernel, shape, &[out]);
    ran.unwrap_or_else(|fault| panic!("{arch}, {wave:?}: {fault}"));
    Some(device.read(out, lanes))
}

/// Checks the results of a body: `expected` is that of a lane.
fn check(target: Target, body: &str, expected: impl Fn(u32) -> u32) {
    if let Some(found) = results(&Assembly::new(target), body) {
        let expected: Vec<u32> = (0..found.len() as u32).map(expected).collect();
        assert_eq!(found, expected, "{target:?}: {body}");
    }
}

/// All architectures with each size of a wave that they have.
fn targets() -> impl Iterator<Item = Target> {
    Arch::ALL.into_iter().flat_map(|arch| {
        let waves: &[WaveSize] = match arch.generation() {
            Generation::Gfx9 => &[WaveSize::Wave64],
            Generation::Gfx11 | Generation::Gfx12 => &[WaveSize::Wave32, WaveSize::Wave64],
        };
        waves.iter().map(move |&wave| Target { arch, wave })
    })
}

/// The targets of a generation.
fn targets_of(generation: Generation) -> impl Iterator<Item = Target> {
    targets().filter(move |target| target.arch.generation() == generation)
}

fn is_gfx9(target: Target) -> bool {
    target.arch.generation() == Generation::Gfx9
}

fn lanes_of(target: Target) -> u32 {
    match target.wave {
        WaveSize::Wave32 => 32,
        WaveSize::Wave64 => 64,
    }
}

/// The text of a wait for all that is outstanding.
fn wait(target: Target) -> &'static str {
    match target.arch.generation() {
        Generation::Gfx12 => "s_wait_loadcnt_dscnt 0x0\ns_wait_storecnt 0x0",
        Generation::Gfx11 => "s_waitcnt vmcnt(0) lgkmcnt(0)\ns_waitcnt_vscnt null, 0x0",
        Generation::Gfx9 => "s_waitcnt vmcnt(0) lgkmcnt(0)",
    }
}

#[test]
fn lanes_fetch_and_send_words() {
    for target in targets() {
        let reach = match target.arch {
            Arch::Gfx1100 => 32,
            _ => lanes_of(target),
        };
        // Each lane names the lane 33 further.
        for (op, by) in [("ds_bpermute_b32", 33), ("ds_permute_b32", 2 * reach - 33)] {
            let body = format!(
                "v_lshlrev_b32 v1, 2, v0
                v_mul_u32_u24 v3, 10, v0
                {op} v2, v1, v3 offset:132
                {}",
                wait(target)
            );
            check(target, &body, |lane| {
                (lane / reach * reach + (lane % reach + by) % reach) * 10
            });
        }
        let body = format!("ds_swizzle_b32 v2, v0 offset:0x041f\n{}", wait(target));
        check(target, &body, |lane| lane ^ 1);
    }
}

#[test]
fn lanes_read_their_neighbours() {
    const ALL: &str = "row_mask:0xf bank_mask:0xf";
    for target in targets() {
        let dpp = |control: &str, expected: &dyn Fn(u32) -> u32| {
            let body = format!("v_mov_b32 v2, 77\nv_mov_b32_dpp v2, v0 {control}");
            check(target, &body, expected);
        };
        dpp(&format!("quad_perm:[3,2,1,0] {ALL}"), &|lane| lane ^ 3);
        dpp(&format!("row_shr:1 {ALL}"), &|lane| match lane % 16 {
            0 => 77,
            _ => lane - 1,
        });
        dpp(
            &format!("row_shl:2 {ALL} bound_ctrl:1"),
            &|lane| match lane % 16 {
                14 | 15 => 0,
                _ => lane + 2,
            },
        );
        dpp(
            "row_ror:4 row_mask:0xf bank_mask:0x5",
            &|lane| match lane / 4 % 4 {
                0 | 2 => lane / 16 * 16 + (lane + 12) % 16,
                _ => 77,
            },
        );
        dpp(
            "row_mirror row_mask:0x1 bank_mask:0xf",
            &|lane| match lane {
                0..16 => 15 - lane,
                _ => 77,
            },
        );
        if is_gfx9(target) {
            dpp(
                "row_bcast:15 row_mask:0xa bank_mask:0xf",
                &|lane| match lane / 16 {
                    1 | 3 => lane / 16 * 16 - 1,
                    _ => 77,
                },
            );
            dpp(
                "row_bcast:31 row_mask:0xc bank_mask:0xf",
                &|lane| match lane {
                    32.. => 31,
                    _ => 77,
                },
            );
            dpp(&format!("wave_ror:1 {ALL}"), &|lane| (lane + 63) % 64);
        } else {
            dpp(&format!("row_share:3 {ALL}"), &|lane| lane / 16 * 16 + 3);
            dpp(&format!("row_xmask:5 {ALL}"), &|lane| lane ^ 5);
            dpp("dpp8:[1,0,3,2,5,4,7,7]", &|lane| match lane % 8 {
                6 => lane + 1,
                7 => lane,
                _ => lane ^ 1,
            });
            let body = "s_mov_b32 s4, 0x76543210
                s_mov_b32 s5, 0xfedcba98
                v_permlanex16_b32 v2, v0, s4, s5";
            check(target, body, |lane| lane ^ 16);
        }
    }
}

#[test]
fn inactive_lanes_are_not_read() {
    for target in targets_of(Generation::Gfx9) {
        for (bound, expected) in [("", 77), (" bound_ctrl:1", 0)] {
            let body = format!(
                "v_mov_b32 v2, 77
                s_mov_b64 s[4:5], exec
                s_mov_b64 exec, -2
                v_mov_b32_dpp v2, v0 quad_perm:[0,0,0,0] row_mask:0xf bank_mask:0xf{bound}
                s_mov_b64 exec, s[4:5]"
            );
            check(target, &body, |lane| match lane {
                0 => 77,
                1..4 => expected,
                _ => lane / 4 * 4,
            });
        }
    }
}

#[test]
fn parts_of_registers() {
    for target in targets_of(Generation::Gfx9) {
        let sdwa = |unused: &str, expected: &dyn Fn(u32) -> u32| {
            let body = format!(
                "v_mov_b32 v2, 0x11223344
                v_mov_b32 v3, 0x00f00000
                v_add_u32_sdwa v2, v0, v3 dst_sel:BYTE_1 dst_unused:{unused} src0_sel:BYTE_0 src1_sel:WORD_1"
            );
            check(target, &body, expected);
        };
        // As a byte, 0xf0 + lane is negative until it overflows.
        let byte = |lane: u32| (0xf0 + lane) & 0xff;
        sdwa("UNUSED_PRESERVE", &|lane| 0x1122_0044 | byte(lane) << 8);
        sdwa("UNUSED_PAD", &|lane| byte(lane) << 8);
        sdwa("UNUSED_SEXT", &|lane| match lane {
            0..16 => (0xffff_fff0 + lane) << 8,
            _ => byte(lane) << 8,
        });
    }
}

#[test]
fn a_lane_number_beyond_the_wave() {
    for target in targets() {
        let add = if is_gfx9(target) {
            "v_add_u32"
        } else {
            "v_add_nc_u32"
        };
        let body = format!(
            "s_mov_b32 s4, {}
            v_readlane_b32 s5, v0, s4
            v_mov_b32 v2, 0
            v_writelane_b32 v2, 9, s4
            {add} v2, s5, v2",
            lanes_of(target) + 3
        );
        check(target, &body, |lane| if lane == 3 { 12 } else { 3 });
    }
}

/// Twice -0, and 4 times 2.
const MULTIPLIED: &str = "v_mov_b32 v3, 0x80000000
    v_mul_f32_e64 v3, v3, 1.0 mul:2
    v_add_f32_e64 v4, 1.0, 1.0 mul:4
    v_xor_b32 v2, v3, v4";

#[test]
fn results_are_multiplied_only_where_subnormal_numbers_are_flushed() {
    for target in targets() {
        let multiplied = 8f32.to_bits();
        let ignored = 0x8000_0000 | 2f32.to_bits();
        let has_ieee = target.arch.generation() != Generation::Gfx12;
        for (denormals, follows_ieee, expected) in [
            (0, 0, multiplied),
            (3, 0, ignored),
            (0, 1, if has_ieee { ignored } else { multiplied }),
        ] {
            let mut assembly =
                Assembly::new(target).with(&format!("float_denorm_mode_32 {denormals}"));
            if has_ieee {
                assembly = assembly.with(&format!("ieee_mode {follows_ieee}"));
            }
            let Some(found) = results(&assembly, MULTIPLIED) else {
                return;
            };
            assert_eq!(
                found[0], expected,
                "{target:?}, {denormals}, {follows_ieee}"
            );
        }
    }
}

#[test]
fn nans_are_clamped_to_0_as_the_mode_says() {
    let body = "v_mov_b32 v3, 0x7fc00000\nv_add_f32_e64 v2, v3, 1.0 clamp";
    for target in targets() {
        let has_mode = target.arch.generation() != Generation::Gfx12;
        for clamps in [0, 1] {
            let mut assembly = Assembly::new(target);
            if has_mode {
                assembly = assembly.with(&format!("dx10_clamp {clamps}"));
            }
            let Some(found) = results(&assembly, body) else {
                return;
            };
            let expected = if has_mode && clamps == 0 {
                0x7fc0_0000
            } else {
                0
            };
            assert_eq!(found[0], expected, "{target:?}, {clamps}");
        }
    }
}

#[test]
fn an_answer_has_as_many_registers_as_its_name_says() {
    let targets = targets_of(Generation::Gfx11).chain(targets_of(Generation::Gfx12));
    for target in targets {
        let wait = match target.arch.generation() {
            Generation::Gfx12 => "s_wait_kmcnt 0x0",
            _ => "s_waitcnt lgkmcnt(0)",
        };
        let body = format!(
            "s_mov_b32 s5, 7
            s_sendmsg_rtn_b32 s4, sendmsg(MSG_RTN_GET_DOORBELL)
            {wait}
            v_mov_b32 v2, s5"
        );
        check(target, &body, |_| 7);
    }
}

#[test]
fn atomic_operations_on_private_memory() {
    for target in targets() {
        let (store, add, load) = match target.arch.generation() {
            Generation::Gfx9 => ("store_dwordx2", "atomic_add_x2", "load_dwordx2"),
            _ => ("store_b64", "atomic_add_u64", "load_b64"),
        };
        let sum = if is_gfx9(target) {
            "v_add_u32"
        } else {
            "v_add_nc_u32"
        };
        let wait = wait(target);
        let body = format!(
            "s_mov_b64 s[4:5], src_private_base
            v_mov_b32 v4, 8
            v_mov_b32 v5, s5
            v_mov_b32 v2, v0
            v_mov_b32 v3, 100
            flat_{store} v[4:5], v[2:3]
            {wait}
            v_mov_b32 v2, -1
            v_mov_b32 v3, 1
            flat_{add} v[4:5], v[2:3]
            {wait}
            flat_{load} v[2:3], v[4:5]
            {wait}
            {sum} v2, v2, v3"
        );
        // All but lane 0 carry.
        check(target, &body, |lane| match lane {
            0 => u32::MAX.wrapping_add(101),
            _ => lane - 1 + 102,
        });
    }
}

/// The bounds of buffers: the second and fourth words of a resource of 8 records, the offset of a lane's
/// word, and the first lane that is beyond.
const BUFFERS: [(Generation, u32, u32, u32, u32); 6] = [
    (Generation::Gfx9, 0, 0, 4, 2),
    (Generation::Gfx9, 8 << 16, 0, 8, 8),
    (Generation::Gfx11, 0, 3 << 28, 4, 2),
    (Generation::Gfx12, 0, 3 << 28, 4, 2),
    (Generation::Gfx11, 8 << 16, 1 << 28, 8, 8),
    (Generation::Gfx12, 8 << 16, 1 << 28, 8, 8),
];

#[test]
fn loads_beyond_a_buffer_return_0() {
    for (generation, high, flags, bytes, end) in BUFFERS {
        for target in targets_of(generation) {
            let load = if is_gfx9(target) {
                "load_dword"
            } else {
                "load_b32"
            };
            let scalar = if generation == Generation::Gfx12 {
                "null"
            } else {
                "0"
            };
            let mode = if bytes == 8 { "idxen" } else { "offen" };
            let shift = if bytes == 8 { 0 } else { 2 };
            let body = format!(
                "s_mov_b32 s4, s2
                s_or_b32 s5, s3, {high:#x}
                s_mov_b32 s6, 8
                s_mov_b32 s7, {flags:#x}
                v_lshlrev_b32 v3, {shift}, v0
                buffer_{load} v2, v3, s[4:7], {scalar} {mode}
                {}",
                wait(target)
            );
            check(target, &body, |lane| if lane < end { 5 } else { 0 });
        }
    }
}

/// The expected result of a lane.
type Expected = fn(u32) -> u32;

#[test]
fn registers_at_a_distance() {
    for target in targets() {
        let moves: &[(&str, Expected)] = match is_gfx9(target) {
            true => &[
                (
                    "s_mov_b32 s4, 1
                    s_set_gpr_idx_on s4, gpr_idx(SRC0)
                    v_mov_b32 v2, v3
                    s_set_gpr_idx_off",
                    |lane| 3 * lane,
                ),
                (
                    "s_mov_b32 s4, 1
                    s_set_gpr_idx_on s4, gpr_idx(DST)
                    v_add_u32 v1, v3, v4
                    s_set_gpr_idx_off",
                    |lane| 5 * lane,
                ),
                (
                    "s_mov_b32 s4, 0x100
                    s_set_gpr_idx_on s4, gpr_idx(SRC1)
                    s_mov_b32 s4, 1
                    s_set_gpr_idx_idx s4
                    v_sub_u32 v2, v4, v3
                    s_set_gpr_idx_off",
                    |_| 0,
                ),
            ],
            false => &[
                ("s_mov_b32 m0, 1\nv_movrels_b32 v2, v3", |lane| 3 * lane),
                ("s_mov_b32 m0, 1\nv_movreld_b32 v1, v3", |lane| 2 * lane),
                ("s_mov_b32 m0, 1\nv_movrelsd_b32 v1, v3", |lane| 3 * lane),
                (
                    "s_mov_b32 m0, 0x20001\nv_movrelsd_2_b32 v0, v3\nv_lshrrev_b32 v0, 1, v3",
                    |lane| 3 * lane,
                ),
            ],
        };
        for (body, expected) in moves {
            let body = format!(
                "v_mov_b32 v2, 77
                v_mul_u32_u24 v3, 2, v0
                v_mul_u32_u24 v4, 3, v0
                {body}"
            );
            check(target, &body, expected);
        }
        let scalar = "s_mov_b32 s4, 40
            s_mov_b32 s5, 41
            s_mov_b32 s6, 42
            s_mov_b32 m0, 1
            s_movrels_b32 s7, s4
            s_movreld_b64 s[7:8], s[4:5]";
        let scalar = scalar.replace("s[7:8]", "s[8:9]");
        let add = if is_gfx9(target) {
            "v_add_u32"
        } else {
            "v_add_nc_u32"
        };
        let body = format!(
            "{scalar}
            v_mov_b32 v2, s7
            v_mov_b32 v3, s9
            {add} v2, v2, v3"
        );
        check(target, &body, |_| 41 + 40);
    }
}
