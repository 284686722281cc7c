//! Kernels that lack mechanisms: filters of the test's own refuse their system calls.

use std::ffi::CStr;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::FromRawFd;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::Arc;

use revoff_isolate::{Error, Isolated, Job, JobError, Mechanism, Sandbox};
use seccompiler::{BpfProgram, SeccompAction, SeccompFilter, apply_filter};

use crate::probes;

pub(crate) const REPORT: Job = Job::new("report", report);

/// Returns the mechanism that is missing, and the report's text.
fn report(isolated: Isolated) -> Result<Vec<u8>, JobError> {
    let missing = isolated.report.missing;
    let text = missing.map(|missing| format!("{:?} {missing}", missing.mechanism));
    Ok(text.unwrap_or_default().into_bytes())
}

/// The system's own mechanisms, found out without the crate.
pub(crate) struct System {
    /// Or why not.
    namespaces: Result<(), Lack>,
    /// Its version, which is positive where it is enabled.
    landlock: i64,
    is_root: bool,
}

/// A requirement of a test that a system does not meet.
#[derive(Clone, Debug, thiserror::Error)]
pub(crate) enum Lack {
    #[error("no namespaces: {0}")]
    Namespaces(Arc<io::Error>),
    #[error("no landlock")]
    Landlock,
    #[error("landlock has version {0}")]
    LandlockVersion(i64),
    #[error("{0}; {1}")]
    Both(Box<Lack>, Box<Lack>),
    #[error("this user is not root")]
    Root,
}

/// Whether a test applies to a system.
pub(crate) type Fits = Result<(), Lack>;

impl System {
    /// Whether there are namespaces.
    pub(crate) fn namespaces(&self) -> Fits {
        self.namespaces.clone()
    }

    /// Whether landlock is enough without namespaces.
    pub(crate) fn landlock_alone(&self) -> Fits {
        match self.landlock {
            3.. => Ok(()),
            version @ 1.. => Err(Lack::LandlockVersion(version)),
            _ => Err(Lack::Landlock),
        }
    }

    /// Whether a process can be isolated.
    pub(crate) fn isolates(&self) -> Fits {
        self.namespaces().or_else(|no_namespaces| {
            let both = |no_landlock| Lack::Both(no_namespaces.into(), Box::new(no_landlock));
            self.landlock_alone().map_err(both)
        })
    }

    /// Whether a process can be isolated by both.
    pub(crate) fn is_complete(&self) -> Fits {
        self.namespaces()?;
        match self.landlock {
            1.. => Ok(()),
            _ => Err(Lack::Landlock),
        }
    }

    /// Whether a process can be isolated by either.
    pub(crate) fn has_choice(&self) -> Fits {
        self.namespaces()?;
        self.landlock_alone()
    }

    /// The mechanism that a sandbox lacks, if a process can be isolated.
    pub(crate) fn missing(&self) -> Option<Mechanism> {
        match (&self.namespaces, self.landlock > 0) {
            (Err(_), _) => Some(Mechanism::Namespaces),
            (Ok(()), false) => Some(Mechanism::Landlock),
            (Ok(()), true) => None,
        }
    }

    /// Whether a process can be isolated, and this one may become another user's.
    pub(crate) fn is_root(&self) -> Fits {
        self.isolates()?;
        match self.is_root {
            true => Ok(()),
            false => Err(Lack::Root),
        }
    }

    pub(crate) fn look() -> Self {
        const VERSION: libc::c_ulong = 1;
        // SAFETY: the call only returns the version, with this flag.
        let version = unsafe {
            let none = std::ptr::null::<libc::c_void>();
            libc::syscall(libc::SYS_landlock_create_ruleset, none, 0, VERSION)
        };
        // SAFETY: calls without arguments.
        let (user, group) = unsafe { (libc::geteuid(), libc::getegid()) };
        let maps = [
            (c"/proc/self/setgroups", "deny".to_owned()),
            (c"/proc/self/uid_map", format!("{user} {user} 1")),
            (c"/proc/self/gid_map", format!("{group} {group} 1")),
        ];
        let mut command = Command::new("true");
        // SAFETY: the function makes system calls only.
        unsafe { command.pre_exec(move || enter_namespaces(&maps)) };
        let refused = |error: io::Error| Lack::Namespaces(Arc::new(error));
        Self {
            namespaces: command.status().map(drop).map_err(refused),
            landlock: version,
            is_root: user == 0,
        }
    }
}

