//! The system calls that a sandbox refuses, by a filter of the kernel (seccomp).
//!
//! Files and the network are left to the other mechanisms where these suffice. The filter refuses what
//! acts on other processes, on the machine, on namespaces and on the filter's own conditions,
//! sockets other than those of a network that is granted, and calls that are newer than this list.

use std::collections::BTreeMap;

use seccompiler::SeccompCmpArgLen::Dword;
use seccompiler::SeccompCmpOp::{Eq, MaskedEq, Ne};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    TargetArch, apply_filter,
};

/// The grants, and the restrictions that the other mechanisms leave to the filter.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Policy {
    pub(crate) network: bool,
    pub(crate) commands: bool,
    /// Whether the process is in namespaces of its own.
    pub(crate) namespaces: bool,
    /// Whether a file may be changed.
    pub(crate) writes: bool,
    /// Whether files of processes (procfs) are granted.
    pub(crate) processes: bool,
    pub(crate) gpus: bool,
    /// Whether signals are restricted already.
    pub(crate) signals: bool,
    /// Whether files are truncated only where they may be written. Without landlock, they can be opened anew anyway.
    pub(crate) truncation: bool,
}

impl Policy {
    /// Whether permissions, owners, times and attributes of files may be changed, where the file's mount allows it.
    fn is_metadata_allowed(self) -> bool {
        self.namespaces && self.writes && !self.gpus && !self.processes
    }
}

/// Calls that act on other processes, or see into them.
const PROCESSES: &[i64] = &[
    libc::SYS_kcmp,
    libc::SYS_pidfd_getfd,
    libc::SYS_pidfd_send_signal,
    libc::SYS_process_madvise,
    libc::SYS_process_mrelease,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_ptrace,
    // Linux signals the foreground or background group of a terminal, whose members do not choose that.
    libc::SYS_setpgid,
    // Its thread's process cannot be checked. The GNU C library does without it.
    libc::SYS_tkill,
];

/// Calls that send signals to the process of their first argument.
const SIGNALS: &[i64] = &[
    libc::SYS_kill,
    libc::SYS_tgkill,
    libc::SYS_rt_sigqueueinfo,
    libc::SYS_rt_tgsigqueueinfo,
];

/// Calls that change the machine, namespaces, mounts or keys, or have shown many faults of kernels.
const SYSTEM: &[i64] = &[
    libc::SYS_acct,
    libc::SYS_add_key,
    libc::SYS_adjtimex,
    libc::SYS_bpf,
    libc::SYS_chroot,
    libc::SYS_clock_adjtime,
    libc::SYS_clock_settime,
    libc::SYS_delete_module,
    libc::SYS_fanotify_init,
    libc::SYS_finit_module,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fsopen,
    libc::SYS_fspick,
    libc::SYS_init_module,
    libc::SYS_kexec_load,
    KEXEC_FILE_LOAD,
    libc::SYS_keyctl,
    libc::SYS_lookup_dcookie,
    libc::SYS_mount,
    libc::SYS_mount_setattr,
    libc::SYS_move_mount,
    libc::SYS_name_to_handle_at,
    libc::SYS_open_by_handle_at,
    libc::SYS_open_tree,
    libc::SYS_perf_event_open,
    libc::SYS_personality,
    libc::SYS_pivot_root,
    libc::SYS_quotactl,
    libc::SYS_quotactl_fd,
    libc::SYS_reboot,
    libc::SYS_request_key,
    libc::SYS_setdomainname,
    libc::SYS_sethostname,
    libc::SYS_setns,
    libc::SYS_settimeofday,
    libc::SYS_swapoff,
    libc::SYS_swapon,
    libc::SYS_syslog,
    libc::SYS_umount2,
    libc::SYS_unshare,
    libc::SYS_userfaultfd,
    libc::SYS_vhangup,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_ioperm,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_iopl,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_modify_ldt,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_uselib,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_ustat,
];

/// The number that libc lacks for some architectures.
const KEXEC_FILE_LOAD: i64 = if cfg!(target_arch = "x86_64") {
    320
} else {
    294
};

