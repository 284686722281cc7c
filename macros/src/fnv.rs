//! FNV-1a, 64 bits: the hash of `revoff_fn::signature`, which a procedural macro cannot call. A test
//! in `host-fn` compares the two.

/// Hash of `bytes`, never 0: that means "not compared".
pub(crate) fn fnv1a(bytes: &[u8]) -> u64 {
    let hash = bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    if hash == 0 { 1 } else { hash }
}
