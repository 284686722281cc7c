//! `revoff inspect`: the metadata of an image, without loading it.

use std::fmt::{self, Write};
use std::path::PathBuf;

use clap::Args;
use revoff_host::Image;
use revoff_host::image::ImageError;
use revoff_host::image::{self, Format, KernelDeclaration};
use revoff_host::shared_abi::{ABI_VERSION, wire::WireKind};
use revoff_host::targets::count::{Count, Parameters};
use revoff_host::targets::fatbin;
use serde::Serialize;

use crate::output;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  revoff inspect libhello.so
  revoff inspect libhello.so --json | jq '.content.functions[].name'
  revoff inspect hello.images --arch sm_70

Nothing of the image runs: this is safe with files from anywhere.")]
pub(crate) struct Options {
    /// The image: a shared object, PTX, a cubin, a code object, a fatbin, or a bundle
    image: PathBuf,

    /// Only the images for this architecture in a bundle or a fatbin: sm_70, gfx90a, or a machine's triple
    #[arg(long, value_name = "NAME")]
    arch: Option<String>,

    /// Print one JSON object instead
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Serialize)]
struct Answer {
    image: String,
    /// The ABI version of this command.
    host_abi_version: u32,
    #[serde(flatten)]
    described: Described,
    /// The images of a bundle or a fatbin.
    members: Vec<Member>,
}

/// The metadata of an image.
#[derive(Debug, Serialize)]
struct Described {
    format: String,
    /// The processor of a code object or PTX, if the image names it.
    processor: Option<String>,
    /// The ABI version of its `device-rt`; absent without one.
    abi_version: Option<u32>,
    /// Absent for a bundle and a fatbin.
    content: Option<Content>,
}

#[derive(Debug, Serialize)]
struct Member {
    triple: String,
    arch: String,
    kind: String,
    /// The size in the file.
    bytes: usize,
    /// Absent if it is stored as it is, which it always is in a bundle.
    compression: Option<String>,
    /// Absent without compression.
    decompressed_bytes: Option<u64>,
    /// Absent if it cannot be read.
    image: Option<Described>,
    /// The reason why it cannot be read.
    problem: Option<String>,
}

#[derive(Debug, Serialize)]
struct Content {
    reverse_offload: bool,
    wires: Vec<&'static str>,
    kernels: Vec<Kernel>,
    functions: Vec<Function>,
    gcc_symbols: Vec<String>,
}

#[derive(Debug, Serialize)]
struct Kernel {
    name: String,
    /// Absent if neither the image nor its code describes them.
    params: Option<Params>,
}

#[derive(Debug, Serialize)]
struct Params {
    count: u32,
    /// The sum of all parameters.
    bytes: u32,
    /// Bytes of each; absent if the code does not list them.
    sizes: Option<Vec<u64>>,
    /// Absent in C, and if the image does not describe the kernel.
    signature: Option<String>,
}

#[derive(Debug, Serialize)]
struct Function {
    name: String,
    /// Absent for a function that C declares.
    signature: Option<String>,
}

/// Shows one image.
pub(crate) fn run(options: &Options) -> anyhow::Result<()> {
    let image = Image::open(&options.image)?;
    let answer = Answer {
        image: image.name().to_owned(),
        host_abi_version: ABI_VERSION,
        described: describe(&image)?,
        members: members(&image, options.arch.as_deref())?,
    };
    if options.json {
        output::json(&answer)
    } else {
        output::print(&render(&answer)?)
    }
}

/// The members of `image`, or only those for `arch`.
fn members(image: &Image, arch: Option<&str>) -> anyhow::Result<Vec<Member>> {
    let (file, format) = (image.name(), image.format());
    let mut members = match format {
        Format::Fatbin => entries(image)?,
        _ => image.members().iter().map(member).collect(),
    };
    let Some(arch) = arch else {
        return Ok(members);
    };
    if !matches!(format, Format::Bundle | Format::Fatbin) {
        anyhow::bail!("{file} is one image, {format}: leave out --arch {arch}");
    }
    let mut has: Vec<_> = members.iter().map(|m| m.name().to_owned()).collect();
    // PTX and a cubin have one name.
    has.dedup();
    members.retain(|member| member.name() == arch);
    if members.is_empty() {
        anyhow::bail!(
            "{file} has no image for `{arch}`; it has {}",
            has.join(", ")
        );
    }
    Ok(members)
}

