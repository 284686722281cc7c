//! `revoff top`: what a running program does.
//!
//! | file | job |
//! |---|---|
//! | `sample` | the metrics of a program at one time |
//! | `activity` | what happened between two samples |
//! | `view` | how it is shown |

mod activity;
mod sample;
mod view;

use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use clap::Args;
use ratatui::DefaultTerminal;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyModifiers};

use self::activity::Activity;
use self::sample::{NoProgram, Sample};
use crate::output;

#[derive(Debug, Args)]
#[command(after_help = "\
The program is started with REVOFF_METRICS=SOCKET:

  REVOFF_METRICS=/tmp/heat.socket ./heat &
  revoff top /tmp/heat.socket
  curl --unix-socket /tmp/heat.socket http://localhost/metrics

q ends the view. It also ends with the program.")]
pub(crate) struct Options {
    /// The socket of the program
    socket: PathBuf,

    /// Seconds between two samples
    #[arg(long, value_name = "S", default_value = "1", value_parser = seconds)]
    interval: Duration,

    /// Print what happens in one interval, without a terminal
    #[arg(long)]
    once: bool,
}

fn seconds(text: &str) -> anyhow::Result<Duration> {
    let seconds = text.parse().unwrap_or(f64::NAN);
    ensure!(
        (0.1..=3600.0).contains(&seconds),
        "a number from 0.1 to 3600 expected"
    );
    Ok(Duration::from_secs_f64(seconds))
}

pub(crate) fn run(options: &Options) -> anyhow::Result<()> {
    let first = Sample::of(&options.socket)?;
    if options.once || !io::stdout().is_terminal() {
        thread::sleep(options.interval);
        let activity = Activity::between(&first, &Sample::of(&options.socket)?);
        return output::print(&view::text(&activity));
    }
    let mut terminal = ratatui::try_init().context("no terminal (--once needs none)")?;
    let ended = watch(&mut terminal, &options.socket, options.interval, first);
    ratatui::restore();
    ended
}

/// Shows the program until it ends, or somebody ends the view.
fn watch(
    terminal: &mut DefaultTerminal,
    socket: &Path,
    interval: Duration,
    first: Sample,
) -> anyhow::Result<()> {
    let mut last = first;
    let mut activity = Activity::between(&last, &last);
    loop {
        terminal.draw(|frame| view::draw(&activity, frame.area(), frame.buffer_mut()))?;
        let next = Instant::now() + interval;
        while let Some(rest) = next.checked_duration_since(Instant::now()) {
            if !event::poll(rest)? {
                break;
            }
            match event::read()? {
                Event::Key(key) if is_end(key) => return Ok(()),
                Event::Resize(..) => {
                    terminal
                        .draw(|frame| view::draw(&activity, frame.area(), frame.buffer_mut()))?;
                }
                _ => {}
            }
        }
        let sample = match Sample::of(socket) {
            Ok(sample) => sample,
            Err(error) if error.is::<NoProgram>() => return Ok(()),
            Err(error) => return Err(error),
        };
        activity = Activity::between(&last, &sample);
        last = sample;
    }
}

fn is_end(key: event::KeyEvent) -> bool {
    let is_control = key.modifiers.contains(KeyModifiers::CONTROL);
    match key.code {
        KeyCode::Char('q') | KeyCode::Esc => true,
        KeyCode::Char('c') => is_control,
        _ => false,
    }
}
