//! `cargo xtask images`: images of kernel crates for GPUs.

mod crates;
mod openmp;
mod pieces;
mod reserves;
mod table;

use std::collections::VecDeque;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::thread;
use std::time::Instant;

use anyhow::{Context, Result, bail};
use clap::Args;
use revoff_build::device::{self, Assemblers, DeviceImage, Toolchain};
use revoff_build::{host_image, write_file};
use targets::arch::{self, Arch};
use targets::gcc::archive::{Member, member};
use targets::gcc::without_target_ext;

use crates::{Family, KernelCrate};
use table::Row;

use crate::output;

/// The command line.
#[derive(Args)]
pub(crate) struct Options {
    /// Build for all architectures of these (default: nvptx and amdgcn); host is one more
    /// image, beside those for --arch too
    #[arg(long, value_name = "TARGET", value_delimiter = ',')]
    target: Vec<Family>,
    /// Build only for these, such as sm_70 or gfx90a
    #[arg(long, value_name = "ARCH", value_delimiter = ',')]
    arch: Vec<String>,
    /// Build the kernel crates in these folders (default: device-rt and the examples)
    #[arg(long, value_name = "DIR")]
    kernel_crate: Vec<PathBuf>,
    /// Build only the pieces that others link into their images, see docs/linking.md
    #[arg(long, conflicts_with = "kernel_crate")]
    pieces: bool,
    /// Put what else GCC's file with GOMP_target_ext has into librevoff-gcc.a, from this
    /// libgomp.a of GCC's for NVIDIA, see docs/gcc.md
    #[arg(long, requires = "pieces", value_name = "FILE")]
    gcc_libgomp: Option<PathBuf>,
    #[command(flatten)]
    openmp: openmp::OpenMp,
    /// Print the toolchain that would build them, and build nothing
    #[arg(long)]
    which: bool,
    /// The folder for images
    #[arg(long, value_name = "DIR", default_value = "target/images")]
    out: PathBuf,
}

/// The member of libgomp.a for NVIDIA that defines `GOMP_target_ext`, without that function.
///
/// GCC's linker takes whole members of archives, and programs need other functions of that member.
/// So the archive with device-rt also has the rest of the member: the linker then never takes the
/// original.
fn rest_of_libgomp(path: &Path) -> Result<Member<String>> {
    member(path, without_target_ext).with_context(|| format!("{} (--gcc-libgomp)", path.display()))
}

pub(crate) fn run(root: &Path, options: &Options) -> Result<String> {
    let started = Instant::now();
    let arches = arches(options)?;
    if options.which {
        return Ok(Toolchain::find(&arches)?.to_string());
    }
    let libgomp = options.gcc_libgomp.as_deref().map(rest_of_libgomp);
    let libgomp = libgomp.transpose()?;
    options.openmp.check(&arches)?;
    let crates = crates::chosen(root, &options.kernel_crate, options.pieces);
    crates::refuse_one_name(&crates)?;
    fs::create_dir_all(&options.out)
        .with_context(|| format!("cannot make the folder {} (--out)", options.out.display()))?;
    // Cargo runs in other folders.
    let out = options.out.canonicalize()?;
    let _alone = alone(&out)?;

    let mut rustc = String::new();
    let built = if arches.is_empty() {
        vec![]
    } else {
        let toolchain = Toolchain::find(&arches)?;
        rustc = format!("rustc {}", toolchain.release());
        output::line(
            &mut std::io::stderr(),
            &format!("building with {toolchain}"),
        );
        let built = build_all(&toolchain, &crates, &arches, &out)?;
        output::line(&mut std::io::stderr(), "");
        built
    };

    for (index, image) in built.iter().flatten() {
        if crates[*index].is_ours {
            reserves::check(image)?;
        }
    }
    let mut files = vec![];
    let pieces = pieces::folder(&out);
    for (index, krate) in crates.iter().enumerate() {
        let images: Vec<DeviceImage> = built
            .iter()
            .flatten()
            .filter(|(of, _)| *of == index)
            .map(|(_, image)| image.clone())
            .collect();
        if let Some(piece) = krate.piece {
            for image in &images {
                piece.put(image, &pieces, libgomp.as_ref())?;
            }
        }
        let host = (krate.is_for_host() && options.target.contains(&Family::Host))
            .then(|| host_image(&krate.dir, &out.join("host")))
            .transpose()?;
        let has_kernels = images.iter().any(DeviceImage::has_kernels) || host.is_some();
        if has_kernels {
            let name = images
                .first()
                .and_then(|image| image.bitcode.file_stem())
                .or_else(|| krate.dir.file_name())
                .unwrap_or_default();
            let file = out.join(name).with_extension("offload");
            write_file(&file, &images, host.as_deref())?;
            files.push(file);
        }
    }
    let pieces_are_made = built
        .iter()
        .flatten()
        .any(|(of, _)| crates[*of].piece.is_some());
    let rows: Vec<_> = built
        .iter()
        .flatten()
        .flat_map(|(_, image)| Row::of(image, &rustc))
        .collect();
    let mut said = table::print(&rows);
    if pieces_are_made {
        revoff_build::pieces::put_headers(root, &pieces)?;
        for arch in &arches {
            let openmp = &options.openmp;
            openmp.put(root, arch, &pieces.join(arch.name), &out)?;
        }
        if options.pieces {
            revoff_build::pieces::put_for_host(root, &pieces)?;
        }
        said += &format!("pieces to link in {}\n", pieces.display());
    }
    for file in files {
        said += &format!("{}: {} bytes\n", file.display(), fs::metadata(&file)?.len());
    }
    said += &format!(
        "images in {}, built in {} s",
        out.display(),
        started.elapsed().as_secs()
    );
    Ok(said)
}

