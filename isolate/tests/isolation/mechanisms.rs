//! Kernels that lack mechanisms: filters of the test's own refuse their system calls.

use revoff_isolate::{Error, Isolated, Job, JobError, Mechanism, Sandbox};
use seccompiler::{BpfProgram, SeccompAction, SeccompFilter, apply_filter};

use crate::probes;

pub(crate) const REPORT: Job = Job::new("report", report);

fn report(isolated: Isolated) -> Result<Vec<u8>, JobError> {
    Ok(match isolated.report.missing {
        None => Vec::new(),
        Some(missing) => {
            let is_namespaces = missing.mechanism == Mechanism::Namespaces;
            format!("{is_namespaces} {missing}").into_bytes()
        }
    })
}

/// Calls a function on a thread for which, and for whose processes, these calls fail.
fn without<T: Send>(calls: &[(i64, i32)], function: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| {
        let on_thread = || {
            for (call, error) in calls {
                let filter = SeccompFilter::new(
                    [(*call, Vec::new())].into(),
                    SeccompAction::Allow,
                    SeccompAction::Errno(error.unsigned_abs()),
                    std::env::consts::ARCH
                        .try_into()
                        .expect("a known processor"),
                );
                let program: BpfProgram = filter.and_then(TryInto::try_into).expect("valid");
                apply_filter(&program).expect("installed");
            }
            function()
        };
        scope.spawn(on_thread).join().expect("no panic")
    })
}

/// As in many containers.
const NO_NAMESPACES: (i64, i32) = (libc::SYS_unshare, libc::EPERM);

const NO_LANDLOCK: (i64, i32) = (libc::SYS_landlock_create_ruleset, libc::ENOSYS);

pub(crate) fn without_namespaces() {
    without(&[NO_NAMESPACES], || {
        let text = REPORT.run(&Sandbox::new(), &[]);
        let text = match text {
            Ok(text) => String::from_utf8(text).expect("text"),
            Err(Error::Refused { message }) if message.contains("landlock") => {
                return skip(&message);
            }
            Err(error) => panic!("{error}"),
        };
        assert!(text.starts_with("true no namespaces (unshare"), "{text}");
        assert!(text.contains("cannot be changed"), "{text}");
        probes::check(Some(Mechanism::Namespaces));
        probes::grants_are_reached();
    });
}

pub(crate) fn without_landlock() {
    without(&[NO_LANDLOCK], || {
        let text = REPORT.run(&Sandbox::new(), &[]);
        let text = match text {
            Ok(text) => String::from_utf8(text).expect("text"),
            Err(Error::Refused { message }) if message.contains("namespaces") => {
                return skip(&message);
            }
            Err(error) => panic!("{error}"),
        };
        assert!(text.starts_with("false no landlock ("), "{text}");
        probes::check(Some(Mechanism::Landlock));
        probes::grants_are_reached();
    });
}

/// The kernel has only one of the mechanisms, of which these tests take away one at a time.
fn skip(reason: &str) {
    use std::io::Write;
    let _ = writeln!(
        std::io::stderr(),
        "\nSKIPPED isolation by one mechanism: {reason}"
    );
}

pub(crate) fn without_both() {
    without(&[NO_NAMESPACES, NO_LANDLOCK], || {
        let error = REPORT.run(&Sandbox::new(), &[]).expect_err("no mechanism");
        let message = error.to_string();
        assert!(matches!(error, Error::Refused { .. }), "{message}");
        for word in [
            "neither namespaces",
            "unshare",
            "nor landlock",
            "without isolation",
        ] {
            assert!(message.contains(word), "{message}");
        }
    });
}

pub(crate) fn without_filters() {
    without(&[(libc::SYS_seccomp, libc::EINVAL)], || {
        let error = REPORT.run(&Sandbox::new(), &[]).expect_err("no mechanism");
        let message = error.to_string();
        assert!(matches!(error, Error::Refused { .. }), "{message}");
        assert!(message.contains("no filter of system calls"), "{message}");
    });
}
