//! Kernels by compilers for NVIDIA GPUs, and their results on the host: CUDA C++ by NVRTC
//! (`compilers/nvrtc.py`) and Triton (`compilers/triton_matmul.py`).

use std::sync::Arc;
use std::time::{Duration, Instant};

use ptx_emu::{Fault, FaultKind, Grid, Machine, Module, Options, Part};

/// Longer than any of these takes.
const LONG: Duration = Duration::from_secs(120);

macro_rules! text {
    ($name:literal) => {
        Part {
            name: concat!($name, ".ptx"),
            text: include_str!(concat!("compilers/", $name, ".ptx")),
        }
    };
}

/// A device with a module.
struct Device {
    machine: Machine,
    module: Arc<Module>,
}

impl Device {
    fn new(part: Part<'_>) -> Self {
        Self::with(part, false)
    }

    fn with(part: Part<'_>, check: bool) -> Self {
        let options = Options {
            memory: 64 << 20,
            processors: 2,
            patience: Duration::from_secs(1),
            check,
            ..Options::default()
        };
        let machine = Machine::new(options).expect("a device");
        let module = machine.load(&[part]);
        let module = module.unwrap_or_else(|error| panic!("{error}"));
        Self { machine, module }
    }

    /// Device memory with these bytes.
    fn buffer(&self, bytes: &[u8]) -> u64 {
        let memory = self.machine.memory();
        let address = memory.alloc(bytes.len() as u64).expect("room");
        let host = memory.host(address, bytes.len() as u64).expect("allocated");
        // SAFETY: the block has room for the bytes, and no kernel knows of it yet.
        unsafe {
            host.as_ptr()
                .copy_from_nonoverlapping(bytes.as_ptr(), bytes.len())
        };
        address
    }

    fn read(&self, address: u64, bytes: usize) -> Vec<u8> {
        let host = self.machine.memory().host(address, bytes as u64);
        let host = host.expect("allocated");
        // SAFETY: the block has so many bytes, and the kernels that knew of it have ended.
        unsafe { std::slice::from_raw_parts(host.as_ptr(), bytes) }.to_vec()
    }

    fn run(&self, name: &str, grid: Grid, params: &[Vec<u8>]) -> Result<(), Box<Fault>> {
        let kernel = self.module.kernel(name).expect("it is there");
        let params = params.iter().map(Vec::as_slice);
        let prepared = self.machine.prepare(&self.module, kernel, grid, params);
        let prepared = prepared.unwrap_or_else(|error| panic!("{name}: {error}"));
        let prepared = match name {
            "whole_grid" => prepared.cooperative(),
            _ => prepared,
        };
        let running = self.machine.start(prepared, Box::new(|_| {}));
        let running = running.unwrap_or_else(|error| panic!("{name}: {error}"));
        let ended = running.wait(Some(Instant::now() + LONG)).expect("an end");
        ended.map_err(Box::new)
    }
}

fn words(bytes: &[u8]) -> Vec<i32> {
    let (words, _) = bytes.as_chunks();
    words.iter().map(|&word| i32::from_le_bytes(word)).collect()
}

/// Numbers without a pattern.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        self.0 >> 33
    }
}

mod copies {
    use super::*;

    const CHUNKS: usize = 7;
    const BLOCKS: usize = 3;

    /// Runs a kernel of `copies.cu` or `hopper.cu` with chunks of `width` words; returns its input and
    /// output.
    #[track_caller]
    fn run(device: &Device, name: &str, width: usize, results: usize) -> (Vec<i32>, Vec<i32>) {
        let mut random = Random(7);
        let input: Vec<i32> = (0..CHUNKS * width)
            .map(|_| random.next() as i32 % 1000)
            .collect();
        let bytes: Vec<u8> = input.iter().flat_map(|word| word.to_le_bytes()).collect();
        let (from, to) = (
            device.buffer(&bytes),
            device.buffer(&vec![0; BLOCKS * results * 4]),
        );
        let grid = Grid {
            grid: [BLOCKS as u32, 1, 1],
            block: [128, 1, 1],
            shared: 0,
        };
        let params = [
            from.to_le_bytes().to_vec(),
            to.to_le_bytes().to_vec(),
            (CHUNKS as u32).to_le_bytes().to_vec(),
        ];
        if let Err(fault) = device.run(name, grid, &params) {
            panic!("{name}: {fault}");
        }
        (input, words(&device.read(to, BLOCKS * results * 4)))
    }

