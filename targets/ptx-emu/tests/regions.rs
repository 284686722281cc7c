//! Target regions that GCC compiled, with the libraries that it linked: libgomp, libm and libc for
//! devices. The sources are in `regions/`; regions are called as libgomp's plugin calls them, and their
//! results are compared with those computed here.

use std::collections::HashSet;
use std::io::{self, Write};
use std::path::Path;
use std::process::Command;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};
use std::{array, fs};

use ptx_emu::{Global, Grid, Machine, Module, Options, Part};

/// Bytes of a thread's stack, by default.
const STACK: u64 = 128 << 10;

/// How long a region may take.
const PATIENCE: Duration = Duration::from_secs(300);

/// The device number that the device receives.
const NUMBER: u32 = 3;

/// Prints the reason for skipping, even if output is captured.
fn skip(why: &str) {
    let _ = writeln!(
        io::stderr(),
        "\nSKIPPED ptx-emu, regions by GCC: {why} (Debian: apt-get install gcc-12 \
         gcc-12-offload-nvptx nvptx-tools)"
    );
}

/// The texts that the newest offload compiler linked; `None` if there is none.
fn texts() -> Option<&'static [String]> {
    static TEXTS: OnceLock<Option<Vec<String>>> = OnceLock::new();
    TEXTS
        .get_or_init(|| {
            let version = ["14", "13", "12"].into_iter().find(|version| {
                let offload = format!("x86_64-linux-gnu-accel-nvptx-none-gcc-{version}");
                let is_there = |name: &str| Command::new(name).arg("--version").output().is_ok();
                is_there(&format!("gcc-{version}")) && is_there(&offload)
            })?;
            Some(compile(version))
        })
        .as_deref()
}

fn compile(version: &str) -> Vec<String> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("gcc-{version}"));
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("a folder in the target folder");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/regions/regions.c");
    let output = Command::new(format!("gcc-{version}"))
        .current_dir(&folder)
        .args(["-O2", "-fopenmp", "-foffload=nvptx-none", "-save-temps"])
        .arg("-foffload-options=nvptx-none=-misa=sm_35 -lm")
        .args(["-o", "program"])
        .arg(source)
        .arg("-lm")
        .output()
        .expect("it was there");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "gcc-{version}: {said}");
    // Texts with a NUL after each.
    let linked = fs::read(folder.join("program.xnvptx-none.mkoffload")).expect("it was kept");
    let linked = String::from_utf8(linked).expect("PTX is ASCII");
    let texts = linked.split('\0').filter(|text| !text.trim().is_empty());
    texts.map(str::to_owned).collect()
}

/// A device on which the regions are loaded.
struct Device {
    machine: Machine,
    module: Arc<Module>,
    printed: Arc<Mutex<String>>,
}

impl Device {
    fn new(sm: u32, texts: &[String]) -> Self {
        let printed = Arc::new(Mutex::new(String::new()));
        let sink = Arc::clone(&printed);
        let machine = Machine::new(Options {
            sm,
            output: Arc::new(move |text| sink.lock().expect("no test failed in it").push_str(text)),
            ..Options::default()
        });
        let machine = machine.expect("a device");
        let names: Vec<_> = (0..texts.len()).map(|i| format!("text {i}")).collect();
        let parts = names.iter().zip(texts);
        let parts: Vec<_> = parts.map(|(name, text)| Part { name, text }).collect();
        let module = machine
            .load(&parts)
            .unwrap_or_else(|error| panic!("{error}"));
        let device = Self {
            machine,
            module,
            printed,
        };
        // The variables that libgomp sets: the device's number, and values that are 0 here.
        if let Some(global) = device.icvs() {
            device.write(global.address, &NUMBER.to_le_bytes());
        }
        device
    }

    /// libgomp's variable with the device's properties; GCC 12 has no visible one.
    fn icvs(&self) -> Option<Global> {
        self.module.global("__gomp_additional_icvs")
    }

