//! PTX.

use revoff_host::targets::{gcc, ptx};

use crate::target::Target;

/// The statements of a text.
pub(super) const STATEMENTS: Target = Target {
    name: "ptx-statements",
    run: |bytes| {
        for item in ptx::items(bytes).unwrap_or_default() {
            let _ = (item.name(), item.kind(), item.linkage());
            let _ = (item.is_function(), item.is_definition());
        }
        let _ = gcc::wire([bytes]);
    },
    seeds,
    is_valid: |bytes| ptx::items(bytes).is_ok_and(|items| items.len() > 1),
    cost: 1,
    tally: None,
};

/// Cutting libgomp's function out of an image by GCC. An image that was cut has nothing left to cut.
pub(super) const CUT: Target = Target {
    name: "ptx-cut",
    run: |bytes| {
        let Ok(text) = str::from_utf8(bytes) else {
            return;
        };
        let _ = gcc::target_ext_alone(text);
        if let Ok(cut) = gcc::without_target_ext(text) {
            assert!(gcc::without_target_ext(&cut).is_err(), "{cut}");
        }
        let mut texts = vec![text.to_owned()];
        let _ = gcc::swap(&mut texts, Some(text));
    },
    seeds: || vec![BY_GCC.as_bytes().to_vec()],
    is_valid: |bytes| {
        let text = str::from_utf8(bytes);
        text.is_ok_and(|text| gcc::without_target_ext(text).is_ok())
    },
    cost: 1,
    tally: None,
};

/// The emulator's parser.
pub(super) const TEXT: Target = Target {
    name: "ptx-text",
    run: |bytes| {
        if let Ok(text) = str::from_utf8(bytes)
            && let Err(error) = ptx_emu::check("fuzzed", text)
        {
            assert!(!error.to_string().is_empty());
        }
    },
    seeds,
    is_valid: |bytes| {
        let text = str::from_utf8(bytes);
        text.is_ok_and(|text| ptx_emu::check("seed", text).is_ok())
    },
    cost: 1,
    tally: None,
};

/// A text that uses many forms of statements and operands.
pub(super) const SEED: &str = r#"
.version 6.3
.target sm_70
.address_size 64
.file 1 "it.c"
.visible .global .align 8 .b8 __revoff_image[16] = {114, 101, 118, 111, 102, 102, 0, 0, 1, 0, 0, 0, 14};
.visible .global .align 8 .b8 __revoff_fn_greet[8] = {136, 119, 102, 85, 68, 51, 34, 17};
.visible .global .align 8 .u64 table[2] = {greet, generic(__revoff_image)};
.extern .func (.param .b32 out) greet (.param .b64 in);
.visible .func (.param .b32 r) double (.param .b32 x) { .reg .b32 %a; ld.param.u32 %a, [x]; add.u32 %a, %a, %a;
    st.param.b32 [r], %a; ret; }
.visible .entry hello(.param .u64 out, .param .u32 n) .maxntid 32, 1, 1
{
    .reg .pred %p<3>;
    .reg .b32 %r<4>;
    .reg .b64 %d<3>;
    .reg .f32 %f;
    .local .align 4 .b8 frame[16];
    ld.param.u64 %d1, [out];
    ld.param.u32 %r1, [n];
    mov.u32 %r2, %tid.x;
    setp.lt.u32 %p1, %r2, %r1;
    @!%p1 bra $end;
    mul.wide.u32 %d2, %r2, 8;
    add.s64 %d1, %d1, %d2;
    cvt.rn.f32.u32 %f, %r2;
    fma.rn.f32 %f, %f, 0f3F800000, 0f00000000;
    atom.global.sys.add.u32 %r3, [%d1+4], -1;
    { .param .b32 p; .param .b32 q; st.param.b32 [p], %r3; call.uni (q), double, (p); ld.param.b32 %r3, [q]; }
    st.global.v2.u32 [%d1], {%r2, %r3};
    bar.sync 0;
$end:
    ret;
}
"#;

/// The function that GCC's images have, with the variable that it uses.
const BY_GCC: &str = "
.version 6.0
.target sm_35
.address_size 64
// BEGIN GLOBAL VAR DEF: __gomp_rev_offload_var
.visible .global .align 8 .u64 __gomp_rev_offload_var[1];
// BEGIN GLOBAL FUNCTION DEF: first
.visible .func first
{
    call GOMP_target_ext,(%a,%b,%c,%d,%e,%f,%g,%h,%i);
    ret;
}
// BEGIN GLOBAL FUNCTION DEF: GOMP_target_ext
.visible .func GOMP_target_ext (.param .u32 %in_ar0, .param .u64 %in_ar1, .param .u64 %in_ar2, .param .u64 %in_ar3,
    .param .u64 %in_ar4, .param .u64 %in_ar5, .param .u32 %in_ar6, .param .u64 %in_ar7, .param .u64 %in_ar8)
{
    .reg .u64 %r1;
    ld.global.u64 %r1, [__gomp_rev_offload_var];
    ret;
}
";

/// Texts.
pub(super) fn seeds() -> Vec<Vec<u8>> {
    [SEED, BY_GCC].map(|text| text.as_bytes().to_vec()).to_vec()
}
