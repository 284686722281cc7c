//! The thread whose instructions `revoff run --trace` prints.

use std::io::Write as _;
use std::sync::Arc;

use anyhow::{anyhow, ensure};
use revoff_host::device::Trace;
use revoff_host::targets::count::Count;

/// The thread whose instructions are printed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Traced {
    team: u32,
    thread: u32,
}

impl Traced {
    /// Reads `2.31`: thread 31 of team 2.
    pub(super) fn read(text: &str) -> anyhow::Result<Self> {
        let wrong = || anyhow!("`{text}` is no TEAM.THREAD, such as 0.31");
        let (team, thread) = text.split_once('.').ok_or_else(wrong)?;
        let number = |text: &str| text.parse().map_err(|_| wrong());
        Ok(Self {
            team: number(team)?,
            thread: number(thread)?,
        })
    }

    /// Checks that a launch of this shape has the thread. `options` names those with which it is larger.
    pub(super) fn check(self, teams: u32, threads: u32, options: &str) -> anyhow::Result<()> {
        let Self { team, thread } = self;
        ensure!(
            team < teams && thread < threads,
            "--trace {team}.{thread}: the launch has {} of {}, counted from 0 ({options})",
            Count(teams.into(), "team"),
            Count(threads.into(), "thread")
        );
        Ok(())
    }

    /// Prints them to the standard error.
    pub(super) fn to_stderr(self) -> Trace {
        Trace {
            team: self.team,
            thread: self.thread,
            sink: Arc::new(|line| {
                // The reader may have closed the pipe.
                let _ = writeln!(std::io::stderr(), "{line}");
            }),
        }
    }
}