    fn write(&self, address: u64, bytes: &[u8]) {
        let to = self.machine.memory().host(address, bytes.len() as u64);
        let to = to.expect("allocated").as_ptr();
        // SAFETY: the device memory there is allocated, as `host` has checked, and no kernel of
        // this device runs.
        unsafe { to.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
    }

    fn read(&self, address: u64, bytes: &mut [u8]) {
        let from = self.machine.memory().host(address, bytes.len() as u64);
        let from = from.expect("allocated").as_ptr();
        // SAFETY: the device memory there is allocated, as `host` has checked, and no kernel of
        // this device runs.
        unsafe { from.copy_to_nonoverlapping(bytes.as_mut_ptr(), bytes.len()) };
    }

    /// Runs the region in `function` on a copy of `data`, to which its argument block points.
    /// Returns the data afterwards, and the number of executed instructions.
    fn run(&self, function: &str, teams: u32, threads: u32, data: &[u8]) -> (Vec<u8>, u64) {
        let memory = self.machine.memory();
        let alloc = |bytes| memory.alloc(bytes).expect("room");
        let there = alloc(data.len() as u64);
        self.write(there, data);
        let block = alloc(8);
        self.write(block, &there.to_le_bytes());
        let stacks = alloc(u64::from(teams * threads) * STACK);

        let kernel = format!("{function}$_omp_fn$0");
        let kernel = self.module.kernel(&kernel).expect("the region");
        // GCC 13 and newer keep a pool of shared memory for allocations.
        let shared = if self.module.function("__nvptx_lowlat_init").is_some() {
            8 << 10
        } else {
            0
        };
        let grid = Grid {
            grid: [teams, 1, 1],
            block: [32, threads, 1],
            shared,
        };
        let params = [block, stacks, STACK].map(|param| param.to_le_bytes().to_vec());
        let running = self
            .machine
            .launch(&self.module, kernel, grid, &params, Box::new(|_| {}))
            .unwrap_or_else(|error| panic!("{function}: {error}"));
        match running.wait(Some(Instant::now() + PATIENCE)) {
            None => panic!("{function} does not end"),
            Some(Err(fault)) => panic!("sm_{}: {fault}", self.machine.options().sm),
            Some(Ok(())) => {}
        }

        let mut data = data.to_vec();
        self.read(there, &mut data);
        for address in [there, block, stacks] {
            memory.free(address);
        }
        (data, running.instructions())
    }

    fn i64s(&self, function: &str, teams: u32, threads: u32, data: &[i64]) -> Vec<i64> {
        let bytes: Vec<_> = data.iter().flat_map(|v| v.to_le_bytes()).collect();
        let (bytes, _) = self.run(function, teams, threads, &bytes);
        let (values, _) = bytes.as_chunks();
        values.iter().map(|v| i64::from_le_bytes(*v)).collect()
    }

    fn f64s(&self, function: &str, teams: u32, threads: u32, data: &[f64]) -> (Vec<f64>, u64) {
        let bytes: Vec<_> = data.iter().flat_map(|v| v.to_le_bytes()).collect();
        let (bytes, instructions) = self.run(function, teams, threads, &bytes);
        let (values, _) = bytes.as_chunks();
        let values = values.iter().map(|v| f64::from_le_bytes(*v)).collect();
        (values, instructions)
    }
}

/// Runs `test` on a device whose lanes are in lock-step, and on one where they are not.
fn on_each(test: impl Fn(&Device)) {
    let Some(texts) = texts() else {
        skip("no GCC that compiles for nvptx");
        return;
    };
    for sm in [60, 90] {
        test(&Device::new(sm, texts));
    }
}

#[test]
fn a_reduction_over_teams() {
    on_each(|device| {
        for (teams, threads) in [(1, 1), (1, 8), (4, 8), (7, 3)] {
            let (s, _) = device.run("sum", teams, threads, &7u32.to_le_bytes());
            assert_eq!(s, (7 + 499_500u32).to_le_bytes(), "{teams} x {threads}");
        }
    });
}

#[test]
fn numbers_of_teams_and_threads() {
    on_each(|device| {
        let (teams, threads) = (5, 6);
        let r = device.i64s("numbers", teams, threads, &[-1; 4 * 5 * 6]);
        let (teams, threads) = (i64::from(teams), i64::from(threads));
        let (places, _) = r.as_chunks::<4>();
        for (place, at) in places.iter().zip(0..) {
            assert_eq!(*place, [teams, at / threads, threads, at % threads]);
        }
    });
}

#[test]
fn threads_wait_and_exclude_each_other() {
    on_each(|device| {
        // Threads that wait for a lock spin: many of them are slow here.
        for (threads, rounds) in [(1, 10), (2, 10), (8, 5), (32, 1)] {
            let data = [0, 0, 0, 0, 0, 0, 0, 0, rounds];
            let r = device.i64s("synchronisation", 1, threads, &data);
            let n = i64::from(threads);
            let (passes, sum) = (rounds * n, rounds * n * (n - 1) / 2);
            let real = 50 + 25 * sum;
            let largest = rounds * (n - 1);
            let wanted = [
                0, passes, sum, real, rounds, rounds, largest, passes, rounds,
            ];
            assert_eq!(r, wanted, "{threads} threads");
        }
    });
}

#[test]
fn loops_of_each_schedule() {
    on_each(|device| {
        let r = device.i64s("schedules", 1, 5, &[0; 122]);
        let squares = (0..100).map(|i| 3 * i * i);
        let wanted: Vec<_> = squares.chain(0..20).chain(1..=2).collect();
        assert_eq!(r, wanted);
    });
}

#[test]
fn tasks() {
    on_each(|device| {
        for threads in [1, 4] {
            let r = device.i64s("tasks", 1, threads, &[10, 0, 0]);
            assert_eq!(r, [55, 1225, 42], "{threads} threads");
        }
    });
}

#[test]
fn loops_whose_iterations_are_lanes() {
    on_each(|device| {
        let data: Vec<_> = (0..1028).map(|i| i * 3 - 100).collect();
        let r = device.i64s("lanes", 2, 4, &data);
        for (i, &value) in (0..1024).zip(&r) {
            let wanted = match i % 3 {
                0 => 5 * i,
                1 => 4 * i - 100,
                _ => -i,
            };
            assert_eq!(value, wanted, "{i}");
        }
        let r = device.i64s("lanes_together", 1, 1, &data);
        assert_eq!(r[1024], (0..1000).map(|i| 3 * data[i]).sum::<i64>());
        assert_eq!(r[1025], 3 * data[999]);
        let order = (0..64).fold(1i64, |order, i| order.wrapping_mul(7).wrapping_add(i));
        assert_eq!(r[1026], order);
        let own = |i: i64| (0..i % 9).map(move |j| i * ((j * 5 + i) % 8));
        assert_eq!(r[1027], (0..100).flat_map(own).sum());
    });
}

/// The number of values between two, plus one; 0 for equal ones.
fn ulps(a: f64, b: f64) -> u64 {
    if a == b || a.is_nan() && b.is_nan() {
        return 0;
    }
    // The values in order are integers in order.
    let order = |x: f64| {
        let bits = x.to_bits().cast_signed();
        if bits < 0 { i64::MIN - bits } else { bits }
    };
    order(a).abs_diff(order(b))
}

/// A function's name, its host version, and the allowed difference in values.
type Function<T> = (&'static str, fn(T) -> T, u64);

fn ulps_of_single(a: f32, b: f32) -> u64 {
    // As far apart as doubles whose last 29 bits are 0, but for subnormal values.
    ulps(f64::from(a), f64::from(b)) >> 29
}

#[test]
fn mathematics_in_doubles() {
    on_each(|device| {
        let x: [f64; 64] = array::from_fn(|i| (i as f64 - 31.5) * 0.37 + 0.001);
        let mut data = x.to_vec();
        data.resize(64 * 11, 0.0);
        let (r, _) = device.f64s("math_double", 2, 4, &data);
        let functions: [Function<f64>; 10] = [
            ("sqrt", |x| x.abs().sqrt(), 0),
            ("exp", f64::exp, 1),
            ("sin", f64::sin, 1),
            ("pow", |x| x.abs().powf(1.7), 1),
            ("log", |x| (x.abs() + 0.5).ln(), 1),
            ("/", |x| x / 3.7, 0),
            ("floor", f64::floor, 0),
            ("fma", |x| x.mul_add(x, -1.0), 0),
            ("cos", f64::cos, 1),
            ("fmod", |x| x % 1.3, 0),
        ];
        for ((name, function, bound), got) in functions.iter().zip(r[64..].chunks(64)) {
            for (&x, &got) in x.iter().zip(got) {
                let wanted = function(x);
                assert!(
                    ulps(got, wanted) <= *bound,
                    "{name}({x}): {got}, not {wanted}"
                );
            }
        }
    });
}

#[test]
fn mathematics_in_singles() {
    on_each(|device| {
        let x: [f32; 64] = array::from_fn(|i| (i as f32 - 31.5) * 0.37 + 0.001);
        let mut data: Vec<_> = x.iter().flat_map(|x| x.to_le_bytes()).collect();
        data.resize(4 * 64 * 11, 0);
        let (r, _) = device.run("math_float", 2, 4, &data);
        let (r, _) = r.as_chunks();
        let r: Vec<_> = r.iter().map(|x| f32::from_le_bytes(*x)).collect();
        let functions: [Function<f32>; 10] = [
            ("sqrt", |x| x.abs().sqrt(), 0),
            ("exp", f32::exp, 1),
            ("sin", f32::sin, 1),
            ("pow", |x| x.abs().powf(1.7), 1),
            ("log", |x| (x.abs() + 0.5).ln(), 1),
            ("/", |x| x / 3.7, 0),
            ("int", |x| x as i32 as f32, 0),
            ("long", |x| (x * 1e6) as i64 as f32, 0),
            ("double", |x| x, 0),
            ("tanh", f32::tanh, 2),
        ];
        for ((name, function, bound), got) in functions.iter().zip(r[64..].chunks(64)) {
            for (&x, &got) in x.iter().zip(got) {
                let wanted = function(x);
                assert!(
                    ulps_of_single(got, wanted) <= *bound,
                    "{name}({x}): {got}, not {wanted}"
                );
            }
        }
    });
}

#[test]
fn integers() {
    on_each(|device| {
        let mut state = 1u64;
        let mut any = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            // Numbers of all magnitudes.
            ((state >> 3) as i64 ^ (state << 50) as i64) >> (state >> 58)
        };
        let mut data: Vec<_> = (0..64).map(|_| any() | 1).collect();
        data[..4].copy_from_slice(&[i64::MIN, 3, 5, i64::MIN]);
        let pairs = data.clone();
        data.resize(64 + 16 * 32, 0);
        let r = device.i64s("integers", 1, 4, &data);
        for (pair, got) in pairs.as_chunks().0.iter().zip(r[64..].as_chunks().0) {
            let [a, b] = *pair;
            let (ua, ub) = (a.cast_unsigned(), b.cast_unsigned());
            let wide = |v: i128| v as i64;
            let wanted: [i64; 16] = [
                a.wrapping_div(b),
                a.wrapping_rem(b),
                (ua / ub).cast_signed(),
                (ua % ub).cast_signed(),
                i64::from((a as i32).wrapping_div(b as i32 | 1)),
                i64::from(a as u32 % (b as u32 | 1)),
                a.wrapping_shl(b as u32),
                a.wrapping_shr(b as u32),
                ua.wrapping_shr(b as u32).cast_signed(),
                wide(((u128::from(ua) * u128::from(ub)) >> 64).cast_signed()),
                i64::from(a.count_ones()),
                i64::from((a | 1).leading_zeros()),
                i64::from(a as i8) + i64::from(b as u16),
                a.swap_bytes(),
                wide(i128::from(a) * 1000 / i128::from(b)),
                if a == b { -1 } else { i64::from(a < b) },
            ];
            assert_eq!(*got, wanted, "{a} and {b}");
        }
    });
}

#[test]
fn bytes_are_copied_and_set() {
    on_each(|device| {
        let (r, _) = device.run("bytes", 3, 4, &[0xaa; 4096]);
        for (i, got) in r.chunks(64).enumerate() {
            let from: [u8; 67] = array::from_fn(|j| (3 * j + i) as u8);
            let mut wanted = [i as u8; 64];
            let (to, count) = (i % 7, i % 58);
            wanted[to..to + count].copy_from_slice(&from[i % 3..i % 3 + count]);
            wanted.copy_within(..i % 33, 1);
            wanted[63] = u8::from(wanted[0] != from[0]);
            assert_eq!(got, wanted, "{i}");
        }
    });
}

#[test]
fn the_heap() {
    on_each(|device| {
        let before = device.machine.memory().used();
        let r = device.i64s("heap", 4, 4, &[-1; 64]);
        let wanted = (0..64i64).map(|i| (0..10 * i).map(|j| j ^ i).sum());
        assert_eq!(r, wanted.collect::<Vec<i64>>());
        assert_eq!(device.machine.memory().used(), before, "all is freed");
    });
}

#[test]
fn device_code_prints() {
    on_each(|device| {
        device.i64s("prints", 1, 4, &[-1 << 40]);
        let printed = device.printed.lock().expect("no test failed in it");
        let (first, rest) = printed.split_once("a line\n").expect("a line");
        assert_eq!(first, "42 and text,  3.14, -1099511627776 x%\n");
        let lines: HashSet<_> = rest.lines().map(str::to_owned).collect();
        assert_eq!(lines, (0..16).map(|i| format!("i={i}")).collect());
        assert_eq!(rest.lines().count(), 16);
    });
}

#[test]
fn functions_are_called_by_address() {
    on_each(|device| {
        let r = device.i64s("calls", 2, 2, &[0; 128]);
        for (i, &got) in (0..128).zip(&r) {
            let b = i / 4 % 4;
            // Ackermann's function of 2 is simple.
            let wanted = [2 + b + 3, 2 - b + 8, 2 * b + 8, 2 * b + 3 + 9];
            assert_eq!(got, wanted[i as usize % 4], "{i}");
        }
    });
}

#[test]
fn variables_have_initial_values() {
    on_each(|device| {
        let r = device.i64s("globals", 1, 1, &[0; 7]);
        let number = device.icvs().map_or(0, |_| i64::from(NUMBER));
        let table = [5 + 3, 15 + 97 + 98, -20 - 1, 10_000_000_000];
        let wanted = |knob, counter| [&[knob, counter], &table[..], &[number]].concat();
        assert_eq!(r, wanted(1234, -5));

        // The host changes one, as `target update` does; the other is unchanged.
        let knob = device.module.global("knob").expect("others may see it");
        assert_eq!(knob.bytes, 4);
        device.write(knob.address, &77u32.to_le_bytes());
        assert_eq!(device.i64s("globals", 1, 1, &[0; 7]), wanted(77, -4));
    });
}

/// Two matrices in the region's layout, and their product.
fn matrices(n: usize) -> (Vec<f64>, Vec<f64>) {
    let a = |i: usize, k: usize| (i * 7 + k * 3) as f64 % 11.0 - 5.0;
    let b = |k: usize, j: usize| (k * 5 + j) as f64 % 13.0 - 6.0;
    let all = || (0..n).flat_map(|i| (0..n).map(move |j| (i, j)));
    let mut data = vec![n as f64];
    data.extend(all().map(|(i, k)| a(i, k)));
    data.extend(all().map(|(k, j)| b(k, j)));
    data.resize(1 + 3 * n * n, f64::NAN);
    // The factors are small integers: it is exact in any order.
    let product = all().map(|(i, j)| (0..n).map(|k| a(i, k) * b(k, j)).sum());
    (data, product.collect())
}

#[test]
fn matrices_are_multiplied() {
    on_each(|device| {
        let n = 24;
        let (data, product) = matrices(n);
        let (r, _) = device.f64s("matrices", 4, 8, &data);
        assert_eq!(r[1 + 2 * n * n..], product);
    });
}

#[test]
#[ignore = "a measurement, for release builds"]
fn speed() {
    on_each(|device| {
        let n = 128;
        let (data, product) = matrices(n);
        let start = Instant::now();
        let (r, instructions) = device.f64s("matrices", 4, 8, &data);
        let seconds = start.elapsed().as_secs_f64();
        assert_eq!(r[1 + 2 * n * n..], product);
        println!(
            "sm_{}: {instructions} instructions of lanes in {seconds:.2} s, {:.0} million a second",
            device.machine.options().sm,
            instructions as f64 / seconds / 1e6
        );
    });
}
