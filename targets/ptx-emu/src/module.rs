//! Loading: texts are linked into one module, as by NVIDIA's linker.
//!
//! Source of the precedence of definitions: the PTX ISA, "Linking Directives".

use std::collections::HashMap;
use std::sync::Arc;

use crate::code::op::{Pc, Slot, System};
use crate::code::{Function, Resolve, Symbol, decode};
use crate::error::{LoadError, SourceLocation, TextError};
use crate::memory::{CODE, Memory};
use crate::spec::{MAX_SHARED, MAX_THREADS};
use crate::text::ast::{self, Init, Linkage, Space, StatementKind, Text, Variable};
use crate::text::parse;

/// A text and its name in messages.
#[derive(Clone, Copy, Debug)]
pub struct Part<'a> {
    /// The name.
    pub name: &'a str,
    /// PTX.
    pub text: &'a str,
}

/// Checks a text by itself: what it refers to may be in another.
///
/// # Errors
/// It is no PTX.
pub fn check(name: &str, text: &str) -> Result<(), LoadError> {
    let checked = parse(text).map(drop);
    checked.map_err(|(line, what)| LoadError::Text {
        part: name.to_owned(),
        line,
        what: Box::new(what),
    })
}

/// A variable of a module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Global {
    /// Its device address.
    pub address: u64,
    /// Its size in bytes.
    pub bytes: u64,
}

/// A kernel of a module.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Kernel {
    pub(crate) index: u32,
    /// The module's number.
    pub(crate) module: u32,
}

/// A loaded module; its variables are freed with it.
#[derive(Debug)]
pub struct Module {
    pub(crate) memory: Arc<Memory>,
    /// Distinguishes its functions' addresses from other modules'.
    pub(crate) number: u32,
    pub(crate) functions: Vec<Function>,
    kernels: HashMap<String, Kernel>,
    /// Visible functions by name.
    visible: HashMap<String, u32>,
    globals: HashMap<String, Global>,
    allocated: Vec<u64>,
    /// Bytes of shared memory that its variables take.
    pub(crate) shared: u32,
    parts: Vec<(String, String)>,
    /// Source files of each part, by their numbers.
    files: Vec<HashMap<u64, String>>,
}

impl Module {
    /// Bytes of shared memory that its variables take in each block.
    #[must_use]
    pub fn shared_bytes(&self) -> u32 {
        self.shared
    }
}

impl Drop for Module {
    fn drop(&mut self) {
        for &address in &self.allocated {
            self.memory.free(address);
        }
    }
}

/// The symbols of one part.
type Names<'a> = HashMap<&'a str, Symbol>;

struct Linker<'a> {
    memory: &'a Memory,
    number: u32,
    parts: &'a [Part<'a>],
    texts: &'a [Text<'a>],
    /// Names that all parts share, with the part that defines them.
    shared_names: Names<'a>,
    /// Names of each part's own.
    own_names: Vec<Names<'a>>,
    /// Names inside functions, by part and function.
    inner_names: HashMap<(usize, &'a str), Names<'a>>,
    signatures: Vec<(Vec<Slot>, Vec<Slot>)>,
    globals: HashMap<String, Global>,
    allocated: Vec<u64>,
    shared: u64,
}

impl Linker<'_> {
    fn error(&self, part: usize, line: u32, what: TextError) -> LoadError {
        LoadError::Text {
            part: self.parts[part].name.to_owned(),
            line,
            what: Box::new(what),
        }
    }
}

/// A definition and its part.
struct Definition<'a, T> {
    part: usize,
    item: &'a T,
}

/// The precedence of a definition.
fn strength(linkage: Linkage) -> u8 {
    match linkage {
        Linkage::Extern => 0,
        Linkage::Common | Linkage::Weak => 1,
        Linkage::Static | Linkage::Visible => 2,
    }
}

