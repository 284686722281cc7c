//! The items at the outermost level of a PTX file.
//!
//! Source: the PTX ISA, "Directives" and "State Spaces, Types, and Variables".

use std::ops::Range;

use super::Tokens;

/// Directives of linkage.
const LINKAGE: [&[u8]; 4] = [b".visible", b".extern", b".weak", b".common"];

/// Directives that begin functions.
const FUNCTIONS: [&[u8]; 2] = [b".func", b".entry"];

/// State spaces, which begin variables.
const SPACES: [&[u8]; 4] = [b".global", b".const", b".shared", b".local"];

/// A function or variable that a text declares or defines.
#[derive(Clone, Debug)]
pub struct Item<'a> {
    /// Its range in the text, with its semicolon or closing brace.
    pub range: Range<usize>,
    /// Its tokens up to the body or the semicolon, including those of an initial value.
    pub head: Vec<&'a [u8]>,
    /// The range of a function's body, with its braces.
    pub body: Option<Range<usize>>,
}

impl<'a> Item<'a> {
    /// Its linkage: `.visible`, `.extern`, `.weak` or `.common`. None if it is local to its file.
    #[must_use]
    pub fn linkage(&self) -> Option<&'a str> {
        let first = self.head.first()?;
        LINKAGE
            .contains(first)
            .then(|| str::from_utf8(first).ok())?
    }

    /// Its kind: `.func`, `.entry`, or the state space of a variable.
    #[must_use]
    pub fn kind(&self) -> Option<&'a str> {
        let at = usize::from(self.linkage().is_some());
        str::from_utf8(self.head.get(at)?).ok()
    }

    /// Whether it is a function or a kernel.
    #[must_use]
    pub fn is_function(&self) -> bool {
        matches!(self.kind(), Some(".func" | ".entry"))
    }

    /// Whether this is a definition, rather than a declaration of an item defined elsewhere.
    #[must_use]
    pub fn is_definition(&self) -> bool {
        if self.is_function() {
            self.body.is_some()
        } else {
            self.linkage() != Some(".extern")
        }
    }

    /// Its name: the first word that is not a directive, and not in the parentheses of a result.
    #[must_use]
    pub fn name(&self) -> Option<&'a str> {
        let mut depth = 0u32;
        for token in &self.head {
            match *token {
                b"(" => depth += 1,
                b")" => depth = depth.saturating_sub(1),
                [first, ..]
                    if depth == 0 && (first.is_ascii_alphabetic() || b"_$%".contains(first)) =>
                {
                    return str::from_utf8(token).ok();
                }
                _ => {}
            }
        }
        None
    }
}

/// The reason why a text could not be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {what}")]
pub struct Malformed {
    /// The line, counted from 1.
    pub line: usize,
    what: &'static str,
}

/// The functions and variables of `text`, in its order. Other statements are left out.
///
/// # Errors
/// Braces do not match, or a statement does not end.
pub fn items(text: &[u8]) -> Result<Vec<Item<'_>>, Malformed> {
    let mut items = vec![];
    let mut tokens = Tokens::of(text);
    // The tokens so far, if the statement is an item.
    let mut item: Option<Item<'_>> = None;
    let mut last: &[u8] = b"";
    let malformed = |at: usize, what| Malformed {
        line: line(text, at),
        what,
    };
    while let Some(token) = tokens.next() {
        let start = tokens.at() - token.len();
        match token {
            b"}" => return Err(malformed(start, "a `}` without its `{`")),
            b"{" => {
                let end = block_end(&mut tokens)
                    .ok_or_else(|| malformed(start, "a `{` without its `}`"))?;
                // Otherwise it is an initial value, and the statement continues.
                if last != b"=" {
                    items.extend(item.take().map(|item| Item {
                        range: item.range.start..end,
                        body: Some(start..end),
                        ..item
                    }));
                }
            }
            b";" => items.extend(item.take().map(|item| Item {
                range: item.range.start..start + 1,
                ..item
            })),
            _ => match &mut item {
                Some(_) if LINKAGE.contains(&token) => {
                    return Err(malformed(start, "a statement begins within another"));
                }
                Some(item) => item.head.push(token),
                // Statements before an item may end only with their line, such as `.file`.
                None if LINKAGE.contains(&token)
                    || FUNCTIONS.contains(&token)
                    || SPACES.contains(&token) =>
                {
                    item = Some(Item {
                        range: start..start,
                        head: vec![token],
                        body: None,
                    });
                }
                None => {}
            },
        }
        last = token;
    }
    match item {
        Some(item) => Err(malformed(item.range.start, "a statement does not end")),
        None => Ok(items),
    }
}

