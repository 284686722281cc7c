//! One check of `std` for each name: it prints the same on a device as on this machine.

mod files;
mod floats;
mod heap;
mod heap_speed;
mod locals;
mod locks;
mod narrow;
mod net;
mod processes;
mod sorting;
mod speed;
mod threads;

use std::collections::{BTreeMap, HashMap};
use std::io::{self, BufRead, Read, Write};
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use std::{env, fmt, path, process};

fn main() -> ExitCode {
    let mut arguments = env::args().skip(1);
    let check = arguments.next().expect("the name of a check");
    match &*check {
        "text" => text(),
        "arguments" => arguments.for_each(|argument| println!("{argument:?}")),
        "environment" => environment(),
        "input" => input(),
        "errors" => eprintln!("on the standard error"),
        "failure" => return ExitCode::from(3),
        "exit" => {
            print!("before the exit");
            io::stdout().flush().expect("flushed");
            process::exit(7)
        }
        "panic" => {
            print!("without an end of line");
            panic!("a panic with {} in it", "text")
        }
        "overflow" => println!("{}", arguments.next().map_or(0, |text| [1, 2][text.len()])),
        "result" => return report(fails()),
        "time" => time(),
        "random" => random(),
        "files" => files::check(&arguments.next().expect("a folder")),
        "large-files" => files::large(&arguments.next().expect("a folder")),
        "missing" => files::missing(),
        "floats" => floats::check(),
        "joins" => threads::joins(),
        "threads" => threads::check(),
        "too-many-threads" => threads::too_many(),
        "sorting" => sorting::check(),
        "scope-panics" => threads::scope_panics(),
        "detached" => threads::detached(),
        "locks" => locks::check(),
        "locals" => locals::check(),
        "narrow" => narrow::check(),
        "net" => net::check(),
        "many-waits" => net::many(),
        "net-denied" => net::denied(&arguments.next().expect("an address")),
        "pipes" => processes::pipes(),
        "children" => processes::children(&arguments.next().expect("a folder")),
        "children-denied" => processes::denied(),
        "memory" => memory(),
        "exhausted" => exhausted(),
        "heap-grows" => heap::grows(),
        "heap-grows-at-once" => heap::grows_at_once(),
        "heap-limit" => heap::limit(),
        "heap-stress" => heap::stress(),
        "heap-speed" => {
            let count = arguments.next().expect("a number").parse();
            heap_speed::measure(count.expect("a number"));
        }
        "print-speed" => {
            let [threads, count] = [(); 2].map(|()| arguments.next().expect("a number").parse());
            speed::print(threads.expect("a number"), count.expect("a number"));
        }
        "read-speed" => {
            let file = arguments.next().expect("a file");
            let piece = arguments.next().expect("a number").parse();
            speed::read(&file, piece.expect("a number"));
        }
        "heap-leak" => {
            let count = arguments.next().expect("a number").parse();
            let end = arguments.next().expect("an end");
            heap::leak(count.expect("a number"), &end);
        }
        // By a pointer: rustc ignores `inline(never)` for AMD GPUs, where all checks would take this frame.
        "large-frame" => std::hint::black_box(large_frame as fn())(),
        "recursion" => println!("{}", recursion(1500)),
        _ => panic!("no check {check}"),
    }
    ExitCode::SUCCESS
}

fn text() {
    let mut counts = HashMap::new();
    for word in "the quick brown fox jumps over the lazy dog by the river".split(' ') {
        *counts.entry(word.to_uppercase()).or_insert(0) += 1;
    }
    let sorted: BTreeMap<_, _> = counts.into_iter().collect();
    println!("{sorted:?}");
    println!("{:>10.3}|{:<8}|{:^+9}|{:#x}", 2_f64.sqrt(), "left", 42, 255);
    println!("{:e} {:?} {}", 6.02214076e23, f32::MIN_POSITIVE, 0.1 + 0.2);
    println!("{}", "grüße, 世界".chars().rev().collect::<String>());
    println!("{:?}", "12x".parse::<i32>());
    println!("{:?}", "3.25".parse::<f64>());
    for n in 0..100 {
        println!("line {n}");
    }
}

