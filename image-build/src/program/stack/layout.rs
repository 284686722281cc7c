//! Sizes of LLVM's types on AMD GPUs.

/// The bytes that a value of the type `text` takes in memory; `None` if the type is unknown.
pub(super) fn size(text: &str) -> Option<u64> {
    let mut parser = Parser { rest: text };
    let layout = parser.layout()?;
    parser.rest.is_empty().then_some(layout.size)
}

#[derive(Clone, Copy)]
struct Layout {
    size: u64,
    align: u64,
}

impl Layout {
    /// A number with a power of two as its size, which is its alignment.
    fn scalar(bytes: u64) -> Self {
        let size = bytes.next_power_of_two();
        Self { size, align: size }
    }
}

/// A parser of types, with the rest of the text.
struct Parser<'a> {
    rest: &'a str,
}

impl Parser<'_> {
    fn layout(&mut self) -> Option<Layout> {
        for (name, bytes) in [("half", 2), ("bfloat", 2), ("float", 4), ("double", 8)] {
            if self.eat(name) {
                return Some(Layout::scalar(bytes));
            }
        }
        if self.eat("ptr") {
            // Only generic pointers and those to global memory: both have 64 bits.
            return (!self.eat(" addrspace(") || self.eat("1)")).then_some(Layout::scalar(8));
        }
        if self.eat("i") {
            let bits = self.number()?;
            // An alignment of `i128` that is not its size does not change an array of it.
            return (1..=128)
                .contains(&bits)
                .then(|| Layout::scalar(bits.div_ceil(8)));
        }
        if self.eat("[") {
            let count = self.number()?;
            let of = self.eat(" x ").then(|| self.layout())??;
            let size = of.size.next_multiple_of(of.align).checked_mul(count)?;
            return self.eat("]").then_some(Layout {
                size,
                align: of.align,
            });
        }
        if self.eat("<") {
            let count = self.number()?;
            let of = self.eat(" x ").then(|| self.layout())??;
            let bytes = of.size.checked_mul(count)?;
            // `<4 x i1>` is packed; nothing keeps one in memory.
            let is_known = self.eat(">") && bytes > 0;
            return is_known.then(|| Layout::scalar(bytes));
        }
        if self.eat("{ ") {
            let mut all = Layout { size: 0, align: 1 };
            loop {
                let field = self.layout()?;
                all.size = all.size.next_multiple_of(field.align) + field.size;
                all.align = all.align.max(field.align);
                if self.eat(" }") {
                    all.size = all.size.next_multiple_of(all.align);
                    return Some(all);
                }
                self.eat(", ").then_some(())?;
            }
        }
        self.eat("{}").then_some(Layout { size: 0, align: 1 })
    }

    fn eat(&mut self, text: &str) -> bool {
        let rest = self.rest.strip_prefix(text);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn number(&mut self) -> Option<u64> {
        let digits = self.rest.bytes().take_while(u8::is_ascii_digit).count();
        let (number, rest) = self.rest.split_at(digits);
        self.rest = rest;
        number.parse().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::size;

    #[test]
    fn types_have_sizes() {
        for (text, bytes) in [
            ("i1", 1),
            ("i24", 4),
            ("i128", 16),
            ("double", 8),
            ("ptr", 8),
            ("ptr addrspace(1)", 8),
            ("[24 x i8]", 24),
            ("[3 x { i8, i64 }]", 48),
            ("<3 x i32>", 16),
            ("{ i32, [2 x i16], {} }", 8),
        ] {
            assert_eq!(size(text), Some(bytes), "{text}");
        }
        for text in ["", "%T", "ptr addrspace(3)", "[2 x", "i8 ", "i4096", "{ i8"] {
            assert_eq!(size(text), None, "{text}");
        }
    }
}
