//! A device that writes anything anywhere in the slots and the bounce area of `native`: its launch
//! fails, the process and other runtimes work on, and memory of another one does not change. `ci/asan`
//! runs this for ten million rounds under the address sanitizer.

use conformance::Target;
use revoff_host::LaunchError;
use revoff_host::shared_abi::wire::WireKind;

use crate::probe::Probe;
use crate::random::rounds;
use crate::raw::words;
use crate::session::{Session, acting, read};
use crate::{Test, test};

pub(crate) const TESTS: &[Test] =
    &[test!(random_writes_fail_only_their_launch).only(|target| target.wire == WireKind::NATIVE)];

/// Rounds of one launch.
const ROUNDS_OF_LAUNCH: u64 = 100_000;

fn random_writes_fail_only_their_launch(target: &Target) {
    let rounds = rounds(if target.is_emu() { 200 } else { 20_000 });
    let mut functions = acting(|what| what);
    let probe = Probe::new("probe", |args| {
        for arg in args.iter_mut().filter(|arg| arg.kind.writes_device()) {
            arg.bytes.fill(0x77);
        }
        Ok(())
    });
    functions.add(probe).expect("the first of its name");
    let other = Session::new(target, &functions);
    let other_memory = other.filled(&[0x4444_u64; 1000]);
    let mut done = 0;
    while done < rounds {
        let now = ROUNDS_OF_LAUNCH.min(rounds - done);
        done += now;
        let session = Session::build(
            target,
            target.builder().slots(4).bounce_bytes(1),
            &functions,
        );
        let data = session.zeroed::<u64>(1000);
        let (start, bytes) = (data.address().0, data.bytes());
        let func = words(&session).probe;
        let hints = session.filled(&[func, start, start + 8, start + bytes, bytes, bytes - 8, 0]);
        let (seed, count) = (done << 20 | 0x2545, hints.bytes() / 8);
        let result = session.run("write_randomly", (1, 1), &[&seed, &now, &hints, &count]);
        // The host takes some requests of each launch, and most of them are invalid.
        match result {
            Err(LaunchError::Call { .. }) => {}
            Err(other) => panic!("round {done}: {other}"),
            Ok(_) => panic!("round {done}: no call failed"),
        }
        let words = read::<u64>(&other_memory);
        assert!(words.iter().all(|&word| word == 0x4444), "round {done}");
    }
    other.works();
}