    /// The sums of words that are `width` apart.
    fn sums(input: &[i32], width: usize) -> Vec<i32> {
        let sum = |at| input.iter().skip(at).step_by(width).sum();
        (0..width).map(sum).collect()
    }

    /// Kernels whose blocks all leave the sums of each thread's words.
    #[track_caller]
    fn leaves_sums(device: &Device, name: &str, width: usize) {
        let (input, output) = run(device, name, width, width);
        assert_eq!(output, sums(&input, width).repeat(BLOCKS), "{name}");
    }

    #[test]
    fn pipelines_and_barriers() {
        for check in [false, true] {
            let device = Device::with(text!("copies"), check);
            for name in [
                "ring",
                "shared_pipeline",
                "thread_pipeline",
                "copies_arrive",
            ] {
                leaves_sums(&device, name, 128);
            }
            leaves_sums(&device, "producer_consumer", 96);
        }
    }

    #[test]
    fn groups_of_threads() {
        let device = Device::new(text!("copies"));
        let (input, output) = run(&device, "groups", 128, 512);
        let sums = sums(&input, 128);
        for (thread, found) in output.chunks(4).enumerate() {
            let me = thread % 128;
            let warp = &sums[me / 32 * 32..][..32];
            let quarter = &sums[me / 8 * 8..][..8];
            let odds = warp.iter().skip(me % 2).step_by(2).sum();
            let most = *warp.iter().max().expect("32 sums");
            let wanted = [sums[me], quarter.iter().sum(), most, odds];
            assert_eq!(found, wanted, "thread {thread}");
        }
    }

    #[test]
    fn blocks_of_a_grid() {
        for check in [false, true] {
            let device = Device::with(text!("copies"), check);
            let (input, output) = run(&device, "whole_grid", 128, 128);
            let last = &input[128 * (CHUNKS - 1)..];
            for (thread, &found) in output.iter().enumerate() {
                let (block, lane) = ((thread / 128) as i32, thread % 128);
                assert_eq!(found, last[lane] + block, "thread {thread}");
            }
        }
    }

    #[test]
    fn bulk_copies_and_transactions() {
        for check in [false, true] {
            let device = Device::with(text!("hopper"), check);
            leaves_sums(&device, "bulk", 128);
            leaves_sums_of_others(&device);
        }
    }

    #[test]
    fn an_mbarrier_that_nobody_completes_is_a_deadlock() {
        let device = Device::new(text!("hopper"));
        let grid = Grid {
            grid: [1; 3],
            block: [64, 1, 1],
            shared: 0,
        };
        let params = [vec![0; 8], vec![0; 8], vec![0; 4]];
        let fault = device.run("stuck", grid, &params).expect_err("a deadlock");
        let text = fault.to_string();
        assert!(matches!(fault.what, FaultKind::Deadlock(_)), "{text}");
        assert!(
            text.contains("warp 1, lanes 0xffffffff (first 0): wait for the mbarrier at"),
            "{text}"
        );
    }

    /// Each thread reads what the thread opposite has stored.
    #[track_caller]
    fn leaves_sums_of_others(device: &Device) {
        let (input, output) = run(device, "transactions", 128, 128);
        let mut sums = sums(&input, 128);
        sums.reverse();
        assert_eq!(output, sums.repeat(BLOCKS));
    }

