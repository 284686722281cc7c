//! Mutated code objects: each loads or is rejected, and nothing else happens.

use hsa_runtime_sys::*;

use crate::assemble;
use crate::gpu::{Gpu, hsa, works};
use crate::queue::{executable, load};
use crate::random::{Random, rounds};

/// Values that are likely to be on the edge of something.
const EDGES: [u64; 10] = [
    0,
    1,
    7,
    u64::MAX,
    1 << 63,
    i64::MAX as u64,
    u32::MAX as u64,
    4096,
    u64::MAX - 4095,
    1 << 40,
];

fn mutate(bytes: &mut Vec<u8>, random: &mut Random) {
    for _ in 0..=random.below(3) {
        let at = match random.below(4) {
            // The headers of the file, of segments, and of sections.
            0 | 1 => random.below(64 + 8 * 56),
            2 => bytes.len().saturating_sub(1 + random.below(16 * 64 + 1024)),
            _ => random.below(bytes.len()),
        };
        match random.below(4) {
            0 => bytes[at] ^= 1 << random.below(8),
            1 => bytes[at] = random.next() as u8,
            2 => {
                let value = EDGES[random.below(EDGES.len())].to_le_bytes();
                let at = at & !7;
                let len = bytes.len().saturating_sub(at).min(8);
                bytes[at..at + len].copy_from_slice(&value[..len]);
            }
            _ => {
                if random.below(8) == 0 {
                    bytes.truncate(at.max(1));
                } else {
                    bytes[at] = bytes[at].wrapping_add(1);
                }
            }
        }
        if bytes.len() < 600 {
            return;
        }
    }
}

#[test]
fn mutated_code_objects_load_or_are_rejected() {
    let gpu = Gpu::new();
    let Some(original) = assemble::kernels() else {
        return;
    };
    let mut random = Random::new(11);
    let (mut loaded, rounds) = (0, rounds(20_000));
    for round in 0..rounds {
        let mut bytes = original.to_vec();
        mutate(&mut bytes, &mut random);
        let executable = executable();
        let status = load(executable, &gpu, &bytes);
        let known = [
            HSA_STATUS_SUCCESS,
            HSA_STATUS_ERROR_INVALID_CODE_OBJECT,
            HSA_STATUS_ERROR_INCOMPATIBLE_ARGUMENTS,
            HSA_STATUS_ERROR_OUT_OF_RESOURCES,
            HSA_STATUS_ERROR_VARIABLE_UNDEFINED,
        ];
        assert!(known.contains(&status), "round {round}: status {status}");
        loaded += u64::from(status == HSA_STATUS_SUCCESS);
        works(hsa!(hsa_executable_destroy(executable => hsa_executable_t)));
    }
    assert!(
        loaded > rounds / 20 && loaded < rounds,
        "{loaded} of {rounds}"
    );
}
