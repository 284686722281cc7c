//! How an [`Activity`] is shown.

use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::Stylize;
use ratatui::text::Line;
use ratatui::widgets::{Row, Table, Widget};

use super::activity::Activity;

/// The width of the [`text`] without its first column, of which each name has room.
const OTHER_COLUMNS: usize = 80;

/// A table: its head and widths, and its rows.
struct Rows {
    columns: Vec<(&'static str, Constraint)>,
    rows: Vec<Vec<String>>,
}

const NAME: Constraint = Constraint::Fill(1);
const DEVICE: Constraint = Constraint::Length(12);
const NUMBER: Constraint = Constraint::Length(10);

fn tables(activity: &Activity) -> [Rows; 4] {
    let functions = activity.functions.iter().map(|row| {
        let durations = row.durations.map(|each| each.map(duration));
        let [mean, p50, p99] = durations.unwrap_or_else(|| ["-"; 3].map(str::to_owned));
        let (rate, all, running) = (count(row.per_second), count(row.all), count(row.running));
        let (function, device) = (row.function.clone(), row.device.clone());
        vec![function, device, rate, all, running, mean, p50, p99]
    });
    let kernels = activity.kernels.iter().map(|row| {
        let (rate, all, running) = (count(row.per_second), count(row.all), count(row.running));
        vec![row.kernel.clone(), row.device.clone(), rate, all, running]
    });
    let copies = activity.copies.iter().map(|row| {
        let (rate, all) = (count(row.per_second), count(row.all));
        vec![
            row.direction.clone(),
            rate,
            all,
            bytes(row.bytes_per_second),
        ]
    });
    let threads = activity.threads.iter().map(|row| {
        let now = if row.is_serving { "serving" } else { "" }.to_owned();
        let (rate, busy) = (count(row.per_second), format!("{:.0} %", row.busy * 100.0));
        vec![row.thread.clone(), row.id.clone(), rate, busy, now]
    });
    let (rate, all, running) = (
        ("launches/s", NUMBER),
        ("total", NUMBER),
        ("running", NUMBER),
    );
    [
        Rows {
            columns: vec![
                ("HOST FUNCTION", NAME),
                ("device", DEVICE),
                ("calls/s", NUMBER),
                all,
                running,
                ("mean", NUMBER),
                ("p50 up to", NUMBER),
                ("p99 up to", NUMBER),
            ],
            rows: functions.collect(),
        },
        Rows {
            columns: vec![("KERNEL", NAME), ("device", DEVICE), rate, all, running],
            rows: kernels.collect(),
        },
        Rows {
            columns: vec![
                ("COPIES", NAME),
                ("copies/s", NUMBER),
                all,
                ("bytes/s", NUMBER),
            ],
            rows: copies.collect(),
        },
        Rows {
            columns: vec![
                ("SERVING THREAD", NAME),
                ("id", DEVICE),
                ("calls/s", NUMBER),
                ("busy", NUMBER),
                ("now", NUMBER),
            ],
            rows: threads.collect(),
        },
    ]
}

/// Draws it, as much as there is room for.
pub(super) fn draw(activity: &Activity, area: Rect, buffer: &mut Buffer) {
    let tables = tables(activity);
    let heights = tables.iter().map(Rows::height);
    let [title, rest] = Layout::vertical([Constraint::Length(2), Constraint::Fill(1)]).areas(area);
    let areas = Layout::vertical(heights.map(Constraint::Max)).split(rest);
    let (program, process) = (&activity.program, &activity.process);
    Line::from(format!("{program}, process {process}"))
        .bold()
        .render(title, buffer);
    for (table, area) in tables.into_iter().zip(&*areas) {
        table.draw(*area, buffer);
    }
}

/// All of it, as lines of text.
pub(super) fn text(activity: &Activity) -> String {
    let tables = tables(activity);
    let height = 2 + tables.iter().map(Rows::height).sum::<u16>();
    let names = tables
        .iter()
        .flat_map(|table| table.rows.iter().map(|row| row[0].chars().count()));
    let longest = names
        .chain([activity.program.len()])
        .max()
        .unwrap_or_default();
    let width = u16::try_from(longest + OTHER_COLUMNS).unwrap_or(u16::MAX);
    let area = Rect::new(0, 0, width, height);
    let mut buffer = Buffer::empty(area);
    draw(activity, area, &mut buffer);
    let mut text = String::new();
    for row in 0..height {
        let cells = (0..width).map(|column| buffer[(column, row)].symbol());
        text.push_str(cells.collect::<String>().trim_end());
        text.push('\n');
    }
    format!("{}\n", text.trim_end())
}

impl Rows {
    /// Lines with the head and an empty line after it; none without rows.
    fn height(&self) -> u16 {
        match self.rows.len() {
            0 => 0,
            rows => u16::try_from(rows).unwrap_or(u16::MAX).saturating_add(2),
        }
    }

    fn draw(self, area: Rect, buffer: &mut Buffer) {
        if self.rows.is_empty() {
            return;
        }
        let (names, widths): (Vec<_>, Vec<_>) = self.columns.into_iter().unzip();
        let row = |texts: Vec<String>| {
            let cells = texts.into_iter().zip(&widths);
            Row::new(cells.map(|(text, width)| match *width {
                NUMBER => Line::from(text).right_aligned(),
                _ => Line::from(text),
            }))
        };
        let head = row(names.into_iter().map(str::to_owned).collect());
        let rows: Vec<_> = self.rows.into_iter().map(row).collect();
        let table = Table::new(rows, &widths).header(head.bold());
        // Without the empty line.
        let height = area.height.saturating_sub(1);
        Widget::render(table, Rect { height, ..area }, buffer);
    }
}

/// A count, or a rate: with at most four digits before its unit.
fn count(number: f64) -> String {
    let (number, unit) = scaled(number, 1000.0, &["", "k", "M", "G", "T"]);
    match number.fract() == 0.0 || number >= 100.0 {
        true => format!("{number:.0}{unit}"),
        false => format!("{number:.1}{unit}"),
    }
}

fn bytes(number: f64) -> String {
    let (number, unit) = scaled(number, 1024.0, &["B", "KiB", "MiB", "GiB", "TiB"]);
    format!("{number:.0} {unit}")
}

/// A duration in seconds.
fn duration(seconds: f64) -> String {
    if !seconds.is_finite() {
        return "over 8 s".to_owned();
    }
    let (number, unit) = scaled(seconds * 1e9, 1000.0, &["ns", "us", "ms", "s"]);
    match number < 10.0 {
        true => format!("{number:.1} {unit}"),
        false => format!("{number:.0} {unit}"),
    }
}

/// The number in the largest unit in which it is at least 1.
fn scaled<'u>(number: f64, step: f64, units: &[&'u str]) -> (f64, &'u str) {
    let mut number = number;
    let mut unit = 0;
    while number >= step && unit + 1 < units.len() {
        number /= step;
        unit += 1;
    }
    (number, units[unit])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        let counts = [0.0, 7.0, 7.25, 999.0, 1234.0, 2_500_000.0].map(count);
        assert_eq!(counts, ["0", "7", "7.2", "999", "1.2k", "2.5M"]);
        assert_eq!([512.0, 3.0e6].map(bytes), ["512 B", "3 MiB"]);
        let durations = [2e-6, 0.016384, 3.0, f64::INFINITY].map(duration);
        assert_eq!(durations, ["2.0 us", "16 ms", "3.0 s", "over 8 s"]);
    }
}
