//! Numbers in messages, with singular and plural.

use std::fmt;

/// `1 team`, `2 teams`: a number and a noun whose plural ends in `s`.
#[derive(Clone, Copy, Debug)]
pub struct Count<'a>(pub u64, pub &'a str);

impl fmt::Display for Count<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(number, thing) = self;
        let ending = if *number == 1 { "" } else { "s" };
        write!(f, "{number} {thing}{ending}")
    }
}

/// Parameters of these sizes in bytes: `3 parameters of 8, 4 and 8 bytes`.
#[derive(Clone, Copy, Debug)]
pub struct Parameters<'a>(pub &'a [u64]);

impl fmt::Display for Parameters<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            [] => f.write_str("no parameters"),
            [size] => write!(f, "1 parameter of {}", Count(*size, "byte")),
            [sizes @ .., last] => {
                let count = Count(self.0.len() as u64, "parameter");
                let sizes: Vec<_> = sizes.iter().map(u64::to_string).collect();
                write!(f, "{count} of {} and {last} bytes", sizes.join(", "))
            }
        }
    }
}

/// Names separated by commas, at most the first few: `a, b and 3 more`.
#[derive(Clone, Copy, Debug)]
pub struct Names<'a>(pub &'a [String]);

impl Names<'_> {
    /// The maximum number of names.
    const SHOWN: usize = 10;
}

impl fmt::Display for Names<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (shown, rest) = self.0.split_at(self.0.len().min(Self::SHOWN));
        f.write_str(&shown.join(", "))?;
        match rest.len() {
            0 => Ok(()),
            more => write!(f, " and {more} more"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_singular() {
        assert_eq!(Count(0, "team").to_string(), "0 teams");
        assert_eq!(Count(1, "team").to_string(), "1 team");
        assert_eq!(Count(2, "team").to_string(), "2 teams");
        for (sizes, text) in [
            (&[][..], "no parameters"),
            (&[1], "1 parameter of 1 byte"),
            (&[8], "1 parameter of 8 bytes"),
            (&[8, 4], "2 parameters of 8 and 4 bytes"),
            (&[8, 4, 8], "3 parameters of 8, 4 and 8 bytes"),
        ] {
            assert_eq!(Parameters(sizes).to_string(), text);
        }
    }

    #[test]
    fn a_long_list_is_cut() {
        let names: Vec<_> = (0..12).map(|n| n.to_string()).collect();
        assert_eq!(Names(&names[..2]).to_string(), "0, 1");
        assert_eq!(
            Names(&names[..10]).to_string(),
            "0, 1, 2, 3, 4, 5, 6, 7, 8, 9"
        );
        assert!(Names(&names).to_string().ends_with("8, 9 and 2 more"));
    }
}
