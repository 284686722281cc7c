//! Interpolation of parameters: VINTERP.

use super::row::operations;

operations! {
    /// An interpolation.
    InterpOp;
    v_interp_p10_f32         [_ 0x00 0x00] B32 = F32 F32 F32;
    v_interp_p2_f32          [_ 0x01 0x01] B32 = F32 F32 F32;
    v_interp_p10_f16_f32     [_ 0x02 0x02] B32 = F16 F32 F16;
    v_interp_p2_f16_f32      [_ 0x03 0x03] F16 = F16 F32 F32;
    v_interp_p10_rtz_f16_f32 [_ 0x04 0x04] B32 = F16 F32 F16;
    v_interp_p2_rtz_f16_f32  [_ 0x05 0x05] F16 = F16 F32 F32;
}
