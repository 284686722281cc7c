//! Builds and runs a program with Rust's `std`.

use std::env;
use std::ffi::OsString;
use std::io::{self, Write};
use std::path::{self, Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, bail};
use clap::{Args, Command, Id};
use revoff_build::device::Toolchain;
use revoff_build::program::{self, StdTarget};
use revoff_host::targets::DeviceArch;
use revoff_host::targets::arch;
use revoff_host::{Functions, Image, ProgramLimits, Services};
use revoff_isolate::Sandbox;

use super::arg;
use super::heap;
use crate::output;

/// How to build and run a program.
#[derive(Debug, Args)]
#[group(skip)]
#[command(next_help_heading = "Programs")]
pub(crate) struct Options {
    #[command(flatten)]
    source: Source,

    /// The program, if the crate has several
    #[arg(long, value_name = "NAME")]
    bin: Option<String>,

    /// An image that an earlier run built, instead of building one
    #[arg(long, value_name = "IMAGE", conflicts_with = "bin", conflicts_with_all = names_of::<Source>())]
    program: Option<PathBuf>,

    #[command(flatten)]
    limits: Limits,

    /// Count what the program allocates, and print it to the standard error when the program ends
    #[arg(long)]
    heap_stats: bool,

    /// The program's arguments
    #[arg(last = true, value_name = "ARGUMENT")]
    arguments: Vec<OsString>,
}

/// The crate to build, and what for.
#[derive(Debug, Args)]
pub(crate) struct Source {
    /// The manifest of the crate [default: Cargo.toml in the current folder or one above]
    #[arg(long, value_name = "PATH")]
    manifest_path: Option<PathBuf>,

    /// The architecture to build for [default: sm_70 on NVIDIA GPUs]
    #[arg(long, value_name = "ARCH")]
    arch: Option<String>,

    /// Features of the crate to enable, separated by commas; may be repeated
    #[arg(long, value_name = "FEATURES", value_delimiter = ',')]
    features: Vec<String>,

    /// Enable all features of the crate
    #[arg(long)]
    all_features: bool,

    /// Leave out the crate's default features
    #[arg(long)]
    no_default_features: bool,
}

/// The resources and rights of a program.
#[derive(Debug, Args)]
pub(crate) struct Limits {
    /// The most threads of the program at a time, each a warp of its own
    #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..))]
    warps: u32,

    /// The most memory that the program's heap may take, in device memory; it grows as needed
    #[arg(long, default_value = "256M", value_name = "BYTES", value_parser = arg::size)]
    heap: u64,

    /// The stack of each thread
    #[arg(long, default_value = "2M", value_name = "BYTES", value_parser = stack_size)]
    stack: u64,

    #[command(flatten)]
    pub(crate) permissions: Permissions,
}

/// Permissions of a program, or of an isolated image.
#[derive(Debug, Args)]
pub(crate) struct Permissions {
    /// Allow the program to read the files of a folder, instead of all files; may be repeated
    #[arg(long, value_name = "FOLDER")]
    allow_read: Vec<PathBuf>,

    /// Allow the program to read and change the files of a folder; may be repeated
    #[arg(long, value_name = "FOLDER")]
    allow_write: Vec<PathBuf>,

    /// Allow the program to use the network with a host: a name or an IP address, with a port or
    /// without (`example.com`, `127.0.0.1:80`, `[::1]:80`); also to listen there. May be repeated
    #[arg(long, value_name = "HOST")]
    allow_net: Vec<String>,

    /// Allow the program to start commands. They have your rights, and no other option restricts them but
    /// --isolated
    #[arg(long)]
    allow_run: bool,

    /// Allow the program only what other options allow; each of them implies this
    #[arg(long)]
    deny_all: bool,
}

/// The names of the options of programs that images do not have.
pub(super) fn names() -> Vec<Id> {
    let shared = names_of::<Permissions>();
    let mut names = names_of::<Options>();
    names.retain(|name| !shared.contains(name));
    names
}

/// The names of these options. An error of a conflict with each of them shows those that were given; with a group, it
/// shows all.
fn names_of<Options: Args>() -> Vec<Id> {
    let options = Options::augment_args(Command::new(""));
    let names = options
        .get_arguments()
        .map(|option| option.get_id().clone());
    names.collect()
}