fn environment() {
    println!("{:?}", env::var("REVOFF_CHECK"));
    println!("{:?}", env::var("REVOFF_NOT_SET"));
    // SAFETY: there is only one thread.
    unsafe { env::set_var("REVOFF_NOT_SET", "now it is") };
    println!("{:?}", env::var("REVOFF_NOT_SET"));
    // SAFETY: as above.
    unsafe { env::remove_var("REVOFF_CHECK") };
    println!("{}", env::vars().any(|(name, _)| name == "REVOFF_CHECK"));
    println!("{}", env::current_dir().expect("a folder").display());
    println!("{}", env::current_exe().expect("a path").is_absolute());
    for path in ["/a/./b/", "//a", "./b/", "b"] {
        println!(
            "{} {:?}",
            Path::new(path).is_absolute(),
            path::absolute(path)
        );
    }
    let paths = env::join_paths(["/a", "/b c"]).expect("joined");
    println!(
        "{paths:?} {:?}",
        env::split_paths(&paths).collect::<Vec<_>>()
    );
}

fn input() {
    let mut first = String::new();
    io::stdin().lock().read_line(&mut first).expect("a line");
    let mut rest = Vec::new();
    io::stdin().lock().read_to_end(&mut rest).expect("the rest");
    let sum: u64 = rest.iter().map(|byte| u64::from(*byte)).sum();
    println!("{first:?}, then {} bytes with the sum {sum}", rest.len());
}

#[derive(Debug)]
struct Refused;

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("refused")
    }
}

impl std::error::Error for Refused {}

fn fails() -> Result<(), Box<dyn std::error::Error>> {
    "no number".parse::<u32>().map(drop).or(Err(Refused))?;
    Ok(())
}

fn report(result: Result<(), Box<dyn std::error::Error>>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            println!("{error}, {error:?}");
            ExitCode::FAILURE
        }
    }
}

fn time() {
    let start = Instant::now();
    std::thread::sleep(Duration::from_millis(20));
    let waited = start.elapsed();
    println!("{}", waited >= Duration::from_millis(20));
    let hour = Duration::from_secs(3600);
    println!(
        "{:?} {:?}",
        start.duration_since(start - hour),
        (start - hour).checked_duration_since(start)
    );
    let now = SystemTime::now();
    let years = now.duration_since(UNIX_EPOCH).expect("later").as_secs() / (365 * 86400);
    println!("{}", (50..200).contains(&years));
    let earlier = now - Duration::from_nanos(1);
    println!(
        "{:?} {:?}",
        now.duration_since(earlier),
        earlier.duration_since(now).is_err()
    );
}

fn random() {
    let keys = || format!("{:?}", HashMap::<u64, u64>::new().hasher());
    // All maps of a thread share their keys but for a counter.
    println!("{}", keys().len() > 10);
    // A crate that asks the system itself.
    let mut bytes = [[0; 32]; 2];
    for bytes in &mut bytes {
        println!("{:?}", getrandom::fill(bytes));
    }
    println!("{}", bytes[0] != bytes[1]);
}

fn memory() {
    let mut total = 0_usize;
    let mut kept: Vec<Vec<u8>> = Vec::new();
    for n in 0..2000_usize {
        let mut bytes = vec![n as u8; n * 7 % 4001];
        bytes.extend_from_slice(&[1; 100]);
        bytes.shrink_to_fit();
        total += bytes.len();
        kept.push(bytes);
        if n % 3 == 0 {
            kept.swap_remove(n / 4 % kept.len());
        }
    }
    let sum: u64 = kept.iter().flatten().map(|byte| u64::from(*byte)).sum();
    println!("{total} {} {sum}", kept.len());
    #[repr(align(4096))]
    struct Page([u8; 4096]);
    let page = Box::new(Page([3; 4096]));
    println!("{} {}", (&raw const *page).addr() % 4096, page.0[4095]);
}

/// Asks for more memory than any heap has.
fn exhausted() {
    // Hidden, or the compiler leaves out memory that nothing uses.
    let mut bytes = std::hint::black_box(Vec::<u8>::new());
    println!(
        "{}",
        std::hint::black_box(&mut bytes)
            .try_reserve(1 << 46)
            .is_err()
    );
    println!("{}", bytes.try_reserve(usize::MAX / 2 + 1).is_err());
}

/// Takes 3 MiB of stack.
#[inline(never)]
fn large_frame() {
    std::hint::black_box(&mut [1_u8; 3 << 20]);
}

/// Takes 512 bytes of stack, and more, for each step.
fn recursion(depth: u64) -> u64 {
    let mut here = [depth; 64];
    std::hint::black_box(&mut here);
    let rest = if depth == 0 { 0 } else { recursion(depth - 1) };
    rest + here[depth as usize % 64]
}
