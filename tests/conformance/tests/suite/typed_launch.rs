//! Kernels with a declaration shared by host and image.

use std::ops::ControlFlow;
use std::sync::Mutex;
use std::sync::mpsc::channel;
use std::time::Duration;

use conformance::{Target, process};
use conformance_calls::Pair;
use conformance_calls::launch::{AskHost, EveryForm, Increment, IncrementAndTrap, Places, other};
use revoff_fn::{Argument, Kernel};
use revoff_host::image::ImageError;
use revoff_host::{Functions, Grid, LaunchError, RuntimeError, Transfers};

use crate::session::{Session, acting, acting_or};
use crate::{Test, test};

pub(crate) const TESTS: &[Test] = &[
    test!(every_form_is_passed),
    test!(empty_and_large_slices),
    test!(a_kernel_asks_in_the_middle),
    test!(nothing_comes_back_from_a_failed_launch),
    // Resources of such a launch are never freed.
    test!(nothing_comes_back_after_the_deadline).alone(),
    test!(nothing_comes_back_after_an_interruption).alone(),
    test!(nothing_comes_back_from_a_kernel_that_panics).only(Target::survives_faults),
    test!(the_same_memory_goes_once),
    test!(addresses_keep_their_alignment),
    test!(data_that_is_there_is_not_copied),
    test!(parts_of_what_is_there_are_there),
    test!(what_comes_back_alone_is_zero),
    // Forgotten guards keep their memory for the life of the process.
    test!(nested_guards_copy_once).alone(),
    test!(a_part_that_no_guard_has_is_absent),
    test!(who_has_data_alone_finds_no_forgotten_guard).alone(),
    test!(partly_there_is_an_error),
    // All tests of one process share a device's memory.
    test!(memory_is_free_again)
        .alone()
        .only(Target::shares_no_memory),
    test!(another_declaration),
    test!(many_threads_launch_at_once),
];

const GRID: Grid = Grid {
    teams: 2,
    threads: 4,
};

fn session(target: &Target) -> Session {
    Session::new(target, &Functions::new())
}

/// The copies since `before`: (copies, bytes) to the device and from it.
fn since(session: &Session, before: Transfers) -> ((u64, u64), (u64, u64)) {
    let now = session.runtime.transfers();
    (
        (now.to - before.to, now.to_bytes - before.to_bytes),
        (now.from - before.from, now.from_bytes - before.from_bytes),
    )
}

/// Leaves non-zero bytes in memory that the next launch gets.
fn soil(session: &Session) {
    drop(session.filled(&[0xff_u8; 1 << 16]));
}

fn run_every_form(session: &Session, count: u32) {
    soil(session);
    let kernel = session.program.bind::<EveryForm>().unwrap();
    let words: Vec<u32> = (1..=count).collect();
    let pair = Pair { left: 3, right: 4 };
    let mut sums = vec![0.5; words.len()];
    let mut total = Pair {
        left: 10,
        right: 20,
    };
    let mut squares = vec![u64::MAX; words.len()];
    let (mut swapped, mut seen) = (total, total);
    let launched = kernel.launch(
        GRID,
        2.0,
        &words,
        &pair,
        9,
        &mut sums,
        &mut total,
        &mut squares,
        &mut swapped,
        &mut seen,
    );
    launched.unwrap();
    for (i, &word) in words.iter().enumerate() {
        assert_eq!(sums[i], 0.5 + f64::from(word) * 2.0);
        assert_eq!(squares[i], u64::from(word).pow(2));
    }
    assert_eq!((total.left, total.right), (13, 24));
    assert_eq!((swapped.left, swapped.right), (4, 3));
    assert_eq!((seen.left, seen.right), (0, 9), "all of `Out` was zero");
}

fn every_form_is_passed(target: &Target) {
    let session = session(target);
    let before = session.runtime.transfers();
    run_every_form(&session, 100);
    // words, pair, sums, total; sums, total, squares, swapped, seen
    let to = (4, 400 + 16 + 800 + 16);
    let from = (5, 800 + 16 + 800 + 16 + 16);
    assert_eq!(since(&session, before), (to, from));
}

fn empty_and_large_slices(target: &Target) {
    let session = session(target);
    let before = session.runtime.transfers();
    run_every_form(&session, 0);
    assert_eq!(since(&session, before), ((2, 32), (3, 48)));
    run_every_form(&session, if target.is_emu() { 10_000 } else { 1_000_000 });

    let kernel = session.program.bind::<Increment>().unwrap();
    let before = session.runtime.transfers();
    kernel.launch(GRID, &mut []).unwrap();
    assert_eq!(since(&session, before), ((0, 0), (0, 0)));
}