/// The architecture for all NVIDIA GPUs: the oldest that Rust's atomics exist for. Drivers compile
/// its PTX for newer ones.
const NVIDIA: &str = "sm_70";

/// Runs the program, which is built first unless `built` is its image. Returns only after an error: a program that ends
/// is the end of this process, with the same status.
pub(super) fn run(run: &super::Options, built: Option<&Path>) -> anyhow::Result<()> {
    let (device, options) = (&run.device, &run.program);
    let limits = ProgramLimits {
        threads: options.limits.warps,
        heap: options.limits.heap,
        stack: options.limits.stack,
        heap_statistics: options.heap_stats,
    };
    let mut builder = limits.runtime(device);
    if let Some(wire) = run.wire {
        builder = builder.wire(wire);
    }
    if let Some(traced) = run.trace {
        traced.check(limits.threads, 1, "--warps")?;
        builder = builder.trace(traced.to_stderr());
    }
    let runtime = builder.build()?;
    let image = match built {
        Some(image) => image.to_owned(),
        None => options.image(device, || Ok(runtime.arch()))?,
    };
    let is_restricted = run.isolated || options.limits.permissions.is_restricted();
    let services = options
        .limits
        .services(&image, &options.arguments, is_restricted)?;
    let image = Image::open(&image)?;
    let launch = services.launch(&runtime, &image, Functions::new(), &limits)?;
    launch.wait()?;
    bail!("the program ended without an exit status");
}

impl Options {
    /// The image that the options name, or that of the program, which is built for the device.
    pub(super) fn image(
        &self,
        device: &str,
        device_arch: impl FnOnce() -> anyhow::Result<DeviceArch>,
    ) -> anyhow::Result<PathBuf> {
        if let Some(image) = &self.program {
            return Ok(image.clone());
        }
        let (toolchain, target, source) = self.source.for_device(device, &device_arch()?)?;
        Ok(program::build(&toolchain, target, &source, self.bin.as_deref())?.image)
    }

    pub(super) fn permissions(&self) -> &Permissions {
        &self.limits.permissions
    }
}

impl Source {
    /// Whether it names an architecture.
    pub(crate) fn names_arch(&self) -> bool {
        self.arch.is_some()
    }

    /// The toolchain, the target for a device, and the crate.
    pub(crate) fn for_device(
        &self,
        device: &str,
        device_arch: &DeviceArch,
    ) -> anyhow::Result<(Toolchain, StdTarget, program::Source)> {
        let default = match (device_arch, &self.arch) {
            (DeviceArch::Host(_), Some(arch)) => {
                bail!("--arch {arch}: the device `{device}` is this machine")
            }
            (DeviceArch::Host(_), None) => None,
            (DeviceArch::Nvidia(_) | DeviceArch::Emulated(_), _) => Some(NVIDIA),
            (DeviceArch::Amd(target), _) => Some(&*target.processor),
        };
        self.for_arch(default)
    }

    /// The same for an architecture; `None` is this machine's.
    pub(crate) fn for_arch(
        &self,
        default: Option<&str>,
    ) -> anyhow::Result<(Toolchain, StdTarget, program::Source)> {
        let arch = self
            .arch
            .as_deref()
            .or(default)
            .map(arch::find)
            .transpose()?;
        let target = arch.map_or(StdTarget::Host, StdTarget::Gpu);
        let folder = match self.manifest_path.as_deref().map(Path::parent) {
            Some(Some(folder)) if folder != Path::new("") => folder.to_owned(),
            Some(_) => PathBuf::from("."),
            None => find_crate_folder()?,
        };
        let source = program::Source {
            folder,
            features: self.features.clone(),
            all_features: self.all_features,
            no_default_features: self.no_default_features,
        };
        Ok((Toolchain::find(arch.as_slice())?, target, source))
    }
}

