//! Shares the files among the ranks of MPI. The first one prints all digests.

use std::ffi::OsString;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context, bail};
use mpi::topology::SimpleCommunicator;
use mpi::traits::{Communicator, Destination, Source};
use revoff_mpi::Mpi;

use crate::files::{Files, Outcome};
use crate::options::Options;
use crate::summary;

/// Digests the files of this rank, and prints those of all ranks on the first; returns whether all could be read.
pub(crate) fn run(options: &Options) -> anyhow::Result<bool> {
    let mpi = Mpi::start()?;
    if !mpi.is_thread_multiple() {
        bail!("--mpi: this MPI allows calls by one thread alone");
    }
    let mut hasher = DefaultHasher::new();
    options.paths.hash(&mut hasher);
    if let Some((other, _)) = examples::first_difference(hasher.finish()) {
        bail!("--mpi: rank {other} has other paths than rank 0; give all ranks the same");
    }
    let (rank, size) = (mpi.rank(), mpi.size());
    let files = Arc::new(Files::find(&options.paths).of_rank(rank, size));
    let summary = crate::digest(options, &files).with_context(|| format!("rank {rank}"))?;
    let world = SimpleCommunicator::world();
    let is_first = rank == 0;
    if is_first {
        for other in 1..world.size() {
            let (message, _) = world.process_at_rank(other).receive_vec::<u8>();
            for (path, result) in
                unpack(&message).context("a message of another rank is malformed")?
            {
                files.set_result(&path, result);
            }
        }
        summary::print(options.json, &files, &summary)?;
    } else {
        world.process_at_rank(0).send(&pack(&files)[..]);
        summary::print_summary(&summary);
    }
    mpi.finish()?;
    Ok(!is_first || files.failures() == 0)
}

/// The results of this rank: for each file its path, the message of an error or nothing, and the digest or nothing,
/// each after its length.
fn pack(files: &Files) -> Vec<u8> {
    let mut message = Vec::new();
    let mut add = |bytes: &[u8]| {
        message.extend((bytes.len() as u64).to_le_bytes());
        message.extend(bytes);
    };
    for (path, result) in files.results_here() {
        add(path.as_os_str().as_bytes());
        match result {
            Ok(digest) => {
                add(&[]);
                add(digest);
            }
            Err(error) => {
                add(error.to_string().as_bytes());
                add(&[]);
            }
        }
    }
    message
}

fn unpack(message: &[u8]) -> Option<Vec<(PathBuf, Outcome)>> {
    let mut rest = message;
    let mut take = || {
        let (length, more) = rest.split_first_chunk::<8>()?;
        let length = usize::try_from(u64::from_le_bytes(*length)).ok()?;
        let (bytes, more) = more.split_at_checked(length)?;
        rest = more;
        Some(bytes)
    };
    let mut results = vec![];
    while let Some(path) = take() {
        let (error, digest) = (take()?, take()?);
        let result = match digest.try_into() {
            Ok(digest) => Ok(digest),
            Err(_) => Err(io::Error::other(
                String::from_utf8_lossy(error).into_owned(),
            )),
        };
        results.push((PathBuf::from(OsString::from_vec(path.to_vec())), result));
    }
    rest.is_empty().then_some(results)
}