impl Member {
    /// Its target, as one word.
    fn name(&self) -> &str {
        if self.arch.is_empty() {
            &self.triple
        } else {
            &self.arch
        }
    }
}

fn member(member: &image::Member) -> Member {
    let described = member.image().and_then(|image| describe(&image));
    let (image, problem) = match described {
        Ok(described) => (Some(described), None),
        Err(error) => (None, Some(error.to_string())),
    };
    Member {
        triple: member.triple.clone(),
        arch: member.arch.clone(),
        kind: member.kind.to_string(),
        bytes: member.bytes().len(),
        compression: None,
        decompressed_bytes: None,
        image,
        problem,
    }
}

/// The entries of a fatbin.
fn entries(image: &Image) -> anyhow::Result<Vec<Member>> {
    let file = image.name();
    let entries = fatbin::read(image.bytes())
        .map_err(|error| anyhow::anyhow!("{file} is no device image: a broken fatbin: {error}"))?;
    Ok(entries.iter().map(|found| entry(file, found)).collect())
}

fn entry(file: &str, entry: &fatbin::Entry<'_>) -> Member {
    let (arch, kind) = (entry.sm.to_string(), entry.kind.to_string());
    let name = format!("{file} ({arch}, {kind})");
    let described = match entry.decompress() {
        Ok(bytes) => Image::from_bytes(name, &*bytes)
            .and_then(|image| describe(&image))
            .map_err(|error| error.to_string()),
        Err(error) => Err(format!("{name} cannot be decompressed: {error}")),
    };
    let (image, problem) = match described {
        Ok(described) => (Some(described), None),
        Err(problem) => (None, Some(problem)),
    };
    Member {
        triple: entry.triple().to_owned(),
        arch,
        kind,
        bytes: entry.payload.len(),
        compression: entry.compression.map(|compression| compression.to_string()),
        decompressed_bytes: entry.compression.map(|_| entry.size),
        image,
        problem,
    }
}

fn describe(image: &Image) -> Result<Described, ImageError> {
    Ok(Described {
        format: image.format().to_string(),
        processor: image.processor().map(|processor| processor.to_string()),
        abi_version: image.info()?.map(|info| info.abi_version),
        content: match image.format() {
            // Their members have it.
            Format::Bundle | Format::Fatbin => None,
            _ => Some(content(image)?),
        },
    })
}

fn content(image: &Image) -> Result<Content, ImageError> {
    let wires = image.info()?.map_or(0, |info| info.wires);
    let hash = |hash: u64| (hash != 0).then(|| format!("{hash:#018x}"));
    let kernels = image.kernels()?.into_iter().map(|kernel| Kernel {
        params: params(&kernel).map(|(count, bytes)| Params {
            count,
            bytes,
            signature: kernel.info.and_then(|info| hash(info.signature)),
            sizes: kernel.sizes,
        }),
        name: kernel.name,
    });
    let functions = image.functions()?.into_iter().map(|function| Function {
        name: function.name,
        signature: hash(function.signature),
    });
    let gcc = |name: &str| {
        ["GOMP_", "gomp_", "omp_"]
            .iter()
            .any(|prefix| name.trim_start_matches('_').starts_with(prefix))
    };
    let mut gcc_symbols: Vec<_> = image
        .symbols()
        .iter()
        .filter(|s| gcc(&s.name))
        .map(|s| s.name.clone())
        .collect();
    gcc_symbols.sort();
    Ok(Content {
        reverse_offload: image.has_reverse_offload(),
        wires: WireKind::ALL
            .iter()
            .filter(|kind| wires & kind.bit() != 0)
            .filter_map(|kind| kind.name())
            .collect(),
        kernels: kernels.collect(),
        functions: functions.collect(),
        gcc_symbols,
    })
}