/// The folder of the crate that contains the working directory; the working directory if there is none.
fn find_crate_folder() -> anyhow::Result<PathBuf> {
    let here = env::current_dir().context("cannot determine the working directory")?;
    let mut folders = here.ancestors();
    let found = folders.find(|folder| folder.join("Cargo.toml").is_file());
    Ok(match found {
        Some(folder) if folder != here => folder.to_owned(),
        // Shorter in messages.
        _ => PathBuf::from("."),
    })
}

impl Limits {
    /// The services with these permissions.
    fn services(
        &self,
        image: &Path,
        arguments: &[OsString],
        is_restricted: bool,
    ) -> anyhow::Result<Arc<Services>> {
        let mut all = vec![image.as_os_str().to_owned()];
        all.extend(arguments.iter().cloned());
        let mut builder = Services::builder()
            .arguments(all)
            .environment(env::vars_os())
            .program(image)
            .on_exit(exit);
        if !is_restricted {
            builder = builder
                .allow_all_files()
                .allow_all_network()
                .allow_commands();
        }
        let permissions = &self.permissions;
        for folder in &permissions.allow_read {
            builder = builder.allow_read(folder);
        }
        for folder in &permissions.allow_write {
            builder = builder.allow_write(folder);
        }
        for host in &permissions.allow_net {
            builder = builder.allow_net(host);
        }
        if permissions.allow_run {
            builder = builder.allow_commands();
        }
        Ok(builder.build()?)
    }

    /// The same as options of a command line in another folder.
    pub(crate) fn options(&self) -> anyhow::Result<Vec<OsString>> {
        let mut options: Vec<OsString> = [
            ("--warps", u64::from(self.warps)),
            ("--heap", self.heap),
            ("--stack", self.stack),
        ]
        .into_iter()
        .flat_map(|(name, value)| [name.into(), value.to_string().into()])
        .collect();
        for (name, folders) in [
            ("--allow-read", &self.permissions.allow_read),
            ("--allow-write", &self.permissions.allow_write),
        ] {
            for folder in folders {
                options.extend([name.into(), path::absolute(folder)?.into_os_string()]);
            }
        }
        for host in &self.permissions.allow_net {
            options.extend(["--allow-net".into(), host.into()]);
        }
        for (name, is_set) in [
            ("--allow-run", self.permissions.allow_run),
            ("--deny-all", self.permissions.deny_all),
        ] {
            if is_set {
                options.push(name.into());
            }
        }
        Ok(options)
    }
}

impl Permissions {
    /// Grants the files and the network that the services may reach.
    pub(super) fn grant(&self, mut sandbox: Sandbox) -> Sandbox {
        for folder in &self.allow_read {
            sandbox = sandbox.read(folder);
        }
        for folder in &self.allow_write {
            sandbox = sandbox.write(folder);
        }
        if !self.allow_net.is_empty() {
            sandbox = sandbox.network();
        }
        if self.allow_run {
            sandbox = sandbox.commands();
        }
        sandbox
    }

    /// The first option that is given.
    pub(super) fn given(&self) -> Option<&'static str> {
        let options = [
            ("--allow-read", !self.allow_read.is_empty()),
            ("--allow-write", !self.allow_write.is_empty()),
            ("--allow-net", !self.allow_net.is_empty()),
            ("--allow-run", self.allow_run),
            ("--deny-all", self.deny_all),
        ];
        options
            .into_iter()
            .find(|(_, is_given)| *is_given)
            .map(|(name, _)| name)
    }

    pub(crate) fn is_restricted(&self) -> bool {
        self.given().is_some()
    }
}

/// The size of a stack, such as `2M`.
fn stack_size(text: &str) -> anyhow::Result<u64> {
    let bytes = arg::size(text)?;
    let sizes = ProgramLimits::STACK_SIZES;
    if !sizes.contains(&bytes) {
        let [least, most] = [*sizes.start() >> 10, *sizes.end() >> 30];
        bail!("a stack has from {least}K to {most}G bytes");
    }
    Ok(bytes)
}

/// Ends this process with the program's status: other threads of the program, and what the device
/// still does, end with it.
fn exit(status: i32, services: &Services) {
    let heap = services.heap().unwrap_or_default();
    // Nobody may read it any more.
    let _ = io::stderr().write_all(heap::report(&heap, status).as_bytes());
    output::exit_at_once(status)
}
