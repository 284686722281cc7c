//! System calls of native code in a sandbox.

use std::collections::BTreeMap;
use std::ffi::CString;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::Command;

use revoff_isolate::{Isolated, Job, JobError, Mechanism, Sandbox};

use crate::mechanisms::System;

/// Of Linux's `asm-generic/fcntl.h` and `linux/fcntl.h`.
const F_SETSIG: libc::c_int = 10;
const DN_CREATE: libc::c_int = 4;

pub(crate) const PROBE: Job = Job::new("probe", probe);

/// Does what the lines of the input say, and returns a line for each: its text, and `ok` or the number of
/// the error.
fn probe(isolated: Isolated) -> Result<Vec<u8>, JobError> {
    let input = String::from_utf8(isolated.input)?;
    let lines = input.lines().map(|line| {
        let (action, argument) = line.split_once(' ').unwrap_or((line, ""));
        match act(action, argument) {
            Ok(()) => format!("{line}\tok\n"),
            Err(error) => format!("{line}\t{}\n", error.raw_os_error().unwrap_or_default()),
        }
    });
    Ok(lines.collect::<String>().into_bytes())
}

fn act(action: &str, argument: &str) -> io::Result<()> {
    let pid = argument.parse::<i32>().unwrap_or_default();
    match action {
        "read" => return File::open(argument).map(drop),
        "list" => return fs::read_dir(argument).map(drop),
        "append" => return OpenOptions::new().append(true).open(argument).map(drop),
        "create" => return File::create(argument).map(drop),
        "remove" => return fs::remove_file(argument),
        "set-id" => {
            return fs::set_permissions(argument, fs::Permissions::from_mode(0o4755));
        }
        "new" => return create(argument),
        // As they are: a sandbox that fails must not change the system's files.
        "chmod" => return fs::set_permissions(argument, fs::metadata(argument)?.permissions()),
        // By an open file that was opened for reading.
        "fchmod" => {
            return File::open(argument)?.set_permissions(fs::Permissions::from_mode(0o640));
        }
        "connect" => return TcpStream::connect(argument).map(drop),
        "run" => {
            // Looked for, in another `PATH`: std then forks, instead of `posix_spawn`.
            let mut command = Command::new("sh");
            command.env("PATH", "/bin").args(["-c", argument]);
            let ended = command.status()?;
            return match ended.success() {
                true => Ok(()),
                false => Err(io::Error::from_raw_os_error(ended.code().unwrap_or(255))),
            };
        }
        "thread" => return std::thread::Builder::new().spawn(|| ()).map(drop),
        _ => {}
    }
    let mut pair = [0; 2];
    let mut terminal = b'x';
    // SAFETY: the calls get numbers, or addresses of values that live until they return; a process that
    // one of them creates exits at once.
    let result = unsafe {
        match action {
            "socket" => libc::socket(pid, libc::SOCK_DGRAM, 0).into(),
            "pair" => libc::socketpair(libc::AF_UNIX, pid, 0, pair.as_mut_ptr()).into(),
            "signal" => libc::kill(pid, 0).into(),
            "signal-all" => libc::kill(-1, 0).into(),
            "signal-thread" => libc::syscall(libc::SYS_tgkill, pid, pid, 0),
            "join-group" => libc::setpgid(0, pid).into(),
            "signal-by" => libc::fcntl(0, F_SETSIG, libc::SIGKILL).into(),
            "signal-at-events" => libc::fcntl(0, libc::F_SETFL, libc::O_ASYNC).into(),
            "signal-at-changes" => libc::fcntl(0, libc::F_NOTIFY, DN_CREATE).into(),
            "lease" => libc::fcntl(0, libc::F_SETLEASE, libc::F_RDLCK).into(),
            "do-not-wait" => libc::fcntl(0, libc::F_SETFL, libc::fcntl(0, libc::F_GETFL)).into(),
            "be-traced" => libc::ptrace(libc::PTRACE_TRACEME, 0, 0, 0),
            "memory" => libc::syscall(libc::SYS_process_vm_readv, pid, 0, 0, 0, 0, 0),
            "limit" => libc::syscall(libc::SYS_prlimit64, pid, libc::RLIMIT_CPU, 0, 0),
            "limit-itself" => {
                let itself = std::process::id();
                libc::syscall(libc::SYS_prlimit64, itself, libc::RLIMIT_CPU, 0, 0)
            }
            "priority" => libc::setpriority(libc::PRIO_PROCESS, pid as _, 19).into(),
            // Of all processes of the user.
            "priority-of-user" => libc::setpriority(libc::PRIO_USER, 0, 19).into(),
            "io-priority-of-user" => libc::syscall(libc::SYS_ioprio_set, 3, 0, 3 << 13),
            "attach" => libc::shmat(pid, std::ptr::null(), libc::SHM_RDONLY).addr() as libc::c_long,
            "semaphore" => libc::semctl(pid, 0, libc::GETVAL).into(),
            "watch" => {
                let path = CString::new(argument)?;
                let queue = libc::inotify_init();
                libc::inotify_add_watch(queue, path.as_ptr(), libc::IN_OPEN).into()
            }
            "attribute" | "attribute-of-link" => {
                let path = CString::new(argument)?;
                let get = match action {
                    "attribute" => libc::getxattr,
                    _ => libc::lgetxattr,
                };
                let (path, name) = (path.as_ptr(), c"user.comment".as_ptr());
                get(path, name, std::ptr::null_mut(), 0) as libc::c_long
            }
            "attributes" | "attributes-of-link" => {
                let path = CString::new(argument)?;
                let list = match action {
                    "attributes" => libc::listxattr,
                    _ => libc::llistxattr,
                };
                list(path.as_ptr(), std::ptr::null_mut(), 0) as libc::c_long
            }
            "flags" => {
                let file = File::open(argument)?;
                let flags: libc::c_long = 0;
                libc::ioctl(file.as_raw_fd(), 0x4008_6602, &raw const flags).into()
            }
            "other-pair" => libc::socketpair(pid, libc::SOCK_STREAM, 0, pair.as_mut_ptr()).into(),
            // The number of the call, of no mount: another error.
            "mounts" => match libc::syscall(457, 0, 0, 0, 0) {
                -1 if io::Error::last_os_error().raw_os_error() == Some(libc::EPERM) => -1,
                _ => 0,
            },
            "keys" => libc::syscall(libc::SYS_keyctl, 0, -3, 0),
            "personality" => libc::personality(0xffff_ffff).into(),
            "newer" => libc::syscall(libc::SYS_mseal + 1, 0, 0, 0, 0, 0, 0),
            // A child of the parent's.
            "adopt" => {
                let flags = libc::CLONE_PARENT | libc::SIGCHLD;
                match libc::syscall(libc::SYS_clone, flags, 0, 0, 0, 0) {
                    0 => libc::_exit(0),
                    child => child,
                }
            }
            "terminal" => {
                let mut settings: libc::termios = std::mem::zeroed();
                libc::ioctl(0, libc::TCSETS, &raw mut settings).into()
            }
            "halt" => libc::ioctl(0, libc::TCXONC, libc::TCOOFF).into(),
            "resize" => {
                let mut size: libc::winsize = std::mem::zeroed();
                libc::ioctl(0, libc::TIOCSWINSZ, &raw mut size).into()
            }
            "count" => {
                let (reader, _writer) = io::pipe()?;
                let mut bytes = 0;
                libc::ioctl(reader.as_raw_fd(), libc::FIONREAD, &raw mut bytes).into()
            }
            "foreground" => libc::ioctl(0, libc::TIOCSPGRP, &raw const pid).into(),
            "affinity" => {
                let mut all: libc::cpu_set_t = std::mem::zeroed();
                libc::CPU_SET(0, &mut all);
                libc::sched_setaffinity(pid, size_of_val(&all), &raw const all).into()
            }
            "fork" => match libc::fork() {
                0 => libc::_exit(0),
                child => child.into(),
            },
            "namespace" => libc::unshare(libc::CLONE_NEWUSER).into(),
            "mount" => libc::syscall(libc::SYS_mount, 0, c"/".as_ptr(), 0, 0, 0),
            "rings" => libc::syscall(libc::SYS_io_uring_setup, 1, 0),
            "clone3" => libc::syscall(libc::SYS_clone3, 0, 0),
            "x32" => libc::syscall(0x4000_0000 | libc::SYS_getpid),
            "outlive" => libc::prctl(libc::PR_SET_PDEATHSIG, 0).into(),
            "type" => {
                let stdin = io::stdin().as_raw_fd();
                libc::ioctl(stdin, libc::TIOCSTI, &raw mut terminal).into()
            }
            _ => return Err(io::Error::from_raw_os_error(libc::ENOTSUP)),
        }
    };
    match result {
        0.. => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// The calls that create a file with a mode.
const CREATING: &[&str] = &[
    "openat",
    "O_TMPFILE",
    "mknodat",
    #[cfg(target_arch = "x86_64")]
    "open",
    #[cfg(target_arch = "x86_64")]
    "creat",
    #[cfg(target_arch = "x86_64")]
    "mknod",
];

/// Creates a file in a folder: the argument is a call, a mode, and the folder.
fn create(argument: &str) -> io::Result<()> {
    let mut words = argument.splitn(3, ' ');
    let mut next = || words.next().unwrap_or_default();
    let [call, mode, folder] = [next(), next(), next()];
    let path = CString::new(format!("{folder}/{call}-{mode}"))?;
    let folder = CString::new(folder)?;
    let mode = libc::mode_t::from_str_radix(mode, 8).map_err(io::Error::other)?;
    let flags = libc::O_CREAT | libc::O_WRONLY;
    let how = [flags as u64, u64::from(mode), 0];
    let (path, here) = (path.as_ptr(), libc::AT_FDCWD);
    // SAFETY: the calls get numbers, and addresses of strings and of a structure (with its size) that live until they
    // return.
    let result = unsafe {
        match call {
            "openat" => libc::syscall(libc::SYS_openat, here, path, flags, mode),
            "openat2" => libc::syscall(
                libc::SYS_openat2,
                here,
                path,
                &raw const how,
                size_of_val(&how),
            ),
            "O_TMPFILE" => {
                let flags = libc::O_TMPFILE | libc::O_WRONLY;
                libc::syscall(libc::SYS_openat, here, folder.as_ptr(), flags, mode)
            }
            "mknodat" => libc::syscall(libc::SYS_mknodat, here, path, libc::S_IFREG | mode, 0),
            #[cfg(target_arch = "x86_64")]
            "open" => libc::syscall(libc::SYS_open, path, flags, mode),
            #[cfg(target_arch = "x86_64")]
            "creat" => libc::syscall(libc::SYS_creat, path, mode),
            #[cfg(target_arch = "x86_64")]
            "mknod" => libc::syscall(libc::SYS_mknod, path, libc::S_IFREG | mode, 0),
            _ => return Err(io::Error::from_raw_os_error(libc::ENOTSUP)),
        }
    };
    match result {
        0.. => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// The result of each of these lines.
fn run(sandbox: &Sandbox, lines: &[String]) -> BTreeMap<String, String> {
    let result = PROBE.run(sandbox, lines.join("\n").as_bytes());
    let text = String::from_utf8(result.expect("a result")).expect("text");
    let pairs = text.lines().filter_map(|line| line.split_once('\t'));
    pairs.map(|(k, v)| (k.to_owned(), v.to_owned())).collect()
}

/// Fails unless each line has its result: 0, or the number of an error.
fn expect(sandbox: &Sandbox, expected: &[(String, i32)]) {
    let lines: Vec<_> = expected.iter().map(|(line, _)| line.clone()).collect();
    let found = run(sandbox, &lines);
    let mut wrong = Vec::new();
    for (line, expected) in expected {
        let result = &found[line];
        let is_expected = match *expected {
            0 => result == "ok",
            error => *result == error.to_string(),
        };
        if !is_expected {
            wrong.push(format!("{line}: {result}, not {expected}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

const OK: i32 = 0;
const FORBIDDEN: i32 = libc::EPERM;

/// The results of what several mechanisms prevent: that of the first one which sees it.
#[derive(Clone, Copy)]
struct Prevented {
    namespaces: bool,
    landlock: bool,
}

impl Prevented {
    fn new(missing: Option<Mechanism>) -> Self {
        Self {
            namespaces: missing != Some(Mechanism::Namespaces),
            landlock: missing != Some(Mechanism::Landlock),
        }
    }

    fn by(self, namespaces: i32, otherwise: i32) -> i32 {
        match self.namespaces {
            true => namespaces,
            false => otherwise,
        }
    }

    /// It does not exist, or may not be opened.
    fn read(self) -> i32 {
        self.by(libc::ENOENT, libc::EACCES)
    }

    /// The file system is read-only, or the file may not be opened so.
    fn write(self) -> i32 {
        self.by(libc::EROFS, libc::EACCES)
    }

    /// Namespaces alone have the folders that lead to what is granted, with nothing else in them.
    fn list(self) -> i32 {
        match self.landlock {
            true => libc::EACCES,
            false => OK,
        }
    }
}

pub(crate) fn nothing_else_is_reached() {
    check(System::look().missing());
}

/// Reaches for everything from a sandbox that has one file to read.
pub(crate) fn check(missing: Option<Mechanism>) {
    let folder = tempfile::tempdir().expect("a folder");
    let [file, other] = ["file", "other"].map(|name| folder.path().join(name));
    fs::write(&file, "text").expect("written");
    fs::write(&other, "text").expect("written");
    let socket = folder.path().join("socket");
    let _listener = UnixListener::bind(&socket).expect("a socket");
    let me = std::process::id();
    let parent = std::os::unix::process::parent_id();
    let prevented = Prevented::new(missing);
    let [no_read, no_write, no_list] = [prevented.read(), prevented.write(), prevented.list()];
    let no_attribute = prevented.by(libc::ENOENT, libc::ENOSYS);
    let shared = Shared::new();
    let line = |action: &str, what: &dyn std::fmt::Display| format!("{action} {what}");
    let [file, other] = [file.display(), other.display()];
    let mut expected: Vec<(String, i32)> = vec![
        (line("read", &file), OK),
        (line("read", &other), no_read),
        (line("read", &"/etc/passwd"), no_read),
        (line("list", &"/"), no_list),
        (line("list", &"/etc"), no_list),
        (line("list", &folder.path().display()), no_list),
        (line("append", &file), no_write),
        (line("append", &other), no_read),
        (line("create", &"/planted"), no_write),
        (
            line("create", &folder.path().join("planted").display()),
            no_write,
        ),
        (line("remove", &other), no_write),
        (
            line("chmod", &other),
            prevented.by(libc::ENOENT, libc::EPERM),
        ),
        (line("chmod", &file), FORBIDDEN),
        (line("fchmod", &file), FORBIDDEN),
        (line("read", &format!("/proc/{me}/environ")), no_read),
        (line("read", &format!("/proc/{me}/mem")), no_read),
        (line("read", &"/proc/self/maps"), OK),
        (line("append", &"/dev/null"), OK),
        (line("read", &"/dev/urandom"), OK),
        (line("signal", &me), FORBIDDEN),
        (line("signal", &parent), FORBIDDEN),
        (line("signal-all", &""), FORBIDDEN),
        (line("signal-thread", &me), FORBIDDEN),
        (line("join-group", &0), FORBIDDEN),
        (line("signal-by", &""), FORBIDDEN),
        (line("signal-at-events", &""), FORBIDDEN),
        (line("signal-at-changes", &""), FORBIDDEN),
        (line("lease", &""), FORBIDDEN),
        (line("do-not-wait", &""), OK),
        (line("be-traced", &""), FORBIDDEN),
        (line("memory", &me), FORBIDDEN),
        (line("limit", &me), FORBIDDEN),
        (line("limit", &0), OK),
        (line("limit-itself", &""), OK),
        (line("priority", &me), FORBIDDEN),
        (line("priority-of-user", &""), FORBIDDEN),
        (line("io-priority-of-user", &""), FORBIDDEN),
        // They do not exist in other namespaces.
        (
            line("attach", &shared.memory),
            prevented.by(libc::EINVAL, libc::EPERM),
        ),
        (
            line("semaphore", &shared.semaphore),
            prevented.by(libc::EINVAL, libc::EPERM),
        ),
        (
            line("watch", &other),
            prevented.by(libc::ENOENT, libc::EPERM),
        ),
        (line("flags", &file), FORBIDDEN),
        (line("attribute", &other), no_attribute),
        (line("attribute-of-link", &other), no_attribute),
        (line("attributes", &other), no_attribute),
        (line("attributes-of-link", &other), no_attribute),
        (
            line("chmod", &"/proc/self/exe"),
            prevented.by(libc::ENOENT, libc::EPERM),
        ),
        (line("chmod", &"/proc/self/fd/0"), FORBIDDEN),
        (line("read", &"/proc/self/task"), no_read),
        (line("append", &"/proc/self/oom_score_adj"), no_read),
        (line("keys", &""), FORBIDDEN),
        (line("personality", &""), FORBIDDEN),
        (line("newer", &""), libc::ENOSYS),
        (line("terminal", &""), FORBIDDEN),
        (line("halt", &""), FORBIDDEN),
        (line("resize", &""), FORBIDDEN),
        (line("count", &""), OK),
        (line("foreground", &me), FORBIDDEN),
        (line("other-pair", &libc::AF_INET), FORBIDDEN),
        (line("other-pair", &libc::AF_TIPC), FORBIDDEN),
        (line("affinity", &me), FORBIDDEN),
        (line("affinity", &0), OK),
        (line("thread", &""), OK),
        (line("fork", &""), FORBIDDEN),
        (line("run", &"true"), FORBIDDEN),
        (line("namespace", &""), FORBIDDEN),
        (line("mount", &""), FORBIDDEN),
        (line("outlive", &""), FORBIDDEN),
        (line("type", &""), FORBIDDEN),
        (line("rings", &""), libc::ENOSYS),
        (line("clone3", &""), libc::ENOSYS),
        (line("pair", &libc::SOCK_STREAM), OK),
        (line("pair", &libc::SOCK_DGRAM), FORBIDDEN),
        (line("pair", &libc::SOCK_SEQPACKET), OK),
    ];
    if cfg!(target_arch = "x86_64") {
        expected.push((line("x32", &""), libc::ENOSYS));
    }
    for family in [
        libc::AF_INET,
        libc::AF_INET6,
        libc::AF_UNIX,
        libc::AF_NETLINK,
    ] {
        expected.push((line("socket", &family), FORBIDDEN));
    }
    expect(&Sandbox::new().read(&*file.to_string()), &expected);
    assert!(Path::new(&other.to_string()).exists());
}

/// Objects that processes of a user share by numbers.
struct Shared {
    memory: i32,
    semaphore: i32,
}

impl Shared {
    fn new() -> Self {
        // SAFETY: the calls get numbers only.
        let shared = unsafe {
            Self {
                memory: libc::shmget(libc::IPC_PRIVATE, 4096, 0o600),
                semaphore: libc::semget(libc::IPC_PRIVATE, 1, 0o600),
            }
        };
        assert!(shared.memory >= 0 && shared.semaphore >= 0);
        shared
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // SAFETY: they are this test's, which has not attached the memory.
        unsafe {
            libc::shmctl(self.memory, libc::IPC_RMID, std::ptr::null_mut());
            libc::semctl(self.semaphore, 0, libc::IPC_RMID);
        }
    }
}

pub(crate) fn grants_are_reached() {
    check_grants(System::look().missing());
}

/// Uses what was granted, and only so.
pub(crate) fn check_grants(missing: Option<Mechanism>) {
    let prevented = Prevented::new(missing);
    let no_write = prevented.write();
    let folder = tempfile::tempdir().expect("a folder");
    let [read, write] = ["read", "write"].map(|name| folder.path().join(name));
    for path in [&read, &write] {
        fs::create_dir(path).expect("created");
        fs::write(path.join("old"), "text").expect("written");
    }
    let sandbox = Sandbox::new().read(&read).write(&write);
    let line = |action: &str, path: &Path| format!("{action} {}", path.display());
    let write = &write;
    expect(
        &sandbox,
        &[
            (line("list", &read), OK),
            (line("read", &read.join("old")), OK),
            (line("append", &read.join("old")), no_write),
            (line("create", &read.join("new")), no_write),
            (line("remove", &read.join("old")), no_write),
            (line("list", write), OK),
            (line("append", &write.join("old")), OK),
            (line("create", &write.join("new")), OK),
            (
                line("chmod", &write.join("old")),
                prevented.by(OK, libc::EPERM),
            ),
            (line("set-id", &write.join("old")), FORBIDDEN),
            (
                line("chmod", &read.join("old")),
                prevented.by(libc::EROFS, libc::EPERM),
            ),
            (
                line("chmod", Path::new("/proc/self/exe")),
                prevented.by(libc::ENOENT, libc::EPERM),
            ),
            // A device that is written with the rights of all.
            (line("append", Path::new("/dev/null")), OK),
            (
                line("chmod", Path::new("/dev/null")),
                prevented.by(libc::EROFS, libc::EPERM),
            ),
            ("mounts".to_owned(), prevented.by(OK, libc::EPERM)),
            (line("remove", &write.join("old")), OK),
        ],
    );
    let by_mode = [("755", OK), ("4755", FORBIDDEN), ("2755", FORBIDDEN)];
    let calls = CREATING.iter().flat_map(|call| {
        let line = move |(mode, result)| (line(&format!("new {call} {mode}"), write), result);
        by_mode.map(line)
    });
    let unknown = (line("new openat2 4755", write), libc::ENOSYS);
    expect(&sandbox, &calls.chain([unknown]).collect::<Vec<_>>());
    assert!(write.join("new").exists() && !write.join("old").exists());
    assert!(read.join("old").exists() && !read.join("new").exists());
    // All of the system's files, but to read. The executable is not on a mount of the sandbox.
    expect(
        &Sandbox::new().read("/").write(write),
        &[
            (line("chmod", Path::new("/proc/self/exe")), FORBIDDEN),
            (line("read", Path::new("/etc/passwd")), OK),
            (line("append", &read.join("old")), no_write),
            // It exists, but another process's memory is not for a process that is isolated.
            (
                format!("read /proc/{}/mem", std::process::id()),
                libc::EACCES,
            ),
        ],
    );
}

pub(crate) fn a_link_is_a_grant_by_both_names() {
    let folder = tempfile::tempdir().expect("a folder");
    let [real, link] = ["real", "link"].map(|name| folder.path().join(name));
    fs::create_dir(&real).expect("created");
    fs::write(real.join("file"), "text").expect("written");
    symlink(&real, &link).expect("a link");
    expect(
        &Sandbox::new().read(&link),
        &[
            (format!("read {}", link.join("file").display()), OK),
            (format!("read {}", real.join("file").display()), OK),
        ],
    );
}

pub(crate) fn a_granted_network_is_reached() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("bound");
    let connect = format!("connect {address}");
    let unix = format!("socket {}", libc::AF_UNIX);
    expect(
        &Sandbox::new().network(),
        &[(connect.clone(), OK), (unix.clone(), FORBIDDEN)],
    );
    expect(&Sandbox::new(), &[(connect, FORBIDDEN), (unix, FORBIDDEN)]);
}

pub(crate) fn commands_stay_inside() {
    let me = std::process::id();
    expect(
        &Sandbox::new().commands(),
        &[
            ("run exit 0".into(), OK),
            ("run exit 3".into(), 3),
            // The shell's statuses for what it could not do.
            ("run exec 2>/dev/null; cat /etc/passwd".into(), 1),
            (format!("run exec 2>/dev/null; kill -0 {me}"), 1),
            ("adopt".into(), FORBIDDEN),
            // A command may outlive it, and then this is another process's number.
            ("limit-itself".into(), FORBIDDEN),
        ],
    );
}