/// Number and bytes of a kernel's parameters, from the image's description or from its code.
fn params(kernel: &KernelDeclaration) -> Option<(u32, u32)> {
    if let Some(info) = kernel.info {
        return Some((info.params, info.bytes));
    }
    let sizes = kernel.sizes.as_ref()?;
    let bytes = sizes.iter().sum::<u64>();
    Some((sizes.len().try_into().ok()?, bytes.try_into().ok()?))
}

fn render(answer: &Answer) -> Result<String, fmt::Error> {
    let mut text = String::new();
    write!(text, "{}: ", answer.image)?;
    render_image(&mut text, &answer.described)?;
    for member in &answer.members {
        let (name, Member { triple, kind, .. }) = (member.name(), member);
        let bytes = Count(member.bytes as u64, "byte");
        write!(text, "  {name}: {kind} for {triple}, {bytes}")?;
        match (&member.compression, member.decompressed_bytes) {
            (Some(compression), Some(size)) => {
                let size = Count(size, "byte");
                writeln!(text, ", {compression}, {size} after decompression")?;
            }
            _ => writeln!(text)?,
        }
    }
    for member in &answer.members {
        write!(text, "\n{}, {}: ", member.name(), member.kind)?;
        match (&member.image, &member.problem) {
            (Some(image), _) => render_image(&mut text, image)?,
            (None, problem) => writeln!(text, "{}", problem.as_deref().unwrap_or("unknown"))?,
        }
    }
    Ok(text)
}

fn render_image(text: &mut String, image: &Described) -> fmt::Result {
    match &image.processor {
        Some(processor) => writeln!(text, "{}, {processor}", image.format)?,
        None => writeln!(text, "{}", image.format)?,
    }
    let Some(content) = &image.content else {
        return Ok(());
    };
    match image.abi_version {
        Some(version) if version == ABI_VERSION => writeln!(text, "ABI version: {version}")?,
        Some(version) => {
            writeln!(
                text,
                "ABI version: {version}; this host supports version {ABI_VERSION}"
            )?;
        }
        None => writeln!(text, "ABI version: none")?,
    }
    let reverse = if content.reverse_offload { "yes" } else { "no" };
    writeln!(text, "reverse offload: {reverse}")?;
    if !content.wires.is_empty() {
        writeln!(text, "wires: {}", content.wires.join(", "))?;
    }
    writeln!(text, "kernels: {}", content.kernels.len())?;
    for Kernel { name, params } in &content.kernels {
        match params {
            Some(params) => {
                write!(text, "  {name}: ")?;
                match &params.sizes {
                    Some(sizes) => write!(text, "{}", Parameters(sizes))?,
                    None if params.count == 0 => write!(text, "no parameters")?,
                    None => {
                        let (count, bytes) = (params.count.into(), params.bytes.into());
                        let (count, bytes) = (Count(count, "parameter"), Count(bytes, "byte"));
                        write!(text, "{count}, {bytes} in total")?;
                    }
                }
                match &params.signature {
                    Some(signature) => writeln!(text, ", signature {signature}")?,
                    None => writeln!(text)?,
                }
            }
            None => writeln!(
                text,
                "  {name}: an exported function, parameters not described"
            )?,
        }
    }
    writeln!(text, "host functions: {}", content.functions.len())?;
    for Function { name, signature } in &content.functions {
        match signature {
            Some(signature) => writeln!(text, "  {name}: signature {signature}")?,
            None => writeln!(text, "  {name}: no signature")?,
        }
    }
    if !content.gcc_symbols.is_empty() {
        writeln!(
            text,
            "symbols of GCC's runtime: {}",
            content.gcc_symbols.join(", ")
        )?;
    }
    Ok(())
}