fn a_kernel_asks_in_the_middle(target: &Target) {
    let session = Session::new(target, &acting(|what| 10 * what));
    let kernel = session.program.bind::<AskHost>().unwrap();
    let words: Vec<u32> = (0..50).collect();
    let mut sums = vec![1; 50];
    let mut threads = 0;
    let grid = Grid {
        teams: 1,
        threads: 3,
    };
    kernel
        .launch(grid, &words, &mut sums, &mut threads)
        .unwrap();
    let expected: Vec<u64> = (0..50).map(|word| 1 + 10 * word).collect();
    assert_eq!((sums, threads), (expected, 3));
    assert_eq!(session.runtime.requests(), 50);
}

fn nothing_comes_back_from_a_failed_launch(target: &Target) {
    let refuse = |what| match what {
        7 => Err("not this one".to_owned()),
        what => Ok(what),
    };
    let session = Session::new(target, &acting_or(refuse));
    let kernel = session.program.bind::<AskHost>().unwrap();
    let words: Vec<u32> = (0..20).collect();
    let mut sums = vec![100; 20];
    let mut threads = 77;
    let before = session.runtime.transfers();
    let error = kernel
        .launch(GRID, &words, &mut sums, &mut threads)
        .unwrap_err();
    assert!(
        matches!(
            error,
            RuntimeError::Launch(LaunchError::Call { failed: 1, .. })
        ),
        "{error}"
    );
    assert_eq!((sums, threads), (vec![100; 20], 77));
    assert_eq!(since(&session, before).1, (0, 0));
}

fn nothing_comes_back_after_the_deadline(target: &Target) {
    let (release, wait) = channel::<()>();
    let wait = Mutex::new(wait);
    let functions = acting(move |what| {
        // Ends with the sender.
        let _ = wait.lock().unwrap().recv();
        what
    });
    let builder = target.builder().deadline(Duration::from_millis(200));
    let session = Session::build(target, builder, &functions);
    let kernel = session.program.bind::<AskHost>().unwrap();
    let words: Vec<u32> = (0..20).collect();
    let (mut sums, mut threads) = (vec![100; 20], 77);
    let before = session.runtime.transfers();
    let error = kernel
        .launch(GRID, &words, &mut sums, &mut threads)
        .unwrap_err();
    assert!(
        matches!(error, RuntimeError::Launch(LaunchError::Deadline { .. })),
        "{error}"
    );
    let used = session.runtime.memory().used;
    drop(release);
    let is_over = || u64::from(session.runtime.requests() < 20);
    assert_eq!(process::settle(is_over, 0), 0, "the kernel goes on");
    assert_eq!(session.runtime.memory().used, used, "with its memory");
    assert_eq!((sums, threads), (vec![100; 20], 77));
    assert_eq!(since(&session, before).1, (0, 0));
}

/// Of a kernel that is bound by its name, and launched with arguments made one by one.
fn nothing_comes_back_after_an_interruption(target: &Target) {
    let (release, wait) = channel::<()>();
    let wait = Mutex::new(wait);
    let functions = acting(move |what| {
        // Ends with the sender.
        let _ = wait.lock().unwrap().recv();
        what
    });
    let session = Session::build(target, target.builder(), &functions);
    let kernel = session
        .program
        .bind_declared(AskHost::NAME, AskHost::INFO)
        .unwrap();
    let words: Vec<u32> = (0..20).collect();
    let (mut sums, mut threads) = (vec![100; 20], 77);
    let before = session.runtime.transfers();
    let mut ids = Vec::new();
    let mut watch = |id| {
        ids.push(id);
        match ids.len() {
            3.. => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        }
    };
    let arguments = [
        Argument::to_slice(&words),
        Argument::tofrom_slice(&mut sums),
        Argument::tofrom(&mut threads),
    ];
    // SAFETY: these are arguments of the declaration, borrowed for the launch.
    let error = unsafe { kernel.launch_watched(GRID, &arguments, &mut watch) }.unwrap_err();
    assert!(
        matches!(error, RuntimeError::Launch(LaunchError::Interrupted { .. })),
        "{error}"
    );
    assert!(ids[0] != 0 && ids == [ids[0]; 3], "{ids:?}");
    drop(release);
    assert_eq!((sums, threads), (vec![100; 20], 77));
    assert_eq!(since(&session, before).1, (0, 0));
}

