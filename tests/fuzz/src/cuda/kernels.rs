//! Kernels that sequences of calls load.

/// Their names, and one that is missing.
pub(super) const NAMES: [&std::ffi::CStr; 8] = [
    c"add", c"store", c"spin", c"count", c"turn", c"small", c"traps", c"missing",
];

/// A text with them and with a variable.
pub(super) const TEXT: &str = r"
.version 7.0
.target sm_60
.address_size 64
.visible .global .align 8 .u64 counter = 7;
.shared .align 4 .b8 words[256];
// Adds a small and a large parameter.
.visible .entry add(.param .u32 a, .param .u64 b, .param .u64 sum)
{
    .reg .b64 %a, %b, %at;
    .reg .b32 %small;
    ld.param.u32 %small, [a];
    ld.param.u64 %b, [b];
    ld.param.u64 %at, [sum];
    cvt.u64.u32 %a, %small;
    add.u64 %a, %a, %b;
    st.u64 [%at], %a;
    ret;
}
// Stores where it is told to.
.visible .entry store(.param .u64 place)
{
    .reg .b64 %at;
    ld.param.u64 %at, [place];
    st.u32 [%at], 42;
    ret;
}
// Ends when a word is not 0.
.visible .entry spin(.param .u64 flag)
{
    .reg .b64 %at;
    .reg .b32 %now;
    .reg .pred %p;
    ld.param.u64 %at, [flag];
AGAIN:
    ld.volatile.u32 %now, [%at];
    setp.eq.u32 %p, %now, 0;
    @%p bra AGAIN;
    ret;
}
// Works for a while.
.visible .entry count(.param .u64 place)
{
    .reg .b64 %at;
    .reg .b32 %left;
    .reg .pred %p;
    ld.param.u64 %at, [place];
    mov.u32 %left, 300;
AGAIN:
    red.add.u32 [%at], 1;
    sub.u32 %left, %left, 1;
    setp.ne.u32 %p, %left, 0;
    @%p bra AGAIN;
    ret;
}
// Exchanges words with other threads of its block.
.visible .entry turn(.param .u64 place)
{
    .reg .b64 %at;
    .reg .b32 %me, %word;
    ld.param.u64 %at, [place];
    mov.u32 %me, %tid.x;
    and.b32 %me, %me, 63;
    shl.b32 %me, %me, 2;
    mov.u32 %word, words;
    add.u32 %me, %me, %word;
    st.shared.u32 [%me], %me;
    bar.sync 0;
    ld.shared.u32 %word, [%me];
    st.u32 [%at], %word;
    ret;
}
.visible .entry small() .maxntid 64 { ret; }
.visible .entry traps() { trap; ret; }
";