    #[test]
    fn clusters_of_one_block() {
        let device = Device::new(text!("hopper"));
        let (input, output) = run(&device, "cluster", 128, 512);
        for (thread, found) in output.chunks(4).enumerate() {
            let me = thread % 128;
            let wanted = [input[127 - me], 10, me as i32, 128];
            assert_eq!(found, wanted, "thread {thread}");
        }
    }
}

mod products {
    use super::*;

    /// The type of elements in memory.
    #[derive(Clone, Copy, Debug, PartialEq)]
    enum Type {
        Half,
        Brain,
        Single,
        Double,
        Signed,
        Unsigned,
        Int,
    }

    use Type::{Brain, Double, Half, Int, Signed, Single, Unsigned};

    impl Type {
        /// A small whole number.
        fn bytes(self, value: i32) -> Vec<u8> {
            let single = (value as f32).to_bits();
            match self {
                Half if value == 0 => vec![0; 2],
                Half => {
                    let exponent = (single >> 23 & 0xff) - 127 + 15;
                    let half = single >> 16 & 0x8000 | exponent << 10 | single >> 13 & 0x3ff;
                    (half as u16).to_le_bytes().to_vec()
                }
                Brain => ((single >> 16) as u16).to_le_bytes().to_vec(),
                Single => single.to_le_bytes().to_vec(),
                Double => f64::from(value).to_le_bytes().to_vec(),
                Signed => vec![value as i8 as u8],
                Unsigned => vec![value as u8],
                Int => value.to_le_bytes().to_vec(),
            }
        }

        /// A number of this type; unsigned ones have no sign.
        fn random(self, random: &mut Random) -> i32 {
            let value = (random.next() % 17) as i32 - 8;
            if self == Unsigned { value + 200 } else { value }
        }
    }

    /// A matrix in rows.
    struct Matrix {
        columns: usize,
        values: Vec<i32>,
    }

    impl Matrix {
        fn new(ty: Type, rows: usize, columns: usize, random: &mut Random) -> Self {
            let values = (0..rows * columns).map(|_| ty.random(random)).collect();
            Self { columns, values }
        }

        fn rows(&self) -> usize {
            self.values.len() / self.columns
        }

        /// Its bytes, in rows or in columns.
        fn bytes(&self, ty: Type, in_rows: bool) -> Vec<u8> {
            let mut bytes = Vec::new();
            for index in 0..self.values.len() {
                let at = if in_rows {
                    index
                } else {
                    index % self.rows() * self.columns + index / self.rows()
                };
                bytes.extend(ty.bytes(self.values[at]));
            }
            bytes
        }

        /// `self * other + third`
        fn multiply(&self, other: &Self, third: &Self) -> Vec<i32> {
            let mut result = third.values.clone();
            for (index, sum) in result.iter_mut().enumerate() {
                let (row, column) = (index / third.columns, index % third.columns);
                for at in 0..self.columns {
                    *sum += self.values[row * self.columns + at]
                        * other.values[at * other.columns + column];
                }
            }
            result
        }
    }

    /// Runs a kernel of `wmma.cu` whose tiles are `m` by `n`.
    #[track_caller]
    fn wmma(
        device: &Device,
        name: &str,
        (m, n): (usize, usize),
        (of, sum): (Type, Type),
        (a_in_rows, b_in_rows): (bool, bool),
    ) {
        let mut random = Random(name.len() as u64);
        let (rows, columns, depth) = (2 * m, 3 * n, 32);
        let a = Matrix::new(of, rows, depth, &mut random);
        let b = Matrix::new(of, depth, columns, &mut random);
        let c = Matrix::new(sum, rows, columns, &mut random);
        let d = a.multiply(&b, &c);
        let wanted: Vec<u8> = d.iter().flat_map(|&value| sum.bytes(value)).collect();
        let [a_at, b_at, c_at, d_at] = [
            a.bytes(of, a_in_rows),
            b.bytes(of, b_in_rows),
            c.bytes(sum, true),
            vec![0xff; wanted.len()],
        ]
        .map(|bytes| device.buffer(&bytes));
        let leads = [
            if a_in_rows { depth } else { rows },
            if b_in_rows { columns } else { depth },
        ];
        let mut params: Vec<_> = [a_at, b_at, c_at, d_at]
            .map(|at| at.to_le_bytes().to_vec())
            .into();
        let numbers = [columns, depth, leads[0], leads[1]];
        params.extend(numbers.map(|number| (number as u32).to_le_bytes().to_vec()));
        let grid = Grid {
            grid: [(columns / n) as u32, (rows / m) as u32, 1],
            block: [32, 1, 1],
            shared: 0,
        };
        if let Err(fault) = device.run(name, grid, &params) {
            panic!("{name}: {fault}");
        }
        let found = device.read(d_at, wanted.len());
        let at = found.iter().zip(&wanted).position(|(a, b)| a != b);
        assert_eq!(at, None, "{name}: the first different byte");
    }