impl Module {
    /// Loads `parts` as one module for an `sm_device`.
    pub(crate) fn load(
        memory: &Arc<Memory>,
        number: u32,
        device: u32,
        parts: &[Part<'_>],
    ) -> Result<Self, LoadError> {
        let mut texts = Vec::new();
        for part in parts {
            let text = parse(part.text).map_err(|(line, what)| LoadError::Text {
                part: part.name.to_owned(),
                line,
                what: Box::new(what),
            })?;
            if text.target > device {
                return Err(LoadError::Newer {
                    part: part.name.to_owned(),
                    wanted: text.target,
                    device,
                });
            }
            texts.push(text);
        }
        let mut linker = Linker {
            memory,
            number,
            parts,
            texts: &texts,
            shared_names: HashMap::new(),
            own_names: (0..texts.len()).map(|_| HashMap::new()).collect(),
            inner_names: HashMap::new(),
            signatures: Vec::new(),
            globals: HashMap::new(),
            allocated: Vec::new(),
            shared: 0,
        };
        let linked = linker.link();
        let allocated = std::mem::take(&mut linker.allocated);
        let mut module = Self {
            memory: Arc::clone(memory),
            number,
            functions: Vec::new(),
            kernels: HashMap::new(),
            visible: HashMap::new(),
            globals: std::mem::take(&mut linker.globals),
            allocated,
            shared: u32::try_from(linker.shared).unwrap_or(u32::MAX),
            parts: parts
                .iter()
                .map(|part| (part.name.to_owned(), part.text.to_owned()))
                .collect(),
            files: texts
                .iter()
                .map(|text| {
                    text.files
                        .iter()
                        .map(|&(n, name)| (n, name.to_owned()))
                        .collect()
                })
                .collect(),
        };
        // An error here frees what is allocated.
        let (functions, visible) = linked?;
        module.functions = functions;
        module.visible = visible;
        module.kernels = module
            .functions
            .iter()
            .enumerate()
            .filter(|(_, function)| function.is_kernel)
            .map(|(index, function)| {
                let index = index as u32;
                let module = number;
                (function.name.clone(), Kernel { index, module })
            })
            .collect();
        Ok(module)
    }

    /// The variable `name` outside functions. If there are several, the visible one, or the first.
    #[must_use]
    pub fn global(&self, name: &str) -> Option<Global> {
        self.globals.get(name).copied()
    }

    /// The kernel `name`.
    #[must_use]
    pub fn kernel(&self, name: &str) -> Option<Kernel> {
        self.kernels.get(name).copied()
    }

    /// The device address of the function or kernel `name`.
    #[must_use]
    pub fn function(&self, name: &str) -> Option<u64> {
        let index = self.visible.get(name)?;
        Some(code_address(self.number, *index))
    }

    /// The kernel at an address of [`function`](Self::function).
    #[must_use]
    pub fn kernel_at(&self, address: u64) -> Option<Kernel> {
        let index = self.function_at(address)?;
        self.functions[index as usize].is_kernel.then_some(Kernel {
            index,
            module: self.number,
        })
    }

    /// The kernels and their names.
    pub fn kernels(&self) -> impl Iterator<Item = (&str, Kernel)> {
        let kernels = self.kernels.iter();
        kernels.map(|(name, &kernel)| (name.as_str(), kernel))
    }

    /// The names of the functions that other modules could call, kernels too.
    pub fn functions(&self) -> impl Iterator<Item = &str> {
        self.visible.keys().map(String::as_str)
    }

    /// The memory of a variable that contains a range: its begin and its size.
    #[must_use]
    pub fn variable_around(&self, address: u64, bytes: u64) -> Option<Global> {
        let mut starts = self.allocated.iter();
        starts.find_map(|&start| {
            let size = self.memory.block(start)?;
            let end = address.checked_sub(start)?.checked_add(bytes)?;
            (end <= size).then_some(Global {
                address: start,
                bytes: size,
            })
        })
    }

    /// The maximum threads of a block that a kernel's text allows.
    #[must_use]
    pub fn max_threads(&self, kernel: Kernel) -> u32 {
        let function = &self.functions[kernel.index as usize];
        let bound = function.reqntid.or(function.maxntid);
        let bound = bound.map(|sizes| sizes.iter().map(|&n| u64::from(n)).product::<u64>());
        bound.map_or(MAX_THREADS, |bound| bound.min(MAX_THREADS.into()) as u32)
    }

    /// Bytes of local memory that a kernel takes, without those of the functions that it calls.
    #[must_use]
    pub fn local_bytes(&self, kernel: Kernel) -> u32 {
        self.functions[kernel.index as usize].frame
    }

    /// Offsets and sizes of a kernel's parameters in its parameter memory.
    #[must_use]
    pub fn param_places(&self, kernel: Kernel) -> Vec<(u32, u32)> {
        let params = &self.functions[kernel.index as usize].params;
        params
            .iter()
            .map(|slot| (slot.offset, slot.bytes))
            .collect()
    }

    /// Sizes of a kernel's parameters in bytes.
    #[must_use]
    pub fn params(&self, kernel: Kernel) -> Vec<u32> {
        let params = &self.functions[kernel.index as usize].params;
        params.iter().map(|slot| slot.bytes).collect()
    }

    pub(crate) fn function_at(&self, address: u64) -> Option<u32> {
        let index = address.wrapping_sub(code_address(self.number, 0)) / 16;
        (address.is_multiple_of(16) && index < self.functions.len() as u64).then_some(index as u32)
    }

    /// The number of the first function with a name.
    pub(crate) fn function_named(&self, name: &str) -> Option<u32> {
        let number = self
            .functions
            .iter()
            .position(|function| function.name == name);
        number.map(|number| number as u32)
    }

    /// The source location of an instruction.
    pub(crate) fn place(&self, function: u32, pc: Pc) -> SourceLocation {
        let function = &self.functions[function as usize];
        let instr = function.instrs.get(pc as usize);
        let line = instr.map_or(0, |instr| instr.line);
        let (part, text) = self.line(function.part, line);
        let before = function.sources.partition_point(|&(from, _)| from <= pc);
        let source = before.checked_sub(1).map(|at| function.sources[at].1);
        let source = source.and_then(|(file, line)| {
            let name = self.files[function.part].get(&file)?;
            Some(format!("{name}:{line}"))
        });
        SourceLocation {
            part: part.to_owned(),
            line,
            text: text.to_owned(),
            function: function.name.clone(),
            source,
        }
    }

    /// The visible variable at an address.
    pub(crate) fn variable_at(&self, address: u64) -> Option<&str> {
        let mut globals = self.globals.iter();
        let found = globals.find(|(_, global)| global.address == address);
        found.map(|(name, _)| name.as_str())
    }

    /// The name of a part, and one of its lines.
    pub(crate) fn line(&self, part: usize, line: u32) -> (&str, &str) {
        let (name, text) = &self.parts[part];
        let line = text.lines().nth(line.saturating_sub(1) as usize);
        (name, line.unwrap_or_default().trim())
    }
}

/// The address of a function, which is not readable memory.
fn code_address(module: u32, function: u32) -> u64 {
    CODE + (u64::from(module) << 28) + (u64::from(function) + 1) * 16
}

impl<'a> Linker<'a> {
    /// All functions, and the visible ones.
    fn link(&mut self) -> Result<(Vec<Function>, HashMap<String, u32>), LoadError> {
        let functions = self.functions()?;
        let variables = self.variables()?;
        for Definition { part, item } in &variables {
            self.place(*part, None, item)?;
        }
        for (part, text) in self.texts.iter().enumerate() {
            for function in &text.functions {
                for statement in function.body.iter().flatten() {
                    if let StatementKind::Variable(variable) = &statement.kind
                        && !matches!(variable.space, Space::Local | Space::Param)
                    {
                        self.place(part, Some(function.name), variable)?;
                    }
                }
            }
        }
        self.dynamic_shared();
        for Definition { part, item } in &variables {
            self.initialise(*part, item)?;
        }
        let mut decoded = Vec::new();
        for Definition { part, item } in &functions {
            let names = View {
                linker: self,
                part: *part,
                function: Some(item.name),
            };
            let mut function = decode(item, *part, &names)
                .map_err(|(line, what)| self.error(*part, line, what))?;
            function.is_old = self.texts[*part].target < 70;
            decoded.push(function);
        }
        let visible = self
            .shared_names
            .iter()
            .filter_map(|(name, symbol)| match symbol {
                Symbol::Function(index, _) => Some(((*name).to_owned(), *index)),
                _ => None,
            })
            .collect();
        Ok((decoded, visible))
    }

