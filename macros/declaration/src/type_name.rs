//! The text of a type, the same from every compiler.

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use quote::ToTokens;

/// Text of `tokens` with spaces only where two words would run together.
///
/// Two compilers often compile device code and host code, and they need not agree on the spacing of
/// `TokenStream::to_string`.
#[must_use]
pub fn canonical(tokens: &impl ToTokens) -> String {
    let mut text = String::new();
    append(tokens.to_token_stream(), &mut text);
    text
}

fn append(tokens: TokenStream, text: &mut String) {
    for token in tokens {
        match token {
            TokenTree::Group(group) => {
                let (open, close) = match group.delimiter() {
                    Delimiter::Parenthesis => ("(", ")"),
                    Delimiter::Brace => ("{", "}"),
                    Delimiter::Bracket => ("[", "]"),
                    // The type came through another macro.
                    Delimiter::None => ("", ""),
                };
                text.push_str(open);
                append(group.stream(), text);
                text.push_str(close);
            }
            TokenTree::Punct(punct) => text.push(punct.as_char()),
            TokenTree::Ident(_) | TokenTree::Literal(_) => {
                let word = token.to_string();
                if text.ends_with(|c: char| c.is_alphanumeric() || c == '_') {
                    text.push(' ');
                }
                text.push_str(&word);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::canonical;

    #[test]
    fn spacing_of_the_source_is_gone() {
        let loose: syn::Type = syn::parse_str("[ crate :: Stats < u8 > ; 32 ]").unwrap();
        let tight: syn::Type = syn::parse_str("[crate::Stats<u8>;32]").unwrap();
        assert_eq!(canonical(&loose), "[crate::Stats<u8>;32]");
        assert_eq!(canonical(&tight), canonical(&loose));
    }

    #[test]
    fn words_stay_apart() {
        let pointer: syn::Type = syn::parse_str("*mut u8").unwrap();
        assert_eq!(canonical(&pointer), "*mut u8");
    }
}