/// The end of a block, after its first brace.
fn block_end(tokens: &mut Tokens<'_>) -> Option<usize> {
    let mut depth = 1u64;
    while let Some(token) = tokens.next() {
        match token {
            b"{" => depth += 1,
            b"}" => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some(tokens.at());
        }
    }
    None
}

/// The line of `at` in `text`, counted from 1.
pub(crate) fn line(text: &[u8], at: usize) -> usize {
    1 + text[..at].iter().filter(|byte| **byte == b'\n').count()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"
        // .visible .func not_this;
        .version 6.0
        .target sm_30
        .address_size 64
        .file 1 "a;b{.visible .func nor_this"
        .visible .func declared (.param .u32 %in_ar0);
        .extern .shared .align 8 .u64 elsewhere[1];
        .global .align 4 .u32 own[1];
        .visible .global .align 8 .b8 table[2] = { 1, 2 };
        .alias declared,defined;
        .visible .func (.param .u32 %value_out) defined (.param .u32 %in_ar0)
        {
        .reg .u32 %r1; /* } */
        { call (%value_in),"}"; }
        ret;
        }
        .func inner { ret; }
        .section .debug_info { .b8 1; }
        .visible .entry last(.param .u64 a) .maxntid 1, 1, 1 { ret; }
    "#;

    #[test]
    fn items_are_told_apart() {
        let found = items(TEXT.as_bytes()).expect("good text");
        let told: Vec<_> = found
            .iter()
            .map(|item| {
                (
                    item.name().expect("a name"),
                    item.linkage(),
                    item.kind().expect("a kind"),
                    item.is_definition(),
                )
            })
            .collect();
        let visible = Some(".visible");
        assert_eq!(
            told,
            [
                ("declared", visible, ".func", false),
                ("elsewhere", Some(".extern"), ".shared", false),
                ("own", None, ".global", true),
                ("table", visible, ".global", true),
                ("defined", visible, ".func", true),
                ("inner", None, ".func", true),
                ("last", visible, ".entry", true),
            ]
        );
        let defined = &TEXT[found[4].range.clone()];
        assert!(defined.starts_with(".visible .func (.param"), "{defined}");
        assert!(defined.ends_with("ret;\n        }"), "{defined}");
        let body = found[4].body.clone().expect("a body");
        assert!(TEXT[body].starts_with("{\n        .reg"));
        assert_eq!(
            &TEXT[found[3].range.clone()],
            ".visible .global .align 8 .b8 table[2] = { 1, 2 };"
        );
    }

    #[test]
    fn what_does_not_end_is_refused() {
        for (text, line, what) in [
            ("\n}", 2, "without its `{`"),
            (".func f\n{ { }", 2, "without its `}`"),
            (".func f { \"}", 1, "without its `}`"),
            (".func f { // }", 1, "without its `}`"),
            ("\n\n.func f /* ;", 3, "does not end"),
            (".visible .func f .visible .func g;", 1, "within another"),
            (".global .u32 x = {1};\n.global .u32 y = {1}", 2, "not end"),
        ] {
            let error = items(text.as_bytes()).expect_err(text);
            assert_eq!(error.line, line, "{text}: {error}");
            assert!(error.to_string().contains(what), "{text}: {error}");
        }
    }

    #[test]
    fn cut_off_anywhere_it_is_no_trouble() {
        for len in 0..TEXT.len() {
            let _ = items(&TEXT.as_bytes()[..len]);
        }
    }
}