    #[test]
    fn of_the_wmma_namespace() {
        for check in [false, true] {
            let device = Device::with(text!("wmma"), check);
            let square = (16, 16);
            wmma(&device, "half_float", square, (Half, Single), (true, true));
            wmma(
                &device,
                "half_float_cols",
                square,
                (Half, Single),
                (false, false),
            );
            wmma(&device, "half_half", square, (Half, Half), (true, false));
            wmma(
                &device,
                "half_float_wide",
                (8, 32),
                (Half, Single),
                (true, true),
            );
            wmma(
                &device,
                "half_float_tall",
                (32, 8),
                (Half, Single),
                (false, true),
            );
            wmma(
                &device,
                "brain_float",
                square,
                (Brain, Single),
                (true, false),
            );
            wmma(
                &device,
                "brain_float_wide",
                (8, 32),
                (Brain, Single),
                (true, true),
            );
            wmma(
                &device,
                "brain_float_tall",
                (32, 8),
                (Brain, Single),
                (true, true),
            );
            wmma(
                &device,
                "tf32_float",
                square,
                (Single, Single),
                (true, false),
            );
            wmma(&device, "signed_int", square, (Signed, Int), (true, false));
            wmma(
                &device,
                "unsigned_int",
                square,
                (Unsigned, Int),
                (true, true),
            );
            wmma(
                &device,
                "signed_int_wide",
                (8, 32),
                (Signed, Int),
                (true, true),
            );
            wmma(
                &device,
                "unsigned_int_tall",
                (32, 8),
                (Unsigned, Int),
                (false, false),
            );
            wmma(
                &device,
                "double_double",
                (8, 8),
                (Double, Double),
                (true, false),
            );
        }
    }

    /// Runs a kernel of `wmma.cu` whose elements have less than a byte.
    #[track_caller]
    fn small(name: &str, bits: usize, combine: impl Fn(i32, i32) -> i32) {
        let device = Device::new(text!("wmma"));
        let mut random = Random(5);
        let depth = 128 / bits; // of 16 bytes
        let mut bytes = || -> Vec<u8> { (0..128).map(|_| random.next() as u8).collect() };
        let (a, b) = (bytes(), bytes());
        // Both matrices have their elements in the order of the depth.
        let element = |bytes: &[u8], row: usize, at: usize| {
            let bit = (row * depth + at) * bits;
            i32::from(bytes[bit / 8]) >> (bit % 8) & ((1 << bits) - 1)
        };
        let c: Vec<i32> = (0..64).collect();
        let wanted: Vec<i32> = (0..64)
            .map(|index| {
                let (row, column) = (index / 8, index % 8);
                let sum =
                    (0..depth).map(|at| combine(element(&a, row, at), element(&b, column, at)));
                c[index] + sum.sum::<i32>()
            })
            .collect();
        let c: Vec<u8> = c.iter().flat_map(|word| word.to_le_bytes()).collect();
        let buffers = [a, b, c, vec![0xff; 256]].map(|bytes| device.buffer(&bytes));
        let params = buffers.map(|at| at.to_le_bytes().to_vec());
        let grid = Grid {
            grid: [1; 3],
            block: [32, 1, 1],
            shared: 0,
        };
        if let Err(fault) = device.run(name, grid, &params) {
            panic!("{name}: {fault}");
        }
        assert_eq!(words(&device.read(buffers[3], 256)), wanted, "{name}");
    }

