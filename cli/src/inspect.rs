//! `revoff inspect`: what an image says of itself, without loading it.

use std::fmt::{self, Write};
use std::path::PathBuf;

use clap::Args;
use host_rt::Image;
use host_rt::image::Format;
use host_rt::shared_abi::{ABI_VERSION, wire::WireKind};
use serde::Serialize;

use crate::output;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  revoff inspect libhello.so
  revoff inspect libhello.so --json | jq '.functions[].name'

Nothing of the image runs: this is safe with files from anywhere.")]
pub(crate) struct Options {
    /// The image: a shared object, PTX, a cubin or a code object
    image: PathBuf,

    /// Print one JSON object instead
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Serialize)]
struct Answer {
    image: String,
    format: String,
    /// Version of the ABI that it was built with; absent without `device-rt`.
    abi_version: Option<u32>,
    /// That of this command.
    host_abi_version: u32,
    /// What can be known without loading it; absent where its symbols cannot be
    /// read.
    content: Option<Content>,
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
    /// Absent where the image exports a function and does not describe it.
    params: Option<Params>,
}

#[derive(Debug, Serialize)]
struct Params {
    count: u32,
    bytes: u32,
    signature: String,
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
        format: image.format().to_string(),
        abi_version: image.info()?.map(|info| info.abi_version),
        host_abi_version: ABI_VERSION,
        content: content(&image)?,
    };
    if options.json {
        output::json(&answer)
    } else {
        output::print(&render(&answer)?)
    }
}

fn content(image: &Image) -> Result<Option<Content>, host_rt::error::ImageError> {
    if image.format() == Format::Ptx {
        return Ok(None);
    }
    let wires = image.info()?.map_or(0, |info| info.wires);
    let hash = |hash: u64| format!("{hash:#018x}");
    let kernels = image.kernels()?.into_iter().map(|kernel| Kernel {
        name: kernel.name,
        params: kernel.info.map(|info| Params {
            count: info.params,
            bytes: info.bytes,
            signature: hash(info.signature),
        }),
    });
    let functions = image.functions()?.into_iter().map(|function| Function {
        name: function.name,
        signature: (function.signature != 0).then(|| hash(function.signature)),
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
    Ok(Some(Content {
        reverse_offload: image.has_reverse_offload(),
        wires: WireKind::ALL
            .iter()
            .filter(|kind| wires & kind.bit() != 0)
            .filter_map(|kind| kind.name())
            .collect(),
        kernels: kernels.collect(),
        functions: functions.collect(),
        gcc_symbols,
    }))
}

fn render(answer: &Answer) -> Result<String, fmt::Error> {
    let mut text = String::new();
    writeln!(text, "{}: {}", answer.image, answer.format)?;
    match answer.abi_version {
        Some(version) if version == ABI_VERSION => writeln!(text, "ABI version: {version}")?,
        Some(version) => {
            writeln!(
                text,
                "ABI version: {version}; this host speaks version {ABI_VERSION}"
            )?;
        }
        None => writeln!(text, "ABI version: none")?,
    }
    let Some(content) = &answer.content else {
        writeln!(text, "its symbols are not known before it is loaded")?;
        return Ok(text);
    };
    let reverse = if content.reverse_offload { "yes" } else { "no" };
    writeln!(text, "reverse offload: {reverse}")?;
    if !content.wires.is_empty() {
        writeln!(text, "wires: {}", content.wires.join(", "))?;
    }
    writeln!(text, "kernels: {}", content.kernels.len())?;
    for Kernel { name, params } in &content.kernels {
        match params {
            Some(params) => writeln!(
                text,
                "  {name}: {} parameters, {} bytes, signature {}",
                params.count, params.bytes, params.signature,
            )?,
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
    Ok(text)
}