fn nothing_comes_back_from_a_kernel_that_panics(target: &Target) {
    let session = session(target);
    let kernel = session.program.bind::<IncrementAndTrap>().unwrap();
    let mut counts = vec![5; 1000];
    let error = kernel.launch(GRID, &mut counts).unwrap_err();
    assert!(
        matches!(error, RuntimeError::Launch(LaunchError::Fault { .. })),
        "{error}"
    );
    assert_eq!(counts, [5; 1000]);
    run_every_form(&session, 10);
}

fn run_places(session: &Session, bytes: &[u8], words: &[u64], more: &[u64]) -> [u64; 6] {
    let kernel = session.program.bind::<Places>().unwrap();
    let mut places = [u64::MAX; 6];
    kernel
        .launch(GRID, bytes, words, more, &mut places)
        .unwrap();
    let lens = [bytes.len() as u64, words.len() as u64, more.len() as u64];
    assert_eq!([places[1], places[3], places[5]], lens);
    places
}

fn the_same_memory_goes_once(target: &Target) {
    let session = session(target);
    let words: Vec<u64> = (0..100).collect();
    let to = |session: &Session, one: &[u64], other: &[u64]| {
        let before = session.runtime.transfers();
        let places = run_places(session, &[], one, other);
        let ((copies, bytes), from) = since(session, before);
        assert_eq!(from, (1, 48));
        ((copies, bytes), places[4].wrapping_sub(places[2]) as i64)
    };
    assert_eq!(to(&session, &words, &words), ((1, 800), 0));
    assert_eq!(to(&session, &words, &words[10..20]), ((1, 800), 80));
    assert_eq!(to(&session, &words[10..20], &words), ((1, 800), -80));
    // They overlap: only the new part of the second is copied, and nothing twice.
    assert_eq!(to(&session, &words[..60], &words[50..]), ((2, 800), 400));
    assert_eq!(to(&session, &words[50..], &words[..60]), ((2, 800), -400));
    // Adjacent ranges share nothing.
    let ((copies, bytes), _) = to(&session, &words[..50], &words[50..]);
    assert_eq!((copies, bytes), (2, 800));
}

/// Words at any offset of mapped bytes are aligned on the device too.
fn addresses_keep_their_alignment(target: &Target) {
    let session = session(target);
    let words: Vec<u64> = (0..100).collect();
    let bytes = revoff_fn::zerocopy::IntoBytes::as_bytes(&words[..]);
    for skip in [0, 1, 3, 8, 11] {
        let mapped = session.runtime.map_to(&bytes[skip..]).unwrap();
        let places = run_places(&session, &mapped, &words[5..], &[]);
        assert_eq!(places[0] % 8, skip as u64 % 8);
        assert_eq!(places[2], places[0] + 40 - skip as u64);
        // An empty slice has an address without memory, which is aligned nevertheless.
        assert_eq!((places[4] != 0, places[4] % 8), (true, 0));
    }
}

fn data_that_is_there_is_not_copied(target: &Target) {
    let session = session(target);
    let kernel = session.program.bind::<Increment>().unwrap();
    let mut counts = vec![1u32; 1000];
    let start = session.runtime.transfers();
    let mut mapped = session.runtime.map_tofrom(&mut counts).unwrap();
    assert_eq!(since(&session, start), ((1, 4000), (0, 0)));
    for _ in 0..3 {
        kernel.launch(GRID, &mut mapped).unwrap();
    }
    assert_eq!(since(&session, start), ((1, 4000), (0, 0)));
    assert_eq!(mapped[..], [1; 1000], "the host has not asked yet");
    mapped.update_from().unwrap();
    assert_eq!(since(&session, start), ((1, 4000), (1, 4000)));
    assert_eq!(mapped[..], [4; 1000]);
    mapped[999] = 50;
    mapped.update_to().unwrap();
    assert_eq!(since(&session, start), ((2, 8000), (1, 4000)));
    kernel.launch(GRID, &mut mapped).unwrap();
    mapped.finish().unwrap();
    assert_eq!(since(&session, start), ((2, 8000), (2, 8000)));
    assert_eq!((counts[0], counts[999]), (5, 51));

    // Without a guard it is copied both ways again.
    kernel.launch(GRID, &mut counts).unwrap();
    assert_eq!(since(&session, start), ((3, 12_000), (3, 12_000)));
    assert_eq!((counts[0], counts[999]), (6, 52));
}