/// Waits until no other run writes to the same folder. Other runs wait as long as the result lives.
fn alone(out: &Path) -> Result<fs::File> {
    let lock = fs::File::create(out.join(".lock"))?;
    if lock.try_lock().is_err() {
        let waiting = format!("another run builds in {}, waiting for it", out.display());
        output::line(&mut std::io::stderr(), &waiting);
        lock.lock()?;
    }
    Ok(lock)
}

fn arches(options: &Options) -> Result<Vec<&'static Arch>> {
    let named = options
        .arch
        .iter()
        .map(|name| arch::find(name))
        .collect::<Result<Vec<_>, _>>()?;
    // The host is combined with any architecture, and belongs to no family.
    let mut families = options.target.clone();
    families.retain(|family| *family != Family::Host);
    if options.pieces && families.is_empty() && !options.target.is_empty() {
        bail!("--pieces are for GPUs: leave out --target host");
    }
    if options.target.is_empty() && named.is_empty() {
        families = vec![Family::Nvptx, Family::Amdgcn];
    }
    let mut arches = named;
    if options.arch.is_empty() {
        arches.extend(
            arch::ARCHES
                .iter()
                .filter(|arch| families.iter().any(|family| family.has(arch))),
        );
    } else if let Some(stray) = arches
        .iter()
        .find(|arch| !families.is_empty() && !families.iter().any(|family| family.has(arch)))
    {
        bail!(
            "--arch {} is not one of --target's; leave out the targets but host",
            stray.name
        );
    }
    Ok(arches)
}

/// Builds every crate for each of its architectures, as many architectures at a time as there are
/// processors. The result is in the order of `arches`, then of `crates`; an image has its crate's
/// index.
fn build_all(
    toolchain: &Toolchain,
    crates: &[KernelCrate],
    arches: &[&'static Arch],
    out: &Path,
) -> Result<Vec<Vec<(usize, DeviceImage)>>> {
    let assemblers = Assemblers::find()?;
    let build = |arch: &'static Arch| -> Result<Vec<(usize, DeviceImage)>> {
        let out = out.join(arch.name);
        crates
            .iter()
            .enumerate()
            .filter(|(_, krate)| krate.is_for(arch))
            .map(|(index, krate)| {
                // The resources of a piece's functions are only in the assembly.
                let build = match krate.piece {
                    Some(_) => device::build_with_assembly,
                    None => device::build,
                };
                let image = build(toolchain, &assemblers, &krate.dir, arch, &out)?;
                Ok((index, image))
            })
            .collect()
    };
    let queue: Mutex<VecDeque<_>> = Mutex::new(arches.iter().copied().enumerate().collect());
    let results = Mutex::new(vec![]);
    thread::scope(|scope| {
        let threads = thread::available_parallelism().map_or(1, usize::from);
        for _ in 0..threads.min(arches.len()) {
            scope.spawn(|| {
                loop {
                    let Some((index, arch)) = lock(&queue).pop_front() else {
                        return;
                    };
                    let result = build(arch);
                    if result.is_err() {
                        // Starts nothing more; running builds finish.
                        lock(&queue).clear();
                    }
                    lock(&results).push((index, result));
                }
            });
        }
    });
    let mut results = results
        .into_inner()
        .unwrap_or_else(|poison| poison.into_inner());
    results.sort_by_key(|(index, _)| *index);
    results.into_iter().map(|(_, result)| result).collect()
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poison| poison.into_inner())
}
