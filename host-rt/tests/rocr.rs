//! The behaviour of this machine's ROCr without an AMD GPU.

use revoff_host::device::DeviceError;
use revoff_host::{Runtime, RuntimeError};

#[test]
fn no_amd_gpu_is_said_so() {
    let error = match Runtime::open("hsa:0") {
        Err(RuntimeError::Device(error)) => error,
        Err(other) => panic!("{other}"),
        Ok(_) => {
            eprintln!("SKIPPED: there is an AMD GPU");
            return;
        }
    };
    let text = error.to_string();
    match error {
        DeviceError::NoDriver { device: "hsa", .. } if text.contains("no ROCr: ") => {
            assert!(text.contains("libhsa-runtime64-1"), "a way out: {text}");
            eprintln!("SKIPPED what ROCr says: {text}");
        }
        DeviceError::NoDriver { device: "hsa", .. } => {
            for words in ["no AMD GPU: ", "hsa_init: ", "/dev/kfd"] {
                assert!(text.contains(words), "no `{words}` in: {text}");
            }
            let is_there = std::path::Path::new("/dev/kfd").exists();
            assert!(is_there || text.contains("amdgpu"), "a way out: {text}");
        }
        // It starts, and lists no GPU.
        DeviceError::NoDevice { .. } => assert!(text.contains("`hsa:0`"), "{text}"),
        other => panic!("{other}"),
    }
    // Other devices are not affected.
    Runtime::open("host").expect("it is always there");
}
