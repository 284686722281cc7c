//! The files that a sandbox contains, and where.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The access of a process to a file, or to the files of a folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Access {
    Read,
    /// To read and write a device, whose permissions, owner and times stay.
    Device,
    Write,
}

/// A file or folder to which access is granted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Grant {
    pub(crate) path: PathBuf,
    pub(crate) access: Access,
}

/// A file or folder of the system, and its path in the sandbox.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    /// Without symbolic links.
    pub(crate) source: PathBuf,
    /// Absolute; with the symbolic links of the given path, if it has some.
    pub(crate) target: PathBuf,
    pub(crate) access: Access,
}

/// Files of the system that code needs in order to run at all: shared libraries, devices without
/// state, the process's own files in /proc, and the properties of processors.
///
/// Of its own folder in /proc, `exe` and `task` are missing: by these, the process could change the
/// permissions of the program.
const BASE: &[(&str, Access)] = &[
    ("/lib", Access::Read),
    ("/lib32", Access::Read),
    ("/lib64", Access::Read),
    ("/usr/lib", Access::Read),
    ("/usr/lib32", Access::Read),
    ("/usr/lib64", Access::Read),
    ("/usr/local/lib", Access::Read),
    ("/nix/store", Access::Read),
    ("/etc/ld.so.cache", Access::Read),
    ("/dev/null", Access::Device),
    ("/dev/zero", Access::Device),
    ("/dev/full", Access::Device),
    ("/dev/random", Access::Device),
    ("/dev/urandom", Access::Device),
    ("/proc/self/auxv", Access::Read),
    ("/proc/self/cgroup", Access::Read),
    ("/proc/self/cmdline", Access::Read),
    // Images are loaded by it.
    ("/proc/self/fd", Access::Read),
    ("/proc/self/maps", Access::Read),
    ("/proc/self/stat", Access::Read),
    ("/proc/self/statm", Access::Read),
    ("/proc/self/status", Access::Read),
    ("/proc/cpuinfo", Access::Read),
    ("/proc/meminfo", Access::Read),
    ("/sys/devices/system/cpu", Access::Read),
    ("/sys/devices/system/node", Access::Read),
];

/// How names of hosts are looked up.
const NETWORK: &[(&str, Access)] = &[
    ("/etc/resolv.conf", Access::Read),
    ("/etc/hosts", Access::Read),
    ("/etc/host.conf", Access::Read),
    ("/etc/nsswitch.conf", Access::Read),
    ("/etc/gai.conf", Access::Read),
    ("/etc/services", Access::Read),
    ("/etc/protocols", Access::Read),
];

/// The system's commands.
const COMMANDS: &[(&str, Access)] = &[
    ("/bin", Access::Read),
    ("/sbin", Access::Read),
    ("/usr", Access::Read),
];

/// The files that drivers of GPUs read, besides the devices.
const GPUS: &[(&str, Access)] = &[
    ("/sys", Access::Read),
    ("/proc/self", Access::Read),
    ("/proc/devices", Access::Read),
    ("/proc/driver", Access::Read),
    ("/proc/modules", Access::Read),
    ("/opt/rocm", Access::Read),
    ("/usr/share", Access::Read),
];

/// The system's files for a sandbox; those that do not exist are left out.
pub(crate) fn system_grants(network: bool, commands: bool, gpus: bool) -> Vec<Grant> {
    let tables = [
        (true, BASE),
        (network, NETWORK),
        (commands, COMMANDS),
        (gpus, GPUS),
    ];
    let enabled = tables.into_iter().filter(|(is_needed, _)| *is_needed);
    let mut grants: Vec<_> = enabled
        .flat_map(|(_, table)| table)
        .map(|(path, access)| (PathBuf::from(path), *access))
        .collect();
    if gpus {
        grants.extend(devices().map(|path| (path, Access::Device)));
    }
    // Backtraces read it.
    grants.extend(std::env::current_exe().map(|path| (path, Access::Read)));
    grants.retain(|(path, _)| path.exists());
    let grant = |(path, access)| Grant { path, access };
    grants.into_iter().map(grant).collect()
}

/// The device files of GPUs.
fn devices() -> impl Iterator<Item = PathBuf> {
    let is_gpu = |name: &OsStr| {
        let name = name.to_string_lossy();
        name.starts_with("nvidia") || name == "kfd" || name == "dri"
    };
    let entries = fs::read_dir("/dev").into_iter().flatten().flatten();
    entries
        .filter(move |entry| is_gpu(&entry.file_name()))
        .map(|entry| entry.path())
}

