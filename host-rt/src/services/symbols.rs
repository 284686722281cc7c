//! The functions at addresses of a program, for its backtraces.

use std::io;
use std::sync::OnceLock;

use addr2line::Context;
use addr2line::gimli::{self, Dwarf, EndianSlice, RunTimeEndian, SectionId};
use object::{File, Object, ObjectSection, ObjectSymbol, SectionKind, SymbolKind};

use super::Services;
use super::errno::errno;
use super::process::fill;
use crate::image::Image;

/// A function, and a place in it.
#[derive(Default)]
struct Symbol {
    name: String,
    file: String,
    line: String,
    column: String,
}

/// The program's image, which is read for each address: few are asked for.
#[derive(Default)]
pub(super) struct Symbols(OnceLock<Image>);

impl Symbols {
    /// Says which image the program is. False if that is known.
    pub(super) fn set_image(&self, image: &Image) -> bool {
        self.0.set(image.clone()).is_ok()
    }
}

impl Services {
    pub(super) fn symbols(&self, offset: u64, list: &mut [u8]) -> io::Result<u64> {
        let image = self.symbols.0.get();
        let found = image.and_then(|image| {
            let file = File::parse(image.bytes()).ok()?;
            // The reader of debug information takes addresses of code only.
            file.sections().find(|section| {
                let of_section = offset.checked_sub(section.address());
                section.kind() == SectionKind::Text
                    && of_section.is_some_and(|offset| offset < section.size())
            })?;
            inlined(&file, offset).or_else(|| Some(vec![function(&file, offset)?]))
        });
        let mut text = String::new();
        for Symbol {
            name,
            file,
            line,
            column,
        } in found.ok_or_else(|| errno(libc::ENOENT))?
        {
            for element in [name, file, line, column] {
                text.push_str(&element);
                text.push('\0');
            }
        }
        Ok(fill(list, text.as_bytes()))
    }
}

/// The functions at an address, the innermost first, by the file's debug information; `None` if it has none.
fn inlined(file: &File, address: u64) -> Option<Vec<Symbol>> {
    let endian = match file.is_little_endian() {
        true => RunTimeEndian::Little,
        false => RunTimeEndian::Big,
    };
    let section = |id: SectionId| {
        let section = file.section_by_name(id.name());
        let data = section.and_then(|section| section.data().ok());
        Ok::<_, gimli::Error>(EndianSlice::new(data.unwrap_or_default(), endian))
    };
    let lines = Context::from_dwarf(Dwarf::load(section).ok()?).ok()?;
    let mut frames = lines.find_frames(address).skip_all_loads().ok()?;
    let mut found = Vec::new();
    while let Ok(Some(frame)) = frames.next() {
        let mut symbol = Symbol::default();
        if let Some(name) = frame
            .function
            .and_then(|name| Some(name.raw_name().ok()?.into_owned()))
        {
            symbol.name = name;
        }
        if let Some(place) = frame.location {
            symbol.file = place.file.unwrap_or_default().to_owned();
            let text = |number: Option<u32>| number.map(|it| it.to_string()).unwrap_or_default();
            symbol.line = text(place.line);
            symbol.column = text(place.column);
        }
        found.push(symbol);
    }
    (!found.is_empty()).then_some(found)
}

/// The function with an address, by the file's symbols.
fn function(file: &File, address: u64) -> Option<Symbol> {
    let symbols = file.symbols().filter(|symbol| {
        let of_symbol = address.checked_sub(symbol.address());
        symbol.kind() == SymbolKind::Text && of_symbol.is_some_and(|offset| offset < symbol.size())
    });
    let name = symbols.last()?.name().ok()?.to_owned();
    Some(Symbol {
        name,
        ..Symbol::default()
    })
}
