//! From tokens to [`Text`]. Source: the PTX ISA, "Directives" and "Instruction
//! Statements".

use super::ast::{
    Function, Init, Instruction, Linkage, Operand, Space, Statement, StatementKind, Text, Variable,
};
use super::error::{AtLine, TextError};
use super::lexer::{Lexer, Token, TokenKind};
use super::types::Type;

/// Reads a text.
///
/// # Errors
/// The line, and the error.
pub(crate) fn parse(text: &str) -> Result<Text<'_>, AtLine> {
    let mut parser = Parser {
        lexer: Lexer::new(text),
        ahead: None,
        last_line: 1,
        depth: 0,
        source: None,
        files: Vec::new(),
    };
    parser
        .text()
        .map_err(|what| (parser.ahead.map_or(parser.lexer.line(), |t| t.line), what))
}

type Result2<T> = Result<T, TextError>;

struct Parser<'a> {
    lexer: Lexer<'a>,
    ahead: Option<Token<'a>>,
    last_line: u32,
    /// Open brackets around the current token.
    depth: u32,
    /// The last `.loc` of the function.
    source: Option<(u64, u64)>,
    files: Vec<(u64, &'a str)>,
}

/// Brackets within each other, of initial values and operands: reading them recurses.
const MAX_DEPTH: u32 = 64;
/// Most bytes of a parameter, many more than on any device.
const MAX_PARAMETER: u64 = 1 << 20;

/// The words of a declaration up to its name.
struct Declared<'a> {
    linkage: Linkage,
    space: Option<Space>,
    ty: Option<Type>,
    vector: u32,
    align: Option<u32>,
    /// The next modifiers describe the parameter's target.
    is_pointer: bool,
    is_function: bool,
    is_kernel: bool,
    /// A directive without an operand, and the text after its first dot.
    other: Option<&'a str>,
}

