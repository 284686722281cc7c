//! Namespaces: a root folder with the granted files only, no network, and no rights over the system.

use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, FileType, fstat};
use rustix::mount::{
    MountFlags, MountPropagationFlags, MoveMountFlags, OpenTreeFlags, UnmountFlags, mount,
    mount_change, move_mount, open_tree, unmount,
};
use rustix::process::{chdir, getegid, geteuid, pivot_root};
use rustix::thread::{UnshareFlags, unshare_unsafe};

use crate::error::{Error, StepError, in_step};
use crate::grant::{Access, Entry, rebase};

/// Where the new root is assembled. Any folder would do: the old root disappears.
const NEW_ROOT: &str = "/tmp";

/// Moves this process, which has one thread, into namespaces of its own, and into a root folder with
/// these entries. `Err` in `Ok`: the system does not allow that step; the process has kept its root.
///
/// # Errors
/// A failure halfway.
pub(crate) fn enter(entries: &[Entry], network: bool) -> Result<Result<(), StepError>, Error> {
    let directory = std::env::current_dir().ok();
    let trees = match prepare(entries, network) {
        Ok(trees) => trees,
        Err(refused) => return Ok(Err(refused)),
    };
    let root = Path::new(NEW_ROOT);
    for (entry, tree) in entries.iter().zip(&trees) {
        let target = rebase(root, &entry.target);
        let step = || format!("place {} in it", entry.target.display());
        create(tree, &target).map_err(in_step(step()))?;
        let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH;
        move_mount(tree, "", CWD, &target, flags).map_err(in_step(step()))?;
    }
    let is_all = entries
        .iter()
        .any(|entry| entry.target.as_path() == Path::new("/"));
    if let Some(directory) = &directory {
        // Fails where only reading is granted: then the folder exists, or it is not granted.
        let _ = fs::create_dir_all(rebase(root, directory));
    }
    switch(root, is_all).map_err(in_step("change the root folder"))?;
    let directory = directory.unwrap_or_else(|| PathBuf::from("/"));
    if chdir(&directory).is_err() {
        chdir("/").map_err(in_step("change to the root folder"))?;
    }
    Ok(Ok(()))
}

/// Takes all steps that a system may forbid. Returns the granted trees, which nothing mounts yet.
fn prepare(entries: &[Entry], network: bool) -> Result<Vec<OwnedFd>, StepError> {
    let (user, group) = (geteuid().as_raw(), getegid().as_raw());
    let mut flags = UnshareFlags::NEWUSER | UnshareFlags::NEWNS | UnshareFlags::NEWIPC;
    if !network {
        flags |= UnshareFlags::NEWNET;
    }
    // SAFETY: no flag separates what threads share by their contract with Rust, such as descriptors;
    // the process has one thread.
    unsafe { unshare_unsafe(flags) }.map_err(in_step("unshare user namespaces"))?;
    for (file, text) in [
        ("/proc/self/setgroups", "deny".to_owned()),
        ("/proc/self/uid_map", format!("{user} {user} 1")),
        ("/proc/self/gid_map", format!("{group} {group} 1")),
    ] {
        fs::write(file, text).map_err(in_step(format!("write {file}")))?;
    }
    let private = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
    mount_change("/", private).map_err(in_step("detach mounts"))?;
    let mut trees = Vec::with_capacity(entries.len());
    for entry in entries {
        let step = || format!("clone the mount of {}", entry.source.display());
        let flags = OpenTreeFlags::OPEN_TREE_CLONE
            | OpenTreeFlags::OPEN_TREE_CLOEXEC
            | OpenTreeFlags::AT_RECURSIVE;
        let tree = open_tree(CWD, &entry.source, flags).map_err(in_step(step()))?;
        let no_devices = match entry.access {
            Access::Read => Some(libc::MOUNT_ATTR_NODEV),
            // The mount's device can be written nevertheless.
            Access::Device => Some(0),
            Access::Write => None,
        };
        if let Some(no_devices) = no_devices {
            set_read_only(tree.as_fd(), no_devices, true).map_err(in_step(step()))?;
        }
        trees.push(tree);
    }
    let flags = MountFlags::NOSUID | MountFlags::NODEV;
    mount("tmpfs", NEW_ROOT, "tmpfs", flags, c"mode=755,size=1m")
        .map_err(in_step("mount an empty root folder"))?;
    Ok(trees)
}

/// Creates a mount point for a tree, unless one that is there already contains it.
fn create(tree: &OwnedFd, target: &Path) -> io::Result<()> {
    if target.exists() {
        return Ok(());
    }
    // Not by its path: that may lie below the new root.
    let kind = FileType::from_raw_mode(fstat(tree)?.st_mode);
    if kind == FileType::Directory {
        return fs::create_dir_all(target);
    }
    if let Some(folder) = target.parent() {
        fs::create_dir_all(folder)?;
    }
    match File::create_new(target) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => Err(error),
        _ => Ok(()),
    }
}

/// Makes `root` the root folder, without the old one. It is read-only unless it was granted.
fn switch(root: &Path, is_granted: bool) -> io::Result<()> {
    chdir(root)?;
    // The old root lies on top of the new one, and is then removed from there.
    pivot_root(".", ".")?;
    unmount(".", UnmountFlags::DETACH)?;
    chdir("/")?;
    if !is_granted {
        set_read_only(File::open("/")?.as_fd(), libc::MOUNT_ATTR_NODEV, false)?;
    }
    Ok(())
}

/// Makes a mount read-only, or a tree of mounts, with another attribute.
fn set_read_only(tree: BorrowedFd<'_>, attribute: u64, recursive: bool) -> io::Result<()> {
    let attributes = libc::mount_attr {
        attr_set: libc::MOUNT_ATTR_RDONLY | libc::MOUNT_ATTR_NOSUID | attribute,
        attr_clr: 0,
        propagation: 0,
        userns_fd: 0,
    };
    let flags = libc::AT_EMPTY_PATH | if recursive { libc::AT_RECURSIVE } else { 0 };
    // SAFETY: the path is a C string, and the structure is as long as the call says; the kernel reads
    // both before it returns.
    let result = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            tree.as_raw_fd(),
            c"".as_ptr(),
            flags,
            &raw const attributes,
            size_of::<libc::mount_attr>(),
        )
    };
    if result == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}
