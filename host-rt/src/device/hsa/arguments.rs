//! The memory of a kernel's arguments, in the code object's layout.

use crate::device::{DeviceError, Params};
use targets::code_object::{ArgKind, Kernel};
use targets::count::Parameters;

/// Properties of a launch that the compiler may need, in threads.
#[derive(Clone, Copy)]
pub(super) struct Shape {
    /// Teams in each dimension.
    pub(super) teams: [u32; 3],
    /// Threads of a team in each dimension.
    pub(super) threads: [u16; 3],
    /// The number of dimensions.
    pub(super) dimensions: u16,
    /// Dynamic shared memory of a team.
    pub(super) shared_bytes: u32,
    /// The queue of the launch.
    pub(super) queue: u64,
}

/// Checks that `params` match `kernel`. For a kernel that does not list its parameters, as GCC's do
/// not, only the minimum size of its memory is known; the rest follows such kernels' own
/// convention.
pub(super) fn check(kernel: &Kernel, params: &Params) -> Result<(), DeviceError> {
    if kernel.args.is_none() {
        let (given, least) = (params.bytes().len(), kernel.kernarg_size as usize);
        if given >= least {
            return Ok(());
        }
        return Err(DeviceError::BadParameters {
            kernel: kernel.name.clone(),
            expected: format!("at least {least} bytes of parameters"),
            found: format!("{given} bytes"),
        });
    }
    let expected: Vec<u64> = kernel.parameters().map(|arg| arg.size.into()).collect();
    let found = params.sizes();
    if expected == found {
        return Ok(());
    }
    Err(DeviceError::BadParameters {
        kernel: kernel.name.clone(),
        expected: Parameters(&expected).to_string(),
        found: Parameters(&found).to_string(),
    })
}

/// The bytes, for [checked](check) parameters.
pub(super) fn bytes(kernel: &Kernel, params: &Params, shape: &Shape) -> Vec<u8> {
    let Some(args) = &kernel.args else {
        return params.bytes().to_vec();
    };
    let mut bytes = vec![0; kernel.kernarg_size as usize];
    let mut params = params.iter();
    for arg in args {
        // In bounds, as the reader of the code object has checked.
        let place = &mut bytes[arg.offset as usize..][..arg.size as usize];
        match &arg.kind {
            ArgKind::Parameter => {
                let param = params.next().unwrap_or_default();
                place[..param.len()].copy_from_slice(param);
            }
            ArgKind::Hidden(name) => {
                let value = hidden(name, shape).to_le_bytes();
                let len = place.len().min(value.len());
                place[..len].copy_from_slice(&value[..len]);
            }
        }
    }
    bytes
}

/// The value of a hidden argument; 0 for features that do not exist here, such as a buffer for
/// text.
fn hidden(name: &str, shape: &Shape) -> u64 {
    match name {
        "block_count_x" => u64::from(shape.teams[0]),
        "block_count_y" => u64::from(shape.teams[1]),
        "block_count_z" => u64::from(shape.teams[2]),
        "group_size_x" => u64::from(shape.threads[0]),
        "group_size_y" => u64::from(shape.threads[1]),
        "group_size_z" => u64::from(shape.threads[2]),
        "grid_dims" => u64::from(shape.dimensions),
        "dynamic_lds_size" => u64::from(shape.shared_bytes),
        "queue_ptr" => shape.queue,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use targets::code_object::Arg;

    use super::*;

    fn kernel() -> Kernel {
        let arg = |offset, size, kind: &str| Arg {
            offset,
            size,
            kind: match kind {
                "" => ArgKind::Parameter,
                name => ArgKind::Hidden(name.to_owned()),
            },
        };
        Kernel {
            name: "scale".to_owned(),
            kernarg_size: 40,
            args: Some(vec![
                arg(0, 8, ""),
                arg(8, 1, ""),
                arg(12, 4, ""),
                arg(16, 4, "block_count_x"),
                arg(20, 4, "block_count_z"),
                arg(24, 2, "group_size_x"),
                arg(26, 2, "grid_dims"),
                arg(32, 8, "hostcall_buffer"),
            ]),
            ..Kernel::default()
        }
    }

    const SHAPE: Shape = Shape {
        teams: [7, 1, 1],
        threads: [64, 1, 1],
        dimensions: 1,
        shared_bytes: 0,
        queue: 0,
    };

    #[test]
    fn each_is_where_the_code_object_says() {
        let params = [vec![1; 8], vec![2], vec![3; 4]].iter().collect();
        check(&kernel(), &params).expect("they fit");
        let bytes = bytes(&kernel(), &params, &SHAPE);
        let mut expected = vec![1; 8];
        expected.extend([2, 0, 0, 0, 3, 3, 3, 3]);
        expected.extend([7, 0, 0, 0, 1, 0, 0, 0, 64, 0, 1, 0]);
        expected.resize(40, 0);
        assert_eq!(bytes, expected);
    }

    #[test]
    fn where_none_are_listed_they_are_one_after_the_other() {
        let kernel = Kernel {
            args: None,
            kernarg_size: 8,
            ..kernel()
        };
        let params = [vec![1; 8], vec![2; 4], vec![3; 8]].iter().collect();
        check(&kernel, &params).expect("they are long enough");
        let mut expected = vec![1; 8];
        expected.extend([2, 2, 2, 2, 0, 0, 0, 0]);
        expected.extend([3; 8]);
        assert_eq!(bytes(&kernel, &params, &SHAPE), expected);
        let error = check(&kernel, &[[0; 4]].iter().collect()).expect_err("too little");
        let text = error.to_string();
        assert!(
            text.contains("8 bytes") && text.contains("4 bytes"),
            "{text}"
        );
    }

    #[test]
    fn parameters_of_other_sizes_are_refused_by_name() {
        for params in [
            vec![],
            vec![vec![0; 8]; 3],
            vec![vec![0; 8], vec![0; 4], vec![0; 4]],
        ] {
            let error = check(&kernel(), &params.iter().collect()).expect_err("they do not fit");
            let text = error.to_string();
            assert!(text.contains("`scale`"), "{text}");
            assert!(text.contains("3 parameters of 8, 1 and 4 bytes"), "{text}");
        }
    }
}