/// Calls that landlock does not restrict, and read-only mounts do: changes of a file's permissions,
/// owner, times and attributes.
const METADATA: &[i64] = &[
    libc::SYS_fchmod,
    libc::SYS_fchmodat,
    libc::SYS_fchmodat2,
    libc::SYS_fchown,
    libc::SYS_fchownat,
    libc::SYS_fremovexattr,
    libc::SYS_fsetxattr,
    libc::SYS_lremovexattr,
    libc::SYS_lsetxattr,
    libc::SYS_removexattr,
    libc::SYS_setxattr,
    libc::SYS_utimensat,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_chmod,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_chown,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_futimesat,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_lchown,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_utime,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_utimes,
];

/// Calls that namespaces restrict, and landlock does not: objects outside of the file system by which
/// processes of a user meet, and events of files that cannot be read.
const OUTSIDE: &[i64] = &[
    libc::SYS_inotify_add_watch,
    // All mounts, as the file that is withheld.
    LISTMOUNT,
    STATMOUNT,
    libc::SYS_mq_open,
    libc::SYS_mq_unlink,
    // Objects that exist have numbers, which are found by trying.
    libc::SYS_msgctl,
    libc::SYS_msgget,
    libc::SYS_msgrcv,
    libc::SYS_msgsnd,
    libc::SYS_semctl,
    libc::SYS_semget,
    libc::SYS_semop,
    libc::SYS_semtimedop,
    libc::SYS_shmat,
    libc::SYS_shmctl,
    libc::SYS_shmget,
];

/// The numbers that libc lacks, which are those of all architectures.
const STATMOUNT: i64 = 457;
const LISTMOUNT: i64 = 458;

/// Calls that programs make only after asking whether they exist: they get `ENOSYS`. The flags and the
/// mode of the first two cannot be checked; the last makes other calls without the filter.
const UNKNOWN: &[i64] = &[
    libc::SYS_clone3,
    libc::SYS_openat2,
    libc::SYS_io_uring_setup,
];

/// Calls that namespaces restrict, and landlock does not: they read attributes of files that are not granted, which may
/// hold text. File systems may be without attributes, so programs go on after `ENOSYS`.
const ATTRIBUTES: &[i64] = &[
    libc::SYS_getxattr,
    libc::SYS_lgetxattr,
    libc::SYS_listxattr,
    libc::SYS_llistxattr,
];

/// The newest call that was looked at for these lists. Newer ones get `ENOSYS`, too, as do those of x32, whose
/// architecture is that of x86-64 and whose numbers are larger.
const NEWEST: u32 = libc::SYS_mseal as u32;

/// `CLONE_NEW*`, without `CLONE_NEWTIME`, which only `clone3` has.
const CLONE_NEW: u64 = (libc::CLONE_NEWNS
    | libc::CLONE_NEWCGROUP
    | libc::CLONE_NEWUTS
    | libc::CLONE_NEWIPC
    | libc::CLONE_NEWUSER
    | libc::CLONE_NEWPID
    | libc::CLONE_NEWNET) as u64;

/// Of Linux's `asm-generic/sockios.h` and `asm-generic/ioctls.h`.
const FIOSETOWN: u64 = 0x8901;
const FIOASYNC: u64 = 0x5452;
const SIOCSPGRP: u64 = 0x8902;

/// Of `asm-generic/fcntl.h`.
const F_SETSIG: libc::c_int = 10;
const F_SETOWN_EX: libc::c_int = 15;

/// The flags of `open` with which it has a mode. Only this bit of `O_TMPFILE` is its own.
const CREATING: [u64; 2] = [
    libc::O_CREAT as u64,
    (libc::O_TMPFILE & !libc::O_DIRECTORY) as u64,
];

/// The bits of a mode by which a program runs with the rights of the file's user or group.
const SET_ID: [u64; 2] = [libc::S_ISUID as u64, libc::S_ISGID as u64];

/// The requests of `ioctl` that programs without GPUs get: they ask, or change a descriptor. Others change a terminal for
/// its other users, have signals sent, or change attributes of a file that is open for reading.
///
/// `FIONBIO`, like `fcntl`'s `F_SETFL`, also changes the standard streams for the parent. A filter sees numbers of
/// descriptors, and a duplicate of a stream has another: refusing 0 to 2 would keep nothing out.
const REQUESTS: &[u64] = &[
    libc::FIOCLEX,
    libc::FIONBIO,
    libc::FIONCLEX,
    libc::FIONREAD,
    libc::TCGETS,
    libc::TCGETS2,
    libc::TIOCGPGRP,
    libc::TIOCGWINSZ,
    libc::TIOCOUTQ,
];

