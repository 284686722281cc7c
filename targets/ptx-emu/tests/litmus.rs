//! Litmus tests: the axioms' verdict, and whether the checker, watching the threads run, reports
//! the same races.

mod axioms;
mod run;

use self::axioms::{Action, Races, Test, Verdict};
use self::run::Bench;

fn tests(text: &str) -> Vec<Test> {
    let tests = Test::parse(text).expect("tests can be read");
    assert!(!tests.is_empty());
    tests
}

const ALL: [&str; 3] = [
    include_str!("litmus/published.litmus"),
    include_str!("litmus/shapes.litmus"),
    include_str!("litmus/ring.litmus"),
];

#[test]
fn the_axioms_say_what_is_known() {
    let mut wrong = Vec::new();
    for test in ALL.into_iter().flat_map(tests) {
        let verdict = test.judge();
        if test.expect != Some(verdict) {
            wrong.push(format!("{}: {verdict:?}", test.name));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Tests only for the axioms. The checker cannot run them: it assumes that the host's stores
/// release, it has one device, threads that wait for each other never finish, and a polling thread
/// may acquire earlier stores.
const UNRUN: [&str; 5] = [
    "MP+store-between",
    "Ring+reuse-relaxed",
    "MP+other-device.gpu",
    "MP+other-device.sys",
    "LB+control",
];

#[test]
fn threads_that_run_race_as_the_axioms_say() {
    let bench = Bench::new();
    let mut wrong = Vec::new();
    for test in ALL.into_iter().flat_map(tests) {
        if UNRUN.contains(&test.name.as_str()) {
            continue;
        }
        let expected = test.expect.map_or(Races::Clean, |expect| expect.races);
        let (races, report) = bench.run(&test);
        if races != expected {
            wrong.push(format!("{}: {races:?} {report}", test.name));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// The ways to store or load a flag.
const FLAGS: [(&str, u32); 7] = [
    ("weak", 0),
    ("relaxed.cta", 1),
    ("relaxed.gpu", 2),
    ("relaxed.sys", 3),
    ("", 1),
    ("", 2),
    ("", 3),
];
const SCOPES: [&str; 4] = ["", "cta", "gpu", "sys"];

/// Message passing with one kind of store and one of load; `wide` is the scope that includes both
/// threads.
fn message(store: usize, load: usize, from: &str, to: &str, wide: u32) -> Test {
    let name = |at: usize, order: &str| match FLAGS[at] {
        ("", scope) => format!("{order}.{}", SCOPES[scope as usize]),
        (name, _) => name.to_owned(),
    };
    let (stores, loads) = (name(store, "release"), name(load, "acquire"));
    let is_weak = store == 0 || load == 0;
    let is_wide = FLAGS[store].1.min(FLAGS[load].1) >= wide;
    let is_order = store >= 4 && load >= 4;
    let races = match (is_weak, is_wide, is_order) {
        (true, ..) => "race",
        (_, false, _) => "narrow",
        (_, _, false) => "race",
        _ => "clean",
    };
    let outcome = if races == "clean" {
        "forbidden"
    } else {
        "allowed"
    };
    let text = format!(
        "test MP {from} {stores} to {to} {loads}
         {from} | {to}
         st.weak [x], 1 | ld.{loads} r0, [y]
         st.{stores} [y], 1 | @r0=1 ld.weak r1, [x]
         exists 1:r0=1 & 1:r1=0
         expect {outcome} {races}"
    );
    tests(&text).remove(0)
}

/// All combinations.
fn messages() -> Vec<Test> {
    let places = [("block 0", "block 0", 1), ("block 0", "block 1", 2)];
    let all = |from: std::ops::Range<usize>, to: std::ops::Range<usize>, (a, b, wide)| {
        let pairs = from.flat_map(move |s| to.clone().map(move |l| (s, l)));
        pairs.map(move |(s, l)| message(s, l, a, b, wide))
    };
    let mut tests: Vec<Test> = places
        .into_iter()
        .flat_map(|place| all(0..7, 0..7, place))
        .collect();
    tests.extend(all(0..7, 6..7, ("block 0", "host", 3)));
    tests.extend(all(6..7, 0..7, ("host", "block 0", 3)));
    tests
}

#[test]
fn messages_pass_by_release_and_acquire_of_wide_scopes_alone() {
    for test in messages() {
        assert_eq!(Some(test.judge()), test.expect, "{}", test.name);
    }
}

#[test]
fn messages_that_do_not_pass_are_reported() {
    let bench = Bench::new();
    let mut wrong = Vec::new();
    for test in messages() {
        let expected = test.expect.map(|expect| expect.races);
        let (races, report) = bench.run(&test);
        if Some(races) != expected {
            wrong.push(format!("{}: {races:?} {report}", test.name));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn a_test_that_cannot_be_read_says_why() {
    for (text, line) in [
        ("st.weak [x], 1", 1),
        ("test t\nblock 0\nst.weak x, 1", 3),
        ("test t\nblock 0\nst.strong [x], 1", 3),
        ("test t\nblock 0\nst.relaxed [x], 1", 3),
        ("test t\nblock 0 | block\n", 2),
        ("test t\nblock 0\nexists 1:r0=1", 3),
        ("test t\nblock 0\nexpect maybe clean", 3),
    ] {
        let error = Test::parse(text).expect_err(text);
        assert!(error.starts_with(&format!("line {line}: ")), "{error}");
    }
}

/// Without its axiom each of these would be allowed: if one is allowed once its ordering is
/// removed, the axiom works.
#[test]
fn each_thing_that_orders_is_needed() {
    let forbidden = Verdict {
        allowed: false,
        races: Races::Clean,
    };
    let mut tried = 0;
    for test in ALL.into_iter().flat_map(tests) {
        let is_ordered = test.expect == Some(forbidden) && test.threads.len() > 1;
        if !is_ordered || !test.name.starts_with("MP") && !test.name.starts_with("SB") {
            continue;
        }
        for (thread, step) in run::orders(&test) {
            // Release and acquire have no effect on this test.
            let is_fence = test.threads[thread].steps[step].action == Action::Fence;
            if test.name.starts_with("SB") && !is_fence {
                continue;
            }
            let mut weaker = test.clone();
            run::weaken(&mut weaker.threads[thread].steps[step]);
            assert!(
                weaker.judge().allowed,
                "{} without {thread}/{step}",
                test.name
            );
            tried += 1;
        }
    }
    assert!(tried > 8, "{tried}");
}
