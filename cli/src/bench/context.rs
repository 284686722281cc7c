//! The context of all measurements: the device, its images, and the time to measure.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::anyhow;
use revoff_host::device::{self, Device};
use revoff_host::targets::DeviceArch;
use revoff_host::{Image, env};

use super::options::Options;
use super::os_threads;
use super::watchdog::Watchdog;

/// The images for the `host` device, in the command itself; empty if it was built without the repository.
static KERNELS: &[u8] = include_bytes!(env!("REVOFF_IMAGE_BENCH"));
static QUIET: &[u8] = include_bytes!(env!("REVOFF_IMAGE_BENCH_QUIET"));

/// The context of all measurements.
pub(crate) struct Bench {
    /// Kept open from the first measurement to the last: opening a GPU takes long.
    pub(crate) device: Arc<dyn Device>,
    /// The kernels.
    pub(crate) image: Image,
    /// The kernel without the runtime, if there is an image with it.
    pub(crate) quiet: Option<Image>,
    /// The cores of two threads, if they are pinned.
    pub(crate) cores: Option<[usize; 2]>,
    /// How long each figure is measured in a round.
    pub(crate) time: Duration,
    pub(crate) watchdog: Watchdog,
}

impl Bench {
    pub(crate) fn open(options: &Options) -> anyhow::Result<Self> {
        let watchdog = Watchdog::start(options.patience())?;
        watchdog.at(format!("opening the device {}", options.device));
        let device = device::open(&options.device, &env::Env::read()?)?;
        let arch = device.arch();
        let is_host = is_host(&*device);
        let image = kernels(&*device, options.image.as_deref())?;
        let quiet = match &options.quiet_image {
            Some(file) => Some(open(file, &arch)?),
            None if is_host && !QUIET.is_empty() => {
                Some(Image::from_bytes("the image without the runtime", QUIET)?)
            }
            None => None,
        };
        Ok(Self {
            cores: os_threads::two_cores().filter(|_| is_host && !options.no_pin),
            device,
            image,
            quiet,
            time: options.time(),
            watchdog,
        })
    }

    /// The device's name.
    pub(crate) fn name(&self) -> &str {
        self.device.name()
    }

    /// Whether device threads are threads of this process.
    pub(crate) fn is_host(&self) -> bool {
        is_host(&*self.device)
    }
}

/// The kernels for a device, in `file` or in the command itself.
pub(crate) fn kernels(device: &dyn Device, file: Option<&Path>) -> anyhow::Result<Image> {
    let arch = device.arch();
    match file {
        Some(file) => open(file, &arch),
        None if is_host(device) && !KERNELS.is_empty() => {
            Ok(Image::from_bytes("the benchmark's image", KERNELS)?)
        }
        None => anyhow::bail!(
            "the command carries no kernels for {} ({arch}): name an image by --image, and for `revoff bench` \
             one without the runtime by --quiet-image. {}",
            device.name(),
            build(&arch)
        ),
    }
}

fn is_host(device: &dyn Device) -> bool {
    matches!(device.arch(), DeviceArch::Host(_))
}

/// The image in `file` for a device of this architecture.
fn open(file: &Path, arch: &DeviceArch) -> anyhow::Result<Image> {
    Image::open(file)?
        .for_device(arch)
        .map_err(|error| anyhow!("{error}. {}", build(arch)))
}

/// The command that builds images for such a device.
fn build(arch: &DeviceArch) -> String {
    let arch = match arch {
        DeviceArch::Host(_) => "--target host".to_owned(),
        arch => format!("--arch {arch}"),
    };
    format!(
        "This builds both into target/images: cargo xtask images --kernel-crate benches/kernels \
         --kernel-crate benches/quiet {arch}"
    )
}

#[cfg(test)]
mod tests {
    use super::{DeviceArch, build};

    #[test]
    fn who_has_no_image_is_told_how_to_build_one() {
        let command = "cargo xtask images --kernel-crate benches/kernels \
                       --kernel-crate benches/quiet";
        let gpu = build(&"sm_90".parse().unwrap());
        assert!(gpu.ends_with(&format!("{command} --arch sm_90")), "{gpu}");
        let host = build(&DeviceArch::this_machine());
        assert!(
            host.ends_with(&format!("{command} --target host")),
            "{host}"
        );
    }
}