/// Drivers of GPUs have requests of their own. These are still refused.
const REFUSED_WITH_GPUS: &[u64] = &[
    libc::TIOCSTI,
    libc::TIOCLINUX,
    libc::TIOCSETD,
    libc::TIOCSPGRP,
    libc::TIOCSWINSZ,
    libc::TIOCEXCL,
    libc::TCXONC,
    libc::TCFLSH,
    libc::TCSETS,
    libc::TCSETSW,
    libc::TCSETSF,
    libc::TCSETS2,
    libc::TCSETSW2,
    libc::TCSETSF2,
    libc::TCSETA,
    libc::TCSETAW,
    libc::TCSETAF,
    FIOSETOWN,
    FIOASYNC,
    SIOCSPGRP,
    FS_IOC_SETFLAGS,
    FS_IOC_FSSETXATTR,
    FS_IOC_ENABLE_VERITY,
];

/// Of Linux's `linux/fs.h` and `linux/fsverity.h`, for 64 bits.
const FS_IOC_SETFLAGS: u64 = 0x4008_6602;
const FS_IOC_FSSETXATTR: u64 = 0x401c_5820;
const FS_IOC_ENABLE_VERITY: u64 = 0x4080_6685;

/// `IOPRIO_WHO_PROCESS`, of `linux/ioprio.h`.
const IOPRIO_WHO_PROCESS: u64 = 1;

/// Installs the filter for this thread and those that it creates.
///
/// # Errors
/// The system's answer, where it has no such filters.
pub(crate) fn install(policy: Policy) -> Result<(), seccompiler::Error> {
    let arch = TargetArch::try_from(std::env::consts::ARCH)?;
    let refused = refused_calls(policy)?;
    let attributes = ATTRIBUTES.iter().filter(|_| !policy.namespaces);
    let unknown = UNKNOWN.iter().chain(attributes);
    let unknown = unknown.map(|call| (*call, Vec::new())).collect();
    for (calls, error) in [(unknown, libc::ENOSYS), (refused, libc::EPERM)] {
        let action = SeccompAction::Errno(error.unsigned_abs());
        let filter = SeccompFilter::new(calls, SeccompAction::Allow, action, arch);
        let program: BpfProgram = filter?.try_into()?;
        apply_filter(&program)?;
    }
    apply_filter(&without_newer())
}

/// Refuses the calls after [`NEWEST`].
fn without_newer() -> BpfProgram {
    use libc::{BPF_ABS, BPF_JGT, BPF_JMP, BPF_K, BPF_LD, BPF_RET, BPF_W};
    let statement = |code: u32, jt, jf, k| seccompiler::sock_filter {
        code: code as u16,
        jt,
        jf,
        k,
    };
    vec![
        // The call's number is the first word that a filter sees.
        statement(BPF_LD | BPF_W | BPF_ABS, 0, 0, 0),
        statement(BPF_JMP | BPF_JGT | BPF_K, 0, 1, NEWEST),
        statement(
            BPF_RET | BPF_K,
            0,
            0,
            libc::SECCOMP_RET_ERRNO | libc::ENOSYS.unsigned_abs(),
        ),
        statement(BPF_RET | BPF_K, 0, 0, libc::SECCOMP_RET_ALLOW),
    ]
}

type Calls = BTreeMap<i64, Vec<SeccompRule>>;