fn parts_of_what_is_there_are_there(target: &Target) {
    let session = session(target);
    let words: Vec<u64> = (0..100).collect();
    let mapped = session.runtime.map_to(&words).unwrap();
    let before = session.runtime.transfers();
    let whole = run_places(&session, &[], &words, &mapped);
    assert_eq!(whole[2], whole[4]);
    let parts = run_places(&session, &[], &words[10..], &mapped[..3]);
    assert_eq!((parts[2], parts[4]), (whole[2] + 80, whole[2]));
    assert_eq!(since(&session, before), ((0, 0), (2, 96)));
    drop(mapped);
    run_places(&session, &[], &words, &[]);
    assert_eq!(since(&session, before), ((1, 800), (3, 144)));

    let kernel = session.program.bind::<Increment>().unwrap();
    let mut counts = [0u32; 10];
    let mut mapped = session.runtime.map_tofrom(&mut counts).unwrap();
    kernel.launch(GRID, &mut mapped[2..4]).unwrap();
    drop(mapped);
    assert_eq!(counts, [0, 0, 1, 1, 0, 0, 0, 0, 0, 0]);
}

fn what_comes_back_alone_is_zero(target: &Target) {
    let session = session(target);
    let kernel = session.program.bind::<Increment>().unwrap();
    let mut counts = [9u32; 100];
    soil(&session);
    let before = session.runtime.transfers();
    let mut mapped = session.runtime.map_from(&mut counts).unwrap();
    kernel.launch(GRID, &mut mapped).unwrap();
    kernel.launch(GRID, &mut mapped).unwrap();
    drop(mapped);
    assert_eq!(counts, [2; 100]);
    assert_eq!(since(&session, before), ((0, 0), (1, 400)));
    drop(session.runtime.map_from::<u32>(&mut []).unwrap());
}

fn nested_guards_copy_once(target: &Target) {
    let session = session(target);
    let kernel = session.program.bind::<Increment>().unwrap();
    let mut counts = [0u32; 100];
    let before = session.runtime.transfers();
    let mut outer = session.runtime.map_tofrom(&mut counts).unwrap();
    {
        let mut inner = session.runtime.map_tofrom(&mut outer[50..]).unwrap();
        kernel.launch(GRID, &mut inner).unwrap();
        inner.update_from().unwrap();
        assert_eq!(inner[..], [1; 50]);
        inner.finish().unwrap();
    }
    assert_eq!(since(&session, before), ((1, 400), (1, 200)));
    kernel.launch(GRID, &mut outer).unwrap();
    // A forgotten guard excludes no others.
    std::mem::forget(session.runtime.map_tofrom(&mut outer[..1]).unwrap());
    drop(outer);
    assert_eq!(since(&session, before), ((1, 400), (2, 600)));
    assert_eq!((counts[0], counts[99]), (1, 2));
    kernel.launch(GRID, &mut counts).unwrap();
    assert_eq!((counts[0], counts[99]), (2, 3));
}

/// The first guard of several ends; the part that only it had may change, and is copied again.
fn a_part_that_no_guard_has_is_absent(target: &Target) {
    let session = session(target);
    let words: Vec<u64> = (0..100).collect();
    let all = session.runtime.map_to(&words).unwrap();
    let part = session.runtime.map_to(&words[..50]).unwrap();
    let before = session.runtime.transfers();
    drop(all);
    run_places(&session, &[], &words[..50], &words[20..30]);
    assert_eq!(since(&session, before).0, (0, 0));
    run_places(&session, &[], &words[50..], &[]);
    assert_eq!(since(&session, before).0, (1, 400));
    drop(part);
    run_places(&session, &[], &words[..50], &[]);
    assert_eq!(since(&session, before).0, (2, 800));
}

