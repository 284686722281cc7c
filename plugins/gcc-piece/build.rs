//! Builds the piece: for GPUs with `ld.acquire` and `st.release`, and for older ones.

fn main() {
    let [membar, ordered] = revoff_build::ptx("../../device-rt/gcc", ["sm_35", "sm_70"]);
    membar.export("REVOFF_GCC_PIECE_SM_35");
    ordered.export("REVOFF_GCC_PIECE_SM_70");
}
