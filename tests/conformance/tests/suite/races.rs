//! Calls under the race checker of emulated AMD GPUs, which finds nothing in them, and a kernel with a race.

use conformance::Target;
use revoff_host::{KernelArg, LaunchError};

use crate::session::{Session, acting};
use crate::{Test, test};

pub(crate) const TESTS: &[Test] = &[
    test!(calls_have_no_races)
        .alone_with(CHECKED)
        .only(Target::has_weak_memory),
    test!(a_race_ends_a_launch)
        .alone_with(CHECKED)
        .only(Target::has_weak_memory),
];

const CHECKED: &[(&str, &str)] = &[("REVOFF_EMU_CHECK", "1")];

/// Many teams, whose claims of slots contend.
fn calls_have_no_races(target: &Target) {
    let session = Session::new(target, &acting(|what| what));
    session.works();
    let (_, result) = session.act((8, 64), 3, 1, 4);
    result.expect("a launch without races");
}

/// Each team stores every other word, and loads the words beside it.
fn a_race_ends_a_launch(target: &Target) {
    const WORDS: u64 = 4;
    let session = Session::new(target, &acting(|what| what));
    let words = session.filled(&[1u64; WORDS as usize]);
    let stencil = |teams| {
        let args: [&dyn KernelArg; 5] = [&words, &words, &words, &words, &WORDS];
        session.run("stencil", (teams, 1), &args)
    };
    stencil(1).expect("one thread has no races");
    match stencil(2) {
        Err(LaunchError::Fault { fault, .. }) => {
            let message = fault.to_string();
            for part in ["race: ", "store by workgroup ", ": nothing orders them"] {
                assert!(message.contains(part), "{part}: {message}");
            }
        }
        other => panic!("{other:?}"),
    }
}