/// A forgotten guard of `map_to` does not keep the results of a launch from the host.
fn who_has_data_alone_finds_no_forgotten_guard(target: &Target) {
    let session = session(target);
    let kernel = session.program.bind::<Increment>().unwrap();
    let mut counts = [0u32; 100];
    let forget = |counts: &[u32]| std::mem::forget(session.runtime.map_to(counts).unwrap());

    forget(&counts);
    kernel.launch(GRID, &mut counts).unwrap();
    assert_eq!(counts, [1; 100]);

    // Several of them, of which the launch has parts.
    forget(&counts[..30]);
    forget(&counts[40..60]);
    kernel.launch(GRID, &mut counts[20..50]).unwrap();
    assert_eq!((counts[20], counts[49], counts[50]), (2, 2, 1));

    // The device had other numbers, and would not have copied these back.
    forget(&counts);
    counts.fill(7);
    let mut mapped = session.runtime.map_tofrom(&mut counts).unwrap();
    kernel.launch(GRID, &mut mapped).unwrap();
    // This one is a part of mapped data, and removes nothing else.
    forget(&mapped[..10]);
    kernel.launch(GRID, &mut mapped).unwrap();
    mapped.finish().unwrap();
    assert_eq!(counts, [9; 100]);

    // Another guard has the rest, and keeps it.
    forget(&counts);
    let (left, right) = counts.split_at_mut(50);
    let right = session.runtime.map_to(right).unwrap();
    kernel.launch(GRID, left).unwrap();
    let before = session.runtime.transfers();
    drop(session.runtime.map_to(&right).unwrap());
    assert_eq!(since(&session, before), ((0, 0), (0, 0)));
    drop(right);
    assert_eq!((counts[49], counts[50]), (10, 9));
}

fn partly_there_is_an_error(target: &Target) {
    let session = session(target);
    let kernel = session.program.bind::<Places>().unwrap();
    let words: Vec<u64> = (0..100).collect();
    let mapped = session.runtime.map_to(&words[10..20]).unwrap();
    let at = |range: std::ops::Range<usize>| {
        let start = words[range.clone()].as_ptr().addr();
        let (end, len) = (start + 8 * range.len(), 8 * range.len());
        format!("[{start:#x}, {end:#x}) ({len} bytes)")
    };
    let mut places = [7; 6];
    let before = session.runtime.transfers();
    for range in [0..100, 5..15, 15..25] {
        let text = kernel
            .launch(GRID, &[], &[], &words[range.clone()], &mut places)
            .unwrap_err()
            .to_string();
        for part in ["argument 2 of kernel `places`", &at(range), &at(10..20)] {
            assert!(text.contains(part), "no {part} in: {text}");
        }
    }
    let text = session
        .runtime
        .map_to(&words)
        .map(drop)
        .unwrap_err()
        .to_string();
    assert!(
        text.contains("map_to") && text.contains(&at(10..20)),
        "{text}"
    );
    assert_eq!(
        (since(&session, before), places),
        (((0, 0), (0, 0)), [7; 6])
    );
    drop(mapped);
    run_places(&session, &[], &[], &words);
}

fn memory_is_free_again(target: &Target) {
    let session = session(target);
    run_every_form(&session, 10);
    let used = session.runtime.memory().used;
    let words: Vec<u64> = (0..100).collect();
    let mapped = session.runtime.map_to(&words).unwrap();
    let again = session.runtime.map_to(&words[1..]).unwrap();
    drop(mapped);
    run_places(&session, &[1, 2, 3], &words[2..], &[]);
    assert!(session.runtime.memory().used > used);
    drop(again);
    run_every_form(&session, 1000);
    assert_eq!(session.runtime.memory().used, used);
}

fn another_declaration(target: &Target) {
    let session = session(target);
    let text = match session.program.bind::<other::Increment>() {
        Err(RuntimeError::Image(error @ ImageError::OtherKernel { .. })) => error.to_string(),
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("bound to a kernel of another declaration"),
    };
    let (here, there) = (other::Increment::SIGNATURE, Increment::SIGNATURE);
    for part in [
        "`increment`",
        &format!("{here:#018x}"),
        &format!("{there:#018x}"),
        "build both",
    ] {
        assert!(text.contains(part), "no {part} in: {text}");
    }
    assert!(matches!(
        session.program.bind::<other::CallForms>(),
        Err(RuntimeError::Image(ImageError::OtherKernel {
            image: Some(_),
            ..
        }))
    ));
}

/// Threads that map and launch the same data, which is on the device once.
fn many_threads_launch_at_once(target: &Target) {
    let session = session(target);
    let words: Vec<u64> = (0..100).collect();
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let (session, words) = (&session, &words);
            scope.spawn(move || {
                for round in 0..if target.is_emu() { 5 } else { 50 } {
                    if (thread + round) % 2 == 0 {
                        let mapped = session.runtime.map_to(words).unwrap();
                        let places = run_places(session, &[], words, &mapped[50..]);
                        assert_eq!(places[4], places[2] + 400);
                    } else {
                        run_places(session, &[], words, words);
                    }
                }
            });
        }
    });
}