impl<'a> Parser<'a> {
    fn peek(&mut self) -> Result2<TokenKind<'a>> {
        if self.ahead.is_none() {
            self.ahead = Some(self.lexer.next()?);
        }
        Ok(self.ahead.map_or(TokenKind::End, |token| token.kind))
    }

    fn next(&mut self) -> Result2<TokenKind<'a>> {
        let kind = self.peek()?;
        if let Some(token) = self.ahead.take() {
            self.last_line = token.line;
        }
        Ok(kind)
    }

    /// The line of the token ahead.
    fn line(&mut self) -> Result2<u32> {
        self.peek()?;
        Ok(self.ahead.map_or(self.last_line, |token| token.line))
    }

    fn eat(&mut self, mark: char) -> Result2<bool> {
        let is_it = self.peek()? == TokenKind::Mark(mark);
        if is_it {
            self.next()?;
        }
        Ok(is_it)
    }

    fn expect(&mut self, mark: char) -> Result2<()> {
        match self.peek()? {
            TokenKind::Mark(found) if found == mark => self.next().map(drop),
            found => Err(TextError::Found {
                expected: format!("`{mark}`"),
                found: describe(found),
            }),
        }
    }

    fn name(&mut self) -> Result2<&'a str> {
        match self.peek()? {
            TokenKind::Word(word) if !word.starts_with('.') => {
                self.next()?;
                Ok(word)
            }
            found => Err(TextError::Found {
                expected: "a name".to_owned(),
                found: describe(found),
            }),
        }
    }

    fn int(&mut self) -> Result2<u64> {
        match self.peek()? {
            TokenKind::Int(value) => {
                self.next()?;
                Ok(value)
            }
            found => Err(TextError::Found {
                expected: "a number".to_owned(),
                found: describe(found),
            }),
        }
    }

    fn enter(&mut self) -> Result2<()> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(TextError::Nesting(MAX_DEPTH));
        }
        Ok(())
    }

    fn text(&mut self) -> Result2<Text<'a>> {
        let mut text = Text {
            target: 0,
            variables: Vec::new(),
            functions: Vec::new(),
            aliases: Vec::new(),
            files: Vec::new(),
        };
        let mut has_version = false;
        loop {
            match self.peek()? {
                TokenKind::End => break,
                TokenKind::Mark(';') => drop(self.next()?),
                TokenKind::Word(".version") => {
                    self.next()?;
                    self.next()?;
                    has_version = true;
                }
                TokenKind::Word(".target") => {
                    self.next()?;
                    text.target = self.target()?;
                }
                TokenKind::Word(".address_size") => {
                    self.next()?;
                    if self.int()? != 64 {
                        return Err(TextError::Rule("addresses must have 64 bits"));
                    }
                }
                TokenKind::Word(".alias") => {
                    self.next()?;
                    let name = self.name()?;
                    self.expect(',')?;
                    text.aliases.push((name, self.name()?));
                    self.expect(';')?;
                }
                TokenKind::Word(word) if word.starts_with('.') => self.item(&mut text)?,
                found => {
                    return Err(TextError::Found {
                        expected: "a directive".to_owned(),
                        found: describe(found),
                    });
                }
            }
        }
        if !has_version || text.target == 0 {
            return Err(TextError::Rule(
                "no PTX: `.version` and `.target` are missing",
            ));
        }
        text.files = std::mem::take(&mut self.files);
        Ok(text)
    }

    fn target(&mut self) -> Result2<u32> {
        let name = self.name()?;
        let digits = name
            .strip_prefix("sm_")
            .map(|rest| rest.trim_end_matches(['a', 'f']));
        let number = digits
            .and_then(|digits| digits.parse().ok())
            .ok_or_else(|| TextError::name(name, "is no architecture"))?;
        while self.eat(',')? {
            self.name()?;
        }
        Ok(number)
    }

    /// A declaration at the outermost level.
    fn item(&mut self, text: &mut Text<'a>) -> Result2<()> {
        let line = self.line()?;
        let declared = self.declared()?;
        if let Some(other) = declared.other {
            return self.ignored(other);
        }
        if declared.is_function {
            text.functions.push(self.function(&declared, line)?);
            return Ok(());
        }
        loop {
            text.variables.push(self.variable(&declared, line)?);
            if !self.eat(',')? {
                return self.expect(';');
            }
        }
    }

    /// Directives that change nothing here.
    fn ignored(&mut self, name: &str) -> Result2<()> {
        match name {
            // More may follow on the line: GCC writes whole texts without a line break.
            "file" => {
                let number = self.int()?;
                match self.next()? {
                    TokenKind::Text(name) => self.files.push((number, name)),
                    found => {
                        return Err(TextError::Found {
                            expected: "a file's name".to_owned(),
                            found: describe(found),
                        });
                    }
                }
                while self.eat(',')? {
                    self.int()?;
                }
                Ok(())
            }
            "loc" => {
                if self.ahead.is_none_or(|token| token.line == self.last_line) {
                    let is_all_ahead = self.ahead.take().is_none();
                    let line = self.lexer.skip_line();
                    let mut numbers = line.split_whitespace().map(str::parse);
                    if let (Some(Ok(file)), Some(Ok(line))) = (numbers.next(), numbers.next())
                        && is_all_ahead
                    {
                        self.source = Some((file, line));
                    }
                }
                Ok(())
            }
            "section" => {
                while !self.eat('{')? {
                    if self.next()? == TokenKind::End {
                        return Err(TextError::Expected("`{`"));
                    }
                }
                while !self.eat('}')? {
                    if self.next()? == TokenKind::End {
                        return Err(TextError::Rule("a section without its end"));
                    }
                }
                Ok(())
            }
            "pragma" => {
                while !self.eat(';')? {
                    if self.next()? == TokenKind::End {
                        return Err(TextError::Expected("`;`"));
                    }
                }
                Ok(())
            }
            _ => Err(TextError::name(format!(".{name}"), "is not known")),
        }
    }

    /// Directives and modifiers up to something else.
    fn declared(&mut self) -> Result2<Declared<'a>> {
        let mut declared = Declared {
            linkage: Linkage::Static,
            space: None,
            ty: None,
            vector: 1,
            align: None,
            is_pointer: false,
            is_function: false,
            is_kernel: false,
            other: None,
        };
        while let TokenKind::Word(word) = self.peek()? {
            let Some(rest) = word.strip_prefix('.') else {
                break;
            };
            self.next()?;
            // GCC writes `.param.u32`.
            for part in rest.split('.') {
                self.modifier(part, &mut declared)?;
            }
            if declared.is_function || declared.other.is_some() {
                break;
            }
        }
        Ok(declared)
    }

    fn modifier(&mut self, part: &'a str, declared: &mut Declared<'a>) -> Result2<()> {
        match part {
            "global" | "const" | "shared" | "local" if declared.is_pointer => {}
            "align" if declared.is_pointer => drop(self.int()?),
            "visible" => declared.linkage = Linkage::Visible,
            "weak" => declared.linkage = Linkage::Weak,
            "common" => declared.linkage = Linkage::Common,
            "extern" => declared.linkage = Linkage::Extern,
            "func" => declared.is_function = true,
            "entry" => {
                declared.is_function = true;
                declared.is_kernel = true;
            }
            "reg" => declared.space = Some(Space::Reg),
            "global" => declared.space = Some(Space::Global),
            "const" => declared.space = Some(Space::Const),
            "shared" => declared.space = Some(Space::Shared),
            "local" => declared.space = Some(Space::Local),
            "param" => declared.space = Some(Space::Param),
            "v2" => declared.vector = 2,
            "v4" => declared.vector = 4,
            "align" => {
                let align = self.int()?;
                if !align.is_power_of_two() || align > 1 << 20 {
                    return Err(TextError::name(align, "is no alignment"));
                }
                declared.align = Some(align as u32);
            }
            "ptr" => declared.is_pointer = true,
            "attribute" => {
                self.expect('(')?;
                while !self.eat(')')? {
                    if self.next()? == TokenKind::End {
                        return Err(TextError::Expected("`)`"));
                    }
                }
            }
            _ => match Type::named(part).filter(|ty| !ty.is_of_instructions()) {
                Some(ty) => declared.ty = Some(ty),
                None => declared.other = Some(part),
            },
        }
        Ok(())
    }

    fn variable(&mut self, declared: &Declared<'a>, line: u32) -> Result2<Variable<'a>> {
        let space = declared
            .space
            .ok_or(TextError::Rule("a variable without a state space"))?;
        let ty = declared
            .ty
            .ok_or(TextError::Rule("a variable without a type"))?;
        let name = self.name()?;
        let element = ty.bytes() * declared.vector;
        let mut count = Some(1u64);
        while self.eat('[')? {
            if self.eat(']')? {
                count = None;
                continue;
            }
            let size = self.int()?;
            self.expect(']')?;
            count = count.and_then(|count| count.checked_mul(size));
            if count.is_none_or(|count| count > 1 << 40) {
                return Err(TextError::name(name, "is too large"));
            }
        }
        let mut variable = Variable {
            name,
            space,
            linkage: declared.linkage,
            ty,
            element,
            count,
            align: declared.align.unwrap_or(element).max(1),
            init: Vec::new(),
            line,
        };
        if self.eat('=')? {
            self.init(ty, &mut variable.init)?;
            let given = variable.init.len() as u64;
            let room = variable.count.unwrap_or(given) * u64::from(declared.vector);
            if given > room {
                return Err(TextError::Values {
                    name: name.to_owned(),
                    given,
                    room,
                });
            }
            variable.count = variable.count.or(Some(given));
        }
        Ok(variable)
    }

    fn init(&mut self, ty: Type, values: &mut Vec<Init<'a>>) -> Result2<()> {
        if self.eat('{')? {
            self.enter()?;
            while !self.eat('}')? {
                self.init(ty, values)?;
                if !self.eat(',')? {
                    self.expect('}')?;
                    break;
                }
            }
            self.depth -= 1;
            return Ok(());
        }
        let line = self.line()?;
        let negative = self.eat('-')?;
        let sign = |value: u64| {
            if negative {
                value.wrapping_neg()
            } else {
                value
            }
        };
        let float = |value: f64| {
            let value = if negative { -value } else { value };
            match ty {
                Type::F32 | Type::B32 => Ok(u64::from((value as f32).to_bits())),
                Type::F64 | Type::B64 => Ok(value.to_bits()),
                _ => Err(TextError::Rule("a float for an integer variable")),
            }
        };
        let value = match self.next()? {
            TokenKind::Int(_) if ty.is_float() => {
                return Err(TextError::Rule("a float expected, found an integer"));
            }
            TokenKind::Int(mask) if self.peek()? == TokenKind::Mark('(') => {
                self.next()?;
                let inner = self.address_init(u64::MAX, line)?;
                self.expect(')')?;
                match inner {
                    Init::Address {
                        symbol,
                        addend,
                        line,
                        ..
                    } => Init::Address {
                        symbol,
                        addend,
                        mask,
                        line,
                    },
                    bits @ Init::Bits(_) => bits,
                }
            }
            TokenKind::Int(value) => Init::Bits(sign(value)),
            TokenKind::Single(bits) => Init::Bits(float(f64::from(f32::from_bits(bits)))?),
            TokenKind::Double(bits) => Init::Bits(float(f64::from_bits(bits))?),
            TokenKind::Word(word) => self.address_of(word, u64::MAX, line)?,
            found => {
                return Err(TextError::Found {
                    expected: "a value".to_owned(),
                    found: describe(found),
                });
            }
        };
        values.push(value);
        Ok(())
    }

    fn address_init(&mut self, mask: u64, line: u32) -> Result2<Init<'a>> {
        let word = self.name()?;
        self.address_of(word, mask, line)
    }

    fn address_of(&mut self, word: &'a str, mask: u64, line: u32) -> Result2<Init<'a>> {
        let symbol = if word == "generic" && self.eat('(')? {
            let symbol = self.name()?;
            self.expect(')')?;
            symbol
        } else {
            word
        };
        let addend = self.addend()?;
        Ok(Init::Address {
            symbol,
            addend,
            mask,
            line,
        })
    }

    /// `+4`, `-4`, `+-4` or nothing.
    fn addend(&mut self) -> Result2<i64> {
        let mut sign = 1i64;
        let mut is_there = false;
        loop {
            if self.eat('+')? {
                is_there = true;
            } else if self.eat('-')? {
                sign = -sign;
                is_there = true;
            } else {
                break;
            }
        }
        if !is_there {
            return Ok(0);
        }
        Ok((self.int()? as i64).wrapping_mul(sign))
    }

    fn function(&mut self, declared: &Declared<'a>, line: u32) -> Result2<Function<'a>> {
        let results = if self.peek()? == TokenKind::Mark('(') {
            self.parameters()?
        } else {
            Vec::new()
        };
        let name = self.name()?;
        let params = if self.peek()? == TokenKind::Mark('(') {
            self.parameters()?
        } else {
            Vec::new()
        };
        let mut function = Function {
            name,
            linkage: declared.linkage,
            is_kernel: declared.is_kernel,
            results,
            params,
            reqntid: None,
            maxntid: None,
            has_clusters: false,
            body: None,
            line,
        };
        loop {
            match self.next()? {
                TokenKind::Mark(';') => return Ok(function),
                TokenKind::Mark('{') => {
                    function.body = Some(self.body()?);
                    return Ok(function);
                }
                TokenKind::Word(".maxntid") => function.maxntid = Some(self.dimensions()?),
                TokenKind::Word(".reqntid") => function.reqntid = Some(self.dimensions()?),
                TokenKind::Word(".explicitcluster" | ".blocksareclusters") => {
                    function.has_clusters = true;
                }
                TokenKind::Word(".reqnctapercluster") => {
                    let blocks = self.dimensions()?;
                    if blocks != [1; 3] {
                        return Err(TextError::Cluster(blocks));
                    }
                    function.has_clusters = true;
                }
                // One block is within every limit.
                TokenKind::Word(".maxclusterrank") => drop(self.int()?),
                // Hints for the compiler.
                TokenKind::Word(".noreturn" | ".noinline") => {}
                TokenKind::Word(
                    ".minnctapersm"
                    | ".maxnctapersm"
                    | ".maxnreg"
                    | ".abi_preserve"
                    | ".abi_preserve_control",
                ) => drop(self.int()?),
                TokenKind::Word(".pragma") => self.ignored("pragma")?,
                found => {
                    return Err(TextError::Found {
                        expected: "a body".to_owned(),
                        found: describe(found),
                    });
                }
            }
        }
    }

    /// Up to three numbers of threads; missing dimensions are 1.
    fn dimensions(&mut self) -> Result2<[u32; 3]> {
        let mut dimensions = [1; 3];
        for (at, dimension) in dimensions.iter_mut().enumerate() {
            if at > 0 && !self.eat(',')? {
                break;
            }
            let threads = self.int()?;
            *dimension = u32::try_from(threads).map_err(|_| TextError::TooMany {
                count: threads,
                what: "threads",
            })?;
        }
        Ok(dimensions)
    }

    fn parameters(&mut self) -> Result2<Vec<Variable<'a>>> {
        self.expect('(')?;
        let mut parameters = Vec::new();
        while !self.eat(')')? {
            let line = self.line()?;
            let declared = self.declared()?;
            if let Some(other) = declared.other {
                return Err(TextError::name(format!(".{other}"), "is not known here"));
            }
            let parameter = self.variable(&declared, line)?;
            if parameter.bytes() > MAX_PARAMETER {
                return Err(TextError::name(parameter.name, "is too large"));
            }
            parameters.push(parameter);
            if !self.eat(',')? {
                self.expect(')')?;
                break;
            }
        }
        Ok(parameters)
    }

    fn body(&mut self) -> Result2<Vec<Statement<'a>>> {
        let mut statements = Vec::new();
        let mut depth = 1;
        self.source = None;
        loop {
            let line = self.line()?;
            let kind = match self.peek()? {
                TokenKind::Mark('{') => {
                    self.next()?;
                    depth += 1;
                    StatementKind::Open
                }
                TokenKind::Mark('}') => {
                    self.next()?;
                    depth -= 1;
                    if depth == 0 {
                        return Ok(statements);
                    }
                    StatementKind::Close
                }
                TokenKind::Mark(';') => {
                    self.next()?;
                    continue;
                }
                TokenKind::Word(word) if word.starts_with('.') => {
                    let declared = self.declared()?;
                    self.local(&declared, line, &mut statements)?;
                    continue;
                }
                TokenKind::End => return Err(TextError::Rule("a function without its end")),
                _ => self.labelled_or_instruction()?,
            };
            statements.push(Statement {
                line,
                source: self.source,
                kind,
            });
        }
    }

    /// A declaration inside a function.
    fn local(
        &mut self,
        declared: &Declared<'a>,
        line: u32,
        statements: &mut Vec<Statement<'a>>,
    ) -> Result2<()> {
        if let Some(other) = declared.other {
            return self.ignored(other);
        }
        if declared.space == Some(Space::Reg) {
            let ty = declared
                .ty
                .ok_or(TextError::Rule("registers without a type"))?;
            let mut names = Vec::new();
            loop {
                let name = self.name()?;
                names.push((name, self.range()?));
                if !self.eat(',')? {
                    break;
                }
            }
            self.expect(';')?;
            let vector = declared.vector;
            let kind = StatementKind::Registers { ty, vector, names };
            statements.push(Statement {
                line,
                source: self.source,
                kind,
            });
            return Ok(());
        }
        loop {
            let variable = self.variable(declared, line)?;
            let kind = match self.range()? {
                Some(count) if variable.space == Space::Param => StatementKind::Parameters {
                    like: variable,
                    count,
                },
                Some(_) => return Err(TextError::name(variable.name, "has no numbers")),
                None => StatementKind::Variable(variable),
            };
            statements.push(Statement {
                line,
                source: self.source,
                kind,
            });
            if !self.eat(',')? {
                return self.expect(';');
            }
        }
    }

    /// `<100>` after the name that numbers are put to.
    fn range(&mut self) -> Result2<Option<u32>> {
        if !self.eat('<')? {
            return Ok(None);
        }
        let number = self.int()?;
        self.expect('>')?;
        match u32::try_from(number) {
            Ok(count) if count < 1 << 20 => Ok(Some(count)),
            _ => Err(TextError::TooMany {
                count: number,
                what: "of a name",
            }),
        }
    }

    fn labelled_or_instruction(&mut self) -> Result2<StatementKind<'a>> {
        let mut guard = None;
        if self.eat('@')? {
            let negated = self.eat('!')?;
            guard = Some((self.name()?, negated));
        }
        let word = self.name()?;
        if guard.is_none() && self.eat(':')? {
            return match self.peek()? {
                TokenKind::Word(".branchtargets") => {
                    self.next()?;
                    let mut labels = vec![self.name()?];
                    while self.eat(',')? {
                        labels.push(self.name()?);
                    }
                    self.expect(';')?;
                    Ok(StatementKind::Targets { name: word, labels })
                }
                TokenKind::Word(".callprototype") => {
                    self.next()?;
                    let results = if self.peek()? == TokenKind::Mark('(') {
                        self.parameters()?
                    } else {
                        Vec::new()
                    };
                    self.name()?;
                    let params = if self.peek()? == TokenKind::Mark('(') {
                        self.parameters()?
                    } else {
                        Vec::new()
                    };
                    while !self.eat(';')? {
                        match self.next()? {
                            TokenKind::Word(".noreturn") => {}
                            found => {
                                return Err(TextError::Found {
                                    expected: "`;`".to_owned(),
                                    found: describe(found),
                                });
                            }
                        }
                    }
                    Ok(StatementKind::Prototype {
                        name: word,
                        results,
                        params,
                    })
                }
                _ => Ok(StatementKind::Label(word)),
            };
        }
        let mut operands = Vec::new();
        while !self.eat(';')? {
            operands.push(self.operand()?);
            if !self.eat(',')? {
                self.expect(';')?;
                break;
            }
        }
        Ok(StatementKind::Instruction(Instruction {
            guard,
            opcode: word,
            operands,
        }))
    }

    fn operand(&mut self) -> Result2<Operand<'a>> {
        let first = self.single()?;
        if self.eat('|')? {
            let second = self.single()?;
            return Ok(Operand::Pair(Box::new(first), Box::new(second)));
        }
        Ok(first)
    }

    fn single(&mut self) -> Result2<Operand<'a>> {
        if self.eat('!')? {
            return Ok(Operand::Not(self.name()?));
        }
        if self.eat('{')? {
            return Ok(Operand::Vector(self.list('}')?));
        }
        if self.eat('(')? {
            return Ok(Operand::List(self.list(')')?));
        }
        if self.eat('[')? {
            let address = match self.peek()? {
                TokenKind::Word(_) => {
                    let base = self.name()?;
                    Operand::Address(Some(base), self.addend()?)
                }
                _ => {
                    let negative = self.eat('-')?;
                    let value = self.int()? as i64;
                    Operand::Address(
                        None,
                        if negative {
                            value.wrapping_neg()
                        } else {
                            value
                        },
                    )
                }
            };
            if self.eat(',')? {
                self.operand()?;
                self.expect(']')?;
                return Ok(Operand::Coordinates);
            }
            self.expect(']')?;
            return Ok(address);
        }
        let negative = self.eat('-')?;
        Ok(match self.next()? {
            TokenKind::Int(value) if negative => Operand::Int(value.wrapping_neg()),
            TokenKind::Int(value) => Operand::Int(value),
            TokenKind::Single(bits) => Operand::Single(bits ^ (u32::from(negative) << 31)),
            TokenKind::Double(bits) => Operand::Double(bits ^ (u64::from(negative) << 63)),
            TokenKind::Word("generic") if self.peek()? == TokenKind::Mark('(') => {
                self.next()?;
                let name = self.name()?;
                self.expect(')')?;
                Operand::Sum(name, self.addend()?)
            }
            TokenKind::Word(word) if !word.starts_with('.') && !negative => match self.peek()? {
                TokenKind::Mark('+' | '-') => Operand::Sum(word, self.addend()?),
                _ => Operand::Name(word),
            },
            found => {
                return Err(TextError::Found {
                    expected: "an operand".to_owned(),
                    found: describe(found),
                });
            }
        })
    }

    fn list(&mut self, end: char) -> Result2<Vec<Operand<'a>>> {
        self.enter()?;
        let mut list = Vec::new();
        while !self.eat(end)? {
            list.push(self.operand()?);
            if !self.eat(',')? {
                self.expect(end)?;
                break;
            }
        }
        self.depth -= 1;
        Ok(list)
    }
}

fn describe(token: TokenKind<'_>) -> String {
    match token {
        TokenKind::Word(word) => format!("`{word}`"),
        TokenKind::Int(value) => format!("`{value}`"),
        TokenKind::Single(bits) => format!("`0f{bits:08x}`"),
        TokenKind::Double(bits) => format!("`0d{bits:016x}`"),
        TokenKind::Text(text) => format!("\"{text}\""),
        TokenKind::Mark(mark) => format!("`{mark}`"),
        TokenKind::End => "the end of the text".to_owned(),
    }
}
