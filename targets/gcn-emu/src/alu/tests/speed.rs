//! The time of a wave: `cargo test --release -p revoff-gcn-emu speed -- --ignored --nocapture`.

use std::hint::black_box;
use std::time::Instant;

use super::wave::{Wave, named};

/// The masks of active lanes that are measured.
const MASKS: [(&str, u64); 5] = [
    ("all", u64::MAX),
    ("half", 0xffff_ffff),
    ("every other", 0x5555_5555_5555_5555),
    ("four", 0x0010_0200_4000_0100),
    ("one", 1 << 40),
];

#[test]
#[ignore = "measures"]
fn speed() {
    let names = "v_add_f32 v_fma_f32 v_fmac_f32 v_add_nc_u32 v_lshlrev_b32 v_cmp_lt_f32 \
        v_add_co_u32 v_add_co_ci_u32 v_cndmask_b32 v_mov_b32 v_max_f32 v_med3_f32 v_add_f64 \
        v_fma_f64 v_mul_lo_u32 v_mad_co_u64_u32 v_lshlrev_b64 v_perm_b32 v_bfe_i32 v_add_f16 \
        v_fma_f16 v_cvt_f32_u32 v_cvt_u32_f32 v_cvt_f16_f32 v_rcp_f32 v_sqrt_f32 v_exp_f32 v_sin_f32 \
        v_div_scale_f32 v_div_fmas_f32 v_div_fixup_f32 v_ldexp_f32 v_cmp_class_f32";
    print!("{:18}", "ns a wave");
    for (name, _) in MASKS {
        print!("{name:>12}");
    }
    println!();
    for name in names.split_whitespace() {
        let operation = named(name);
        let operands: Vec<u64> = (0..operation.src.len() as u64)
            .map(|at| 0x3ff0_0000_3f80_0000 + at)
            .collect();
        let mut wave = Wave::of(operation, &operands[..]);
        print!("{name:18}");
        for (_, exec) in MASKS {
            wave.exec = exec;
            const RUNS: u32 = 200_000;
            let (run, operands) = (operation.run.of_this_machine(), wave.operands());
            let start = Instant::now();
            for _ in 0..RUNS {
                // SAFETY: the operands are those of the wave, which lives longer.
                black_box(unsafe { run(black_box(&operands)) });
            }
            print!(
                "{:12.1}",
                start.elapsed().as_nanos() as f64 / f64::from(RUNS)
            );
        }
        println!();
    }
}
