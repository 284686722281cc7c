//! Grids, as the command line and the figures show them.

use std::fmt;
use std::str::FromStr;

use anyhow::Context;
use revoff_host::Grid;
use serde::{Deserialize, Serialize};

/// The grid of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Shape {
    pub(crate) teams: u32,
    /// Threads of a team.
    pub(crate) threads: u32,
}

impl Shape {
    /// A single thread.
    pub(crate) const ONE: Self = Self {
        teams: 1,
        threads: 1,
    };

    /// The total number of threads.
    pub(crate) fn device_threads(self) -> u64 {
        u64::from(self.teams) * u64::from(self.threads)
    }
}

impl From<Shape> for Grid {
    fn from(Shape { teams, threads }: Shape) -> Self {
        Self { teams, threads }
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{}x{}", self.teams, self.threads))
    }
}

impl FromStr for Shape {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> anyhow::Result<Self> {
        let number = |text: &str| text.parse().ok().filter(|&number: &u32| number > 0);
        text.split_once('x')
            .and_then(|(teams, threads)| {
                Some(Self {
                    teams: number(teams)?,
                    threads: number(threads)?,
                })
            })
            // The kernel numbers a word for each thread.
            .filter(|shape| shape.device_threads() <= 1 << 24)
            .context(
                "teams and threads of a team are expected, such as 132x256: two numbers from 1 on, \
                 at most 16777216 threads in all",
            )
    }
}

#[cfg(test)]
mod tests {
    use super::Shape;

    #[test]
    fn texts_are_read_and_written() {
        let shape: Shape = "132x256".parse().unwrap();
        assert_eq!((shape.teams, shape.threads), (132, 256));
        assert_eq!(shape.device_threads(), 33792);
        assert_eq!(shape.to_string(), "132x256");
        for text in [
            "",
            "8",
            "x",
            "8x",
            "0x8",
            "8x0",
            "-1x8",
            "8x8x8",
            "5000x5000",
        ] {
            assert!(text.parse::<Shape>().is_err(), "{text}");
        }
    }
}