    #[test]
    fn of_parts_of_bytes() {
        let signed = |nibble: i32| nibble << 28 >> 28;
        small("nibbles", 4, |x, y| signed(x) * signed(y));
        small("single_bits", 1, |x, y| x ^ y);
    }

    /// Runs a kernel of `mma.cu`, with a 16-by-8 result.
    #[track_caller]
    fn mma(name: &str, b_in_rows: bool, sum: Type) {
        let device = Device::new(text!("mma"));
        let mut random = Random(3);
        let depth = 64;
        let a = Matrix::new(Half, 16, depth, &mut random);
        let b = Matrix::new(Half, depth, 8, &mut random);
        let zero = Matrix {
            columns: 8,
            values: vec![0; 128],
        };
        let d = a.multiply(&b, &zero);
        let wanted: Vec<u8> = d.iter().flat_map(|&value| sum.bytes(value)).collect();
        let buffers = [
            a.bytes(Half, true),
            b.bytes(Half, b_in_rows),
            vec![0xff; wanted.len()],
        ]
        .map(|bytes| device.buffer(&bytes));
        let mut params: Vec<_> = buffers.map(|at| at.to_le_bytes().to_vec()).into();
        params.push((depth as u32).to_le_bytes().to_vec());
        let grid = Grid {
            grid: [1; 3],
            block: [32, 1, 1],
            shared: 0,
        };
        if let Err(fault) = device.run(name, grid, &params) {
            panic!("{name}: {fault}");
        }
        assert_eq!(device.read(buffers[2], wanted.len()), wanted, "{name}");
    }

    /// Triton adds the addresses of two workspaces to the parameters, which the kernel does not use.
    #[test]
    fn of_triton() {
        // The tile, and the bytes of shared memory that the script prints.
        triton(text!("triton_matmul_80"), 32, 8192);
        triton(text!("triton_matmul_90"), 64, 49152);
    }

    #[track_caller]
    fn triton(part: Part<'_>, tile: usize, shared: u32) {
        let device = Device::new(part);
        let mut random = Random(11);
        let (rows, columns, depth) = (192, 64, 176);
        let a = Matrix::new(Half, rows, depth, &mut random);
        let b = Matrix::new(Half, depth, columns, &mut random);
        let zero = Matrix {
            columns,
            values: vec![0; rows * columns],
        };
        let d = a.multiply(&b, &zero);
        let wanted: Vec<u8> = d.iter().flat_map(|&value| Single.bytes(value)).collect();
        let buffers = [
            a.bytes(Half, true),
            b.bytes(Half, true),
            vec![0xff; wanted.len()],
        ]
        .map(|bytes| device.buffer(&bytes));
        let mut params: Vec<_> = buffers.map(|at| at.to_le_bytes().to_vec()).into();
        let numbers = [depth, depth, columns, columns];
        params.extend(numbers.map(|number| (number as u32).to_le_bytes().to_vec()));
        params.extend([vec![0; 8], vec![0; 8]]);
        let grid = Grid {
            grid: [(rows / tile) as u32, (columns / tile) as u32, 1],
            block: [128, 1, 1],
            shared,
        };
        if let Err(fault) = device.run("matmul", grid, &params) {
            panic!("{fault}");
        }
        let found = device.read(buffers[2], wanted.len());
        let at = found.iter().zip(&wanted).position(|(a, b)| a != b);
        assert_eq!(at, None, "the first different byte");
    }

    #[test]
    fn of_fragments_from_shared_memory() {
        mma("half_gemm", false, Single);
        mma("half_gemm_transposed", true, Half);
    }
}