/// The calls that fail with `EPERM`: always, or if one of their rules applies.
fn refused_calls(policy: Policy) -> Result<Calls, seccompiler::BackendError> {
    let mut calls = Calls::new();
    let mut tables = vec![PROCESSES, SYSTEM];
    if !policy.namespaces {
        tables.push(OUTSIDE);
    }
    // The streams are on mounts that are not read-only, and so is the executable, which /proc/self leads to. Drivers of
    // GPUs get that folder.
    let is_metadata_allowed = policy.is_metadata_allowed();
    if !is_metadata_allowed {
        tables.push(METADATA);
    }
    for call in tables.into_iter().flatten() {
        calls.insert(*call, Vec::new());
    }
    let mut refuse_if = |call: i64, conditions: &[(u8, SeccompCmpOp, u64)]| {
        let conditions: Result<Vec<_>, _> = conditions
            .iter()
            .map(|(argument, op, value)| {
                SeccompCondition::new(*argument, Dword, op.clone(), *value)
            })
            .collect();
        let rule = SeccompRule::new(conditions?)?;
        calls.entry(call).or_default().push(rule);
        Ok::<_, seccompiler::BackendError>(())
    };

    // Settings of other processes of the user. A process may name itself, or the caller by 0. A command may outlive it,
    // and then the number is another's.
    let pid = u64::from(std::process::id());
    let itself = if policy.commands { 0 } else { pid };
    for (call, argument) in [
        (libc::SYS_prlimit64, 0),
        (libc::SYS_sched_setaffinity, 0),
        (libc::SYS_sched_setattr, 0),
        (libc::SYS_sched_setparam, 0),
        (libc::SYS_sched_setscheduler, 0),
        (libc::SYS_setpriority, 1),
        (libc::SYS_ioprio_set, 1),
    ] {
        refuse_if(call, &[(argument, Ne, 0), (argument, Ne, itself)])?;
    }
    for (call, of_process) in [
        (libc::SYS_setpriority, u64::from(libc::PRIO_PROCESS)),
        (libc::SYS_ioprio_set, IOPRIO_WHO_PROCESS),
    ] {
        refuse_if(call, &[(0, Ne, of_process)])?;
    }
    // Landlock knows which processes started which; the filter knows only this one.
    if !policy.commands {
        for call in SIGNALS {
            refuse_if(*call, &[(0, Ne, pid)])?;
        }
    }
    // Events of a descriptor send signals, of a terminal to its group, whatever landlock says.
    for command in [
        libc::F_SETOWN,
        F_SETOWN_EX,
        F_SETSIG,
        libc::F_NOTIFY,
        libc::F_SETLEASE,
    ] {
        refuse_if(libc::SYS_fcntl, &[(1, Eq, command as u64)])?;
    }
    let (set_flags, asynchronous) = (libc::F_SETFL as u64, libc::O_ASYNC as u64);
    let by_signals = (2, MaskedEq(asynchronous), asynchronous);
    refuse_if(libc::SYS_fcntl, &[(1, Eq, set_flags), by_signals])?;
    if policy.gpus {
        for request in REFUSED_WITH_GPUS {
            refuse_if(libc::SYS_ioctl, &[(1, Eq, *request)])?;
        }
    } else {
        let others: Vec<_> = REQUESTS.iter().map(|request| (1, Ne, *request)).collect();
        refuse_if(libc::SYS_ioctl, &others)?;
    }
    if !policy.truncation {
        // Files that are opened for writing are checked. The fourth mode opens for neither.
        let truncating = |argument| {
            (
                argument,
                MaskedEq(libc::O_TRUNC as u64),
                libc::O_TRUNC as u64,
            )
        };
        for mode in [libc::O_RDONLY, libc::O_ACCMODE] {
            let is_mode = |argument| (argument, MaskedEq(libc::O_ACCMODE as u64), mode as u64);
            refuse_if(libc::SYS_openat, &[truncating(2), is_mode(2)])?;
            #[cfg(target_arch = "x86_64")]
            refuse_if(libc::SYS_open, &[truncating(1), is_mode(1)])?;
        }
    }
    // No file may run with the rights of the user who owns it.
    let mut modes = vec![(libc::SYS_mknodat, 2)];
    #[cfg(target_arch = "x86_64")]
    modes.extend([(libc::SYS_creat, 1), (libc::SYS_mknod, 1)]);
    if is_metadata_allowed {
        modes.extend([
            (libc::SYS_fchmod, 1),
            (libc::SYS_fchmodat, 2),
            (libc::SYS_fchmodat2, 2),
        ]);
        #[cfg(target_arch = "x86_64")]
        modes.push((libc::SYS_chmod, 1));
    }
    for bit in SET_ID {
        let in_mode = |argument| (argument, MaskedEq(bit), bit);
        for (call, mode) in &modes {
            refuse_if(*call, &[in_mode(*mode)])?;
        }
        for flag in CREATING {
            let creating = |argument| (argument, MaskedEq(flag), flag);
            refuse_if(libc::SYS_openat, &[creating(2), in_mode(3)])?;
            #[cfg(target_arch = "x86_64")]
            refuse_if(libc::SYS_open, &[creating(1), in_mode(2)])?;
        }
    }
    // The process ends with its parent.
    let death_signal = libc::PR_SET_PDEATHSIG as u64;
    refuse_if(libc::SYS_prctl, &[(0, Eq, death_signal)])?;

    let thread = libc::CLONE_THREAD as u64;
    // A process that is the parent's child would stay when this one ends.
    let forbidden = CLONE_NEW | libc::CLONE_PARENT as u64;
    for flag in (0..u64::BITS)
        .map(|bit| 1 << bit)
        .filter(|flag| forbidden & flag != 0)
    {
        refuse_if(libc::SYS_clone, &[(0, MaskedEq(flag), flag)])?;
    }
    if !policy.commands {
        refuse_if(libc::SYS_clone, &[(0, MaskedEq(thread), 0)])?;
    }

    // Sockets of the machine, such as that of a container daemon, are no network.
    let internet = [libc::AF_INET as u64, libc::AF_INET6 as u64];
    let other = internet.map(|family| (0, Ne, family));
    if policy.network {
        refuse_if(libc::SYS_socket, &other)?;
    }
    refuse_if(libc::SYS_socketpair, &[(0, Ne, libc::AF_UNIX as u64)])?;
    // Connected sockets of these kinds cannot be connected elsewhere, and ignore addresses; datagrams could be sent
    // anywhere. Rust's `Command` makes a pair of the second.
    const KIND: u64 = 0xf;
    let connected = [libc::SOCK_STREAM as u64, libc::SOCK_SEQPACKET as u64];
    for kind in (0..=KIND).filter(|kind| !connected.contains(kind)) {
        refuse_if(libc::SYS_socketpair, &[(1, MaskedEq(KIND), kind)])?;
    }
    if !policy.network {
        calls.insert(libc::SYS_socket, Vec::new());
    }
    if !policy.truncation {
        calls.insert(libc::SYS_truncate, Vec::new());
    }
    if policy.commands && !policy.signals {
        calls.extend(SIGNALS.iter().map(|call| (*call, Vec::new())));
    }
    if !policy.commands {
        calls.insert(libc::SYS_execve, Vec::new());
        calls.insert(libc::SYS_execveat, Vec::new());
        #[cfg(target_arch = "x86_64")]
        calls.extend([(libc::SYS_fork, Vec::new()), (libc::SYS_vfork, Vec::new())]);
    }
    Ok(calls)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An empty list of rules refuses a call always: none may be added to it afterwards.
    #[test]
    fn a_call_is_refused_always_or_by_rules() {
        for bits in 0..256 {
            let policy = Policy {
                network: bits & 1 != 0,
                commands: bits & 2 != 0,
                namespaces: bits & 4 != 0,
                signals: bits & 8 != 0,
                writes: bits & 16 != 0,
                gpus: bits & 32 != 0,
                processes: bits & 64 != 0,
                truncation: bits & 128 != 0,
            };
            let calls = refused_calls(policy).expect("valid rules");
            for call in PROCESSES.iter().chain(SYSTEM) {
                assert_eq!(calls[call], [], "{call}");
            }
            assert_eq!(calls[&libc::SYS_socket].is_empty(), !policy.network);
            assert_eq!(calls.contains_key(&libc::SYS_execve), !policy.commands);
            let is_always = |call| calls.get(&call) == Some(&vec![]);
            assert_eq!(is_always(libc::SYS_fchmod), !policy.is_metadata_allowed());
            assert_eq!(is_always(libc::SYS_truncate), !policy.truncation);
            assert_eq!(
                is_always(libc::SYS_kill),
                policy.commands && !policy.signals
            );
            assert_eq!(is_always(libc::SYS_shmat), !policy.namespaces);
        }
    }
}