    /// The functions with bodies, one per name, indexed by their numbers.
    fn functions(&mut self) -> Result<Vec<Definition<'a, ast::Function<'a>>>, LoadError> {
        let mut found: Vec<Definition<'a, ast::Function<'a>>> = Vec::new();
        let mut by_name: HashMap<&str, usize> = HashMap::new();
        let mut statics = Vec::new();
        let texts = self.texts;
        for (part, text) in texts.iter().enumerate() {
            for item in text.functions.iter().filter(|f| f.body.is_some()) {
                // Kernels are visible even without the keyword.
                if item.linkage == Linkage::Static && !item.is_kernel {
                    statics.push((part, found.len(), item.name));
                    found.push(Definition { part, item });
                    continue;
                }
                match by_name.get(item.name) {
                    None => {
                        by_name.insert(item.name, found.len());
                        found.push(Definition { part, item });
                    }
                    Some(&other) => {
                        let there = strength(found[other].item.linkage);
                        match (there, strength(item.linkage)) {
                            (2, 2) => {
                                let what = TextError::DefinedTwice {
                                    name: item.name.to_owned(),
                                    other: self.parts[found[other].part].name.to_owned(),
                                };
                                return Err(self.error(part, item.line, what));
                            }
                            (1, 2) => found[other] = Definition { part, item },
                            _ => {}
                        }
                    }
                }
            }
        }
        for (index, definition) in found.iter().enumerate() {
            let item = definition.item;
            self.signatures.push(signature(item));
            let symbol = Symbol::Function(index as u32, code_address(self.number, index as u32));
            if by_name.get(item.name) == Some(&index) {
                self.shared_names.insert(item.name, symbol);
            }
        }
        for (part, index, name) in statics {
            let symbol = Symbol::Function(index as u32, code_address(self.number, index as u32));
            if self.own_names[part].insert(name, symbol).is_some() {
                let line = found[index].item.line;
                return Err(self.error(part, line, TextError::name(name, "is there twice")));
            }
        }
        for (part, text) in texts.iter().enumerate() {
            for &(name, of) in &text.aliases {
                let found = self.own_names[part].get(of).or(self.shared_names.get(of));
                let Some(&symbol) = found else {
                    return Err(self.error(
                        part,
                        1,
                        TextError::Alias {
                            name: name.to_owned(),
                            of: of.to_owned(),
                        },
                    ));
                };
                self.shared_names.entry(name).or_insert(symbol);
            }
        }
        Ok(found)
    }