/// The steps that a system may refuse: some allow a namespace of users, and give no rights in it.
fn enter_namespaces(maps: &[(&CStr, String)]) -> io::Result<()> {
    let is_ok = |result: libc::c_int| match result {
        0.. => Ok(result),
        _ => Err(io::Error::last_os_error()),
    };
    // SAFETY: a call without pointers, on the only thread of a process that is about to execute another program.
    is_ok(unsafe { libc::unshare(libc::CLONE_NEWUSER | libc::CLONE_NEWNS) })?;
    for (path, text) in maps {
        // SAFETY: the paths are strings that live until the calls return; nothing else owns the descriptor.
        let mut file =
            unsafe { File::from_raw_fd(is_ok(libc::open(path.as_ptr(), libc::O_WRONLY))?) };
        file.write_all(text.as_bytes())?;
    }
    let (none, private) = (std::ptr::null(), libc::MS_REC | libc::MS_PRIVATE);
    // SAFETY: the path is a string, and the call needs no others.
    is_ok(unsafe { libc::mount(none, c"/".as_ptr(), none, private, none.cast()) }).map(drop)
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

/// The report in a new sandbox.
fn reported(sandbox: &Sandbox) -> String {
    let text = REPORT.run(sandbox, &[]).expect("a sandbox");
    String::from_utf8(text).expect("text")
}

pub(crate) fn nothing_is_missing() {
    assert_eq!(reported(&Sandbox::new().complete()), "");
}

pub(crate) fn without_namespaces() {
    without(&[NO_NAMESPACES], || {
        let text = reported(&Sandbox::new());
        assert!(
            text.starts_with("Namespaces no namespaces (unshare"),
            "{text}"
        );
        assert!(text.contains("cannot be changed"), "{text}");
        incomplete("no namespaces");
        probes::check(Some(Mechanism::Namespaces));
        probes::check_grants(Some(Mechanism::Namespaces));
    });
}

/// As with AppArmor's restriction of Ubuntu: there are namespaces of users, without rights.
pub(crate) fn without_mounts() {
    without(&[(libc::SYS_mount, libc::EPERM)], || {
        let looked = System::look();
        assert_eq!(looked.missing(), Some(Mechanism::Namespaces));
        let text = reported(&Sandbox::new());
        assert!(text.starts_with("Namespaces no namespaces ("), "{text}");
        probes::check(Some(Mechanism::Namespaces));
        probes::check_grants(Some(Mechanism::Namespaces));
    });
}

pub(crate) fn without_landlock() {
    without(&[NO_LANDLOCK], || {
        let text = reported(&Sandbox::new());
        assert!(text.starts_with("Landlock no landlock ("), "{text}");
        incomplete("no landlock");
        probes::check(Some(Mechanism::Landlock));
        probes::check_grants(Some(Mechanism::Landlock));
    });
}

/// A sandbox that requires both mechanisms cannot be entered.
fn incomplete(missing: &str) {
    let refused = REPORT
        .run(&Sandbox::new().complete(), &[])
        .expect_err("one is missing");
    assert!(matches!(refused, Error::Refused { .. }), "{refused}");
    assert!(refused.to_string().contains(missing), "{refused}");
}

/// All tests once more, by an ordinary user. The kernel protects root's processes from a process without root's
/// rights, so as root some tests would pass without a filter.
pub(crate) fn without_root() {
    let output = Command::new("/proc/self/exe")
        .args(["--skip", "without_root"])
        .current_dir("/")
        .uid(NOBODY)
        .gid(NOBODY)
        .output()
        .expect("started");
    let text = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}{errors}");
    // This test is not among them, so its own skip is no news.
    let is_news = |line: &&str| line.starts_with("SKIPPED ") && !line.contains("without_root");
    for skipped in errors.lines().filter(is_news) {
        // Not captured, as the others.
        let _ = writeln!(std::io::stderr(), "{skipped} (as nobody)");
    }
    assert!(!text.contains(" 0 passed"), "{text}");
}

/// The user and group of nobody.
const NOBODY: u32 = 65534;

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
