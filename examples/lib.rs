//! Shared by the example programs: the log, finding the image of their kernel, and options of ranks.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow};
use revoff_build::device::{Assemblers, Toolchain};
use revoff_host::targets::choose::{WayOut, to_build};
use revoff_host::targets::{Arch, DeviceArch};
use revoff_host::{Image, Runtime, telemetry};
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{Layer, fmt, registry};

/// Shows errors in the log, with a timeline and metrics if the environment asks for them.
pub fn show_errors() {
    let lines = fmt::layer().with_writer(io::stderr);
    registry()
        .with(lines.with_filter(LevelFilter::ERROR))
        .with(telemetry::layer())
        .init();
}

/// The first rank of MPI whose value is not that of rank 0, with the values of both, rank 0's first. All ranks call
/// this, and get the same.
#[cfg(feature = "mpi")]
#[must_use]
pub fn first_difference(value: u64) -> Option<(usize, [u64; 2])> {
    use mpi::topology::SimpleCommunicator;
    use mpi::traits::{Communicator, CommunicatorCollectives};

    let world = SimpleCommunicator::world();
    let mut values = vec![0; world.size().unsigned_abs() as usize];
    world.all_gather_into(&value, &mut values[..]);
    let rank = values.iter().position(|&other| other != values[0])?;
    Some((rank, [values[0], values[rank]]))
}

/// The kernel of an example.
#[derive(Clone, Copy, Debug)]
pub struct Kernel {
    /// Its crate, in this file's folder.
    pub folder: &'static str,
    /// The image for the `host` device, from the build script.
    pub host: &'static str,
}

impl Kernel {
    /// The image for the device of `runtime`: the one in the file `named`, if any; for `host` the
    /// build script's; for a GPU, or an emulated one, built now.
    ///
    /// # Errors
    /// The file is not an image, or no compiler here builds images for the device.
    pub fn image(&self, runtime: &Runtime, named: Option<&Path>) -> anyhow::Result<Image> {
        if let Some(named) = named {
            return Ok(Image::open(named)?);
        }
        let device = runtime.arch();
        if let DeviceArch::Host(_) = device {
            return Ok(Image::open(self.host)?);
        }
        let arch = to_build(&device)
            .ok_or_else(|| anyhow!("no kernel for {device}: {}", WayOut(&device)))?;
        let built = self.build(arch).with_context(|| {
            format!(
                "cannot build the kernel for {}; with an image from elsewhere (--image) it need \
                 not be built",
                arch.name
            )
        })?;
        Ok(Image::open(built)?)
    }

    /// Builds it for a GPU; quick if nothing has changed.
    fn build(&self, arch: &'static Arch) -> anyhow::Result<PathBuf> {
        let toolchain = Toolchain::find(&[arch])?;
        let out = Path::new(env!("OUT_DIR")).join("gpu");
        fs::create_dir_all(&out).with_context(|| format!("cannot make {}", out.display()))?;
        // Another program with the same build waits until this one has read it.
        let lock = File::create(out.join("lock")).context("cannot lock the folder of images")?;
        lock.lock()?;
        let crate_folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(self.folder);
        let images = out.join(arch.name);
        let assemblers = Assemblers::find()?;
        let built =
            revoff_build::device::build(&toolchain, &assemblers, &crate_folder, arch, &images)?;
        let file = images.join(revoff_build::file_name(&crate_folder)? + ".offload");
        // Replaced atomically, since it may be open elsewhere.
        let part = file.with_extension(format!("{}.part", std::process::id()));
        revoff_build::write_file(&part, &[built], None)?;
        fs::rename(&part, &file).with_context(|| format!("cannot write {}", file.display()))?;
        Ok(file)
    }
}