    /// The variables at the outermost level to place: one per shared name.
    fn variables(&mut self) -> Result<Vec<Definition<'a, Variable<'a>>>, LoadError> {
        let mut found: Vec<Definition<'a, Variable<'a>>> = Vec::new();
        let mut by_name: HashMap<&str, usize> = HashMap::new();
        let texts = self.texts;
        for (part, text) in texts.iter().enumerate() {
            for item in &text.variables {
                if item.linkage == Linkage::Extern {
                    continue;
                }
                if item.linkage == Linkage::Static {
                    found.push(Definition { part, item });
                    continue;
                }
                let Some(&other) = by_name.get(item.name) else {
                    by_name.insert(item.name, found.len());
                    found.push(Definition { part, item });
                    continue;
                };
                let there = found[other].item;
                match (there.linkage, item.linkage) {
                    (Linkage::Visible, Linkage::Visible) => {
                        let what = TextError::DefinedTwice {
                            name: item.name.to_owned(),
                            other: self.parts[found[other].part].name.to_owned(),
                        };
                        return Err(self.error(part, item.line, what));
                    }
                    (Linkage::Weak | Linkage::Common, Linkage::Visible)
                    | (Linkage::Common, Linkage::Weak) => found[other] = Definition { part, item },
                    (Linkage::Common, Linkage::Common) if item.bytes() > there.bytes() => {
                        found[other] = Definition { part, item };
                    }
                    _ => {}
                }
            }
        }
        Ok(found)
    }

    /// Places a variable of a part, or of a function of it.
    fn place(
        &mut self,
        part: usize,
        function: Option<&'a str>,
        variable: &'a Variable<'a>,
    ) -> Result<(), LoadError> {
        let bytes = variable.bytes();
        let symbol = if variable.space == Space::Shared {
            let offset = self.shared.next_multiple_of(u64::from(variable.align));
            self.shared = offset + bytes;
            if self.shared > MAX_SHARED {
                let what = TextError::SharedFull(variable.name.to_owned());
                return Err(self.error(part, variable.line, what));
            }
            Symbol::Shared(offset)
        } else {
            let room = || LoadError::OutOfMemory {
                variable: variable.name.to_owned(),
                bytes,
            };
            // Blocks are aligned to 256 bytes, which is enough for all variables.
            if variable.align > 256 {
                let what = TextError::name(variable.name, "is aligned to more than 256 bytes");
                return Err(self.error(part, variable.line, what));
            }
            let address = if variable.space == Space::Const {
                self.memory.alloc_constant(bytes)
            } else {
                self.memory.alloc(bytes)
            };
            let address = address.ok_or_else(room)?;
            self.allocated.push(address);
            // NVIDIA's driver also finds variables that are not visible.
            let name = variable.name.to_owned();
            let global = Global { address, bytes };
            match (variable.linkage, function) {
                (Linkage::Static, Some(_)) => {}
                (Linkage::Static, None) => drop(self.globals.entry(name).or_insert(global)),
                _ => drop(self.globals.insert(name, global)),
            }
            Symbol::Global(address)
        };
        let names = match (variable.linkage, function) {
            (Linkage::Static, Some(function)) => {
                self.inner_names.entry((part, function)).or_default()
            }
            (Linkage::Static, None) => &mut self.own_names[part],
            _ => &mut self.shared_names,
        };
        if names.insert(variable.name, symbol).is_some() {
            let what = TextError::name(variable.name, "is there twice");
            return Err(self.error(part, variable.line, what));
        }
        Ok(())
    }