/// The entries of a sandbox, each after those that contain it.
///
/// # Errors
/// A path that does not exist, with the system's error.
pub(crate) fn resolve<'a>(
    grants: impl IntoIterator<Item = &'a Grant>,
) -> Result<Vec<Entry>, (PathBuf, io::Error)> {
    let mut entries = Vec::new();
    for Grant { path, access } in grants {
        let found = path.canonicalize().and_then(|source| {
            let given = std::path::absolute(path)?;
            Ok([(source.clone(), source.clone()), (source, given)])
        });
        let paths = found.map_err(|error| (path.clone(), error))?;
        entries.extend(paths.map(|(source, target)| Entry {
            source,
            target,
            access: *access,
        }));
    }
    // A parent sorts before its children; of two grants of a path, the wider one comes first, and of
    // two files at a path, the one without links.
    entries.sort_by(|a, b| {
        let by_link = (a.source != a.target).cmp(&(b.source != b.target));
        (a.target.cmp(&b.target))
            .then(by_link)
            .then(b.access.cmp(&a.access))
    });
    let mut kept: Vec<Entry> = Vec::new();
    for entry in entries {
        let is_inside = |outer: &&Entry| entry.target.starts_with(&outer.target);
        let is_covered = match kept.iter().rev().find(is_inside) {
            None => false,
            // The folder contains the link.
            Some(_) if entry.source != entry.target => true,
            Some(outer) => outer.access >= entry.access,
        };
        if !is_covered {
            kept.push(entry);
        }
    }
    Ok(kept)
}

/// Whether one of the entries is within a file system that shows processes (procfs), or contains one.
///
/// # Errors
/// The list of mounts cannot be read.
pub(crate) fn show_processes(entries: &[Entry]) -> io::Result<bool> {
    let mounts = fs::read_to_string("/proc/self/mountinfo")?;
    // Behind the separator, the kind of the file system.
    let is_procfs = |line: &&str| line.contains(" - proc ");
    let points = mounts.lines().filter(is_procfs);
    let mut points = points.filter_map(|line| line.split(' ').nth(4).map(Path::new));
    Ok(points.any(|point| {
        let overlaps = |source: &Path| source.starts_with(point) || point.starts_with(source);
        entries.iter().any(|entry| overlaps(&entry.source))
    }))
}

/// The path of an absolute one below another root.
pub(crate) fn rebase(root: &Path, path: &Path) -> PathBuf {
    root.join(path.strip_prefix("/").unwrap_or(path))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn grant(path: &Path, access: Access) -> Grant {
        Grant {
            path: path.to_owned(),
            access,
        }
    }

    fn targets(grants: &[Grant]) -> Vec<(PathBuf, Access)> {
        let entries = resolve(grants).expect("all exist");
        let pair = |entry: Entry| (entry.target, entry.access);
        entries.into_iter().map(pair).collect()
    }

    #[test]
    fn the_widest_grant_of_a_path_counts() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path().canonicalize().expect("it exists");
        let inner = root.join("inner");
        fs::create_dir(&inner).expect("created");
        let [read, write] = [Access::Read, Access::Write];
        assert_eq!(
            targets(&[grant(&inner, write), grant(&root, read)]),
            [(root.clone(), read), (inner.clone(), write)]
        );
        assert_eq!(
            targets(&[grant(&inner, read), grant(&root, write)]),
            [(root.clone(), write)]
        );
        assert_eq!(
            targets(&[grant(&root, read), grant(&root, write)]),
            [(root, write)]
        );
    }

    #[test]
    fn a_link_leads_to_its_file_by_both_paths() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path().canonicalize().expect("it exists");
        let [real, link] = [root.join("real"), root.join("link")];
        fs::create_dir(&real).expect("created");
        symlink(&real, &link).expect("a link");
        let read = Access::Read;
        assert_eq!(
            targets(&[grant(&link, read)]),
            [(link.clone(), read), (real, read)]
        );
        assert_eq!(
            targets(&[grant(&link, read), grant(&root, read)]),
            [(root, read)]
        );
    }

    #[test]
    fn a_missing_path_is_named() {
        let (path, error) = resolve(&[grant(Path::new("/no/such"), Access::Read)]).unwrap_err();
        assert_eq!(path, Path::new("/no/such"));
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
    }
}
