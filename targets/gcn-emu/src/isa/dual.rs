//! Halves of VOPD instructions, which do two operations at once. Numbers from 16 are those of the
//! second half only; `v_dual_cndmask_b32` reads VCC.

use super::row::operations;

operations! {
    /// An operation of one half of a VOPD instruction.
    DualOp;
    v_dual_fmac_f32 [_ 0x00 0x00] B32 = F32 F32;
    v_dual_fmaak_f32 [_ 0x01 0x01] B32 = F32 F32 K;
    v_dual_fmamk_f32 [_ 0x02 0x02] B32 = F32 K F32;
    v_dual_mul_f32 [_ 0x03 0x03] B32 = F32 F32;
    v_dual_add_f32 [_ 0x04 0x04] B32 = F32 F32;
    v_dual_sub_f32 [_ 0x05 0x05] B32 = F32 F32;
    v_dual_subrev_f32 [_ 0x06 0x06] B32 = F32 F32;
    v_dual_mul_dx9_zero_f32 [_ 0x07 0x07] B32 = F32 F32;
    v_dual_mov_b32 [_ 0x08 0x08] B32 = B32;
    v_dual_cndmask_b32 [_ 0x09 0x09] B32 = B32 B32;
    v_dual_max_num_f32 [_ (0x0a v_dual_max_f32) 0x0a] B32 = F32 F32;
    v_dual_min_num_f32 [_ (0x0b v_dual_min_f32) 0x0b] B32 = F32 F32;
    v_dual_dot2acc_f32_f16 [_ 0x0c 0x0c] B32 = H2 H2;
    v_dual_dot2acc_f32_bf16 [_ 0x0d 0x0d] B32 = BF2 BF2;
    v_dual_add_nc_u32 [_ 0x10 0x10] B32 = B32 B32;
    v_dual_lshlrev_b32 [_ 0x11 0x11] B32 = B32 B32;
    v_dual_and_b32 [_ 0x12 0x12] B32 = B32 B32;
}