    /// Dynamic shared memory begins where the variables end: `.extern .shared` without
    /// a size, and without a definition elsewhere.
    fn dynamic_shared(&mut self) {
        let texts = self.texts;
        let open = |v: &&Variable<'_>| {
            v.space == Space::Shared && v.linkage == Linkage::Extern && v.count.is_none()
        };
        let all = || texts.iter().flat_map(|text| &text.variables);
        if all().any(|v| open(&v)) {
            self.shared = self.shared.next_multiple_of(128);
        }
        for variable in all().filter(open) {
            let symbol = Symbol::Shared(self.shared);
            self.shared_names.entry(variable.name).or_insert(symbol);
        }
    }

    fn initialise(&self, part: usize, variable: &Variable<'_>) -> Result<(), LoadError> {
        if variable.init.is_empty() {
            return Ok(());
        }
        if variable.space == Space::Shared {
            let what = TextError::SharedValues(variable.name.to_owned());
            return Err(self.error(part, variable.line, what));
        }
        let names = View {
            linker: self,
            part,
            function: None,
        };
        let Some(Symbol::Global(address)) = names.symbol(variable.name) else {
            return Ok(());
        };
        let width = variable.ty.bytes() as usize;
        let mut bytes = Vec::new();
        for init in &variable.init {
            let value = match *init {
                Init::Bits(bits) => bits,
                Init::Address {
                    symbol,
                    addend,
                    mask,
                    line,
                } => {
                    let base = match names.symbol(symbol) {
                        Some(Symbol::Global(address) | Symbol::Function(_, address)) => address,
                        Some(Symbol::Shared(offset)) => crate::memory::SHARED + offset,
                        _ => {
                            let what =
                                TextError::name(symbol, "is not declared, or defined nowhere");
                            return Err(self.error(part, line, what));
                        }
                    };
                    let value = base.wrapping_add_signed(addend);
                    if mask == u64::MAX {
                        value
                    } else {
                        (value & mask) >> mask.trailing_zeros().min(63)
                    }
                }
            };
            bytes.extend_from_slice(&value.to_le_bytes()[..width.min(8)]);
        }
        bytes.truncate(variable.bytes() as usize);
        self.memory.write(address, &bytes);
        Ok(())
    }
}

fn signature(function: &ast::Function<'_>) -> (Vec<Slot>, Vec<Slot>) {
    let sizes = |list: &[Variable<'_>]| {
        list.iter()
            .map(|variable| Slot {
                offset: 0,
                bytes: variable.bytes() as u32,
            })
            .collect()
    };
    (sizes(&function.params), sizes(&function.results))
}

/// The names that one part can use.
struct View<'l, 'a> {
    linker: &'l Linker<'a>,
    part: usize,
    /// The function that contains them.
    function: Option<&'l str>,
}

impl Resolve for View<'_, '_> {
    fn symbol(&self, name: &str) -> Option<Symbol> {
        let linker = self.linker;
        let inner = self
            .function
            .and_then(|function| linker.inner_names.get(&(self.part, function)));
        inner
            .and_then(|names| names.get(name))
            .or_else(|| linker.own_names[self.part].get(name))
            .or_else(|| linker.shared_names.get(name))
            .copied()
            .or_else(|| System::named(name).map(Symbol::System))
    }

    fn signature(&self, function: u32) -> (&[Slot], &[Slot]) {
        let (params, results) = &self.linker.signatures[function as usize];
        (params, results)
    }
}
