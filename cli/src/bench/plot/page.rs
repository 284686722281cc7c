//! The page of a plot: its titles, and a legend beside it, where it covers no data.

use plotters::coord::Shift;
use plotters::prelude::*;

/// A part of the page.
pub(super) type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

const WIDTH: u32 = 960;
const HEIGHT: u32 = 540;

/// The legend's part of the width.
const LEGEND: u32 = 250;

/// The distance between two lines of the legend.
const LINE: i32 = 26;

/// Labels of axes and their marks.
pub(super) const TEXT: u32 = 15;

pub(super) const GRAY: RGBColor = RGBColor(90, 90, 90);
pub(super) const LIGHT: RGBColor = RGBColor(225, 225, 225);

/// The mark beside a line of the legend.
pub(super) enum Mark {
    /// A line with a point on it, filled or not.
    Line(RGBColor, bool),
    /// A line with gaps.
    Dashes(RGBColor),
    /// A box.
    Bar(RGBAColor),
}

/// The titles of a plot.
pub(super) struct Head {
    pub(super) title: String,
    pub(super) subtitle: String,
    /// Caveats, below the picture.
    pub(super) notes: Vec<String>,
}

/// The maximum number of notes on a page.
const MAX_NOTES: usize = 8;

/// An SVG, drawn by `draw` in the part that is not the legend's.
pub(super) fn page(
    head: &Head,
    legend: &[(String, Mark)],
    draw: impl FnOnce(&Area<'_>) -> anyhow::Result<()>,
) -> anyhow::Result<String> {
    let Head {
        title,
        subtitle,
        notes,
    } = head;
    let mut notes = notes.clone();
    if notes.len() > MAX_NOTES {
        let more = notes.split_off(MAX_NOTES - 1).len();
        notes.push(format!("and {more} more, which the table lists"));
    }
    let mut svg = String::new();
    {
        let height = HEIGHT + LINE as u32 * notes.len() as u32;
        let root = SVGBackend::with_string(&mut svg, (WIDTH, height)).into_drawing_area();
        root.fill(&WHITE)?;
        let (above, body) = root.split_vertically(70);
        above.draw_text(title, &text(20, &BLACK), (20, 14))?;
        above.draw_text(subtitle, &text(TEXT, &GRAY), (20, 43))?;
        let (body, below) = body.split_vertically(HEIGHT - 70);
        for (index, note) in notes.iter().enumerate() {
            below.draw_text(note, &text(TEXT, &BLACK), (20, LINE * index as i32))?;
        }
        let (chart, beside) = body.split_horizontally(WIDTH - LEGEND);
        draw(&chart)?;
        for (index, (label, mark)) in legend.iter().enumerate() {
            entry(&beside, label, mark, 20 + LINE * index as i32)?;
        }
        root.present()?;
    }
    Ok(svg)
}

/// Text of a size and colour.
pub(super) fn text<'a>(size: u32, color: &'a RGBColor) -> TextStyle<'a> {
    ("sans-serif", size).into_font().color(color)
}

fn entry(area: &Area<'_>, label: &str, mark: &Mark, y: i32) -> anyhow::Result<()> {
    let ends = [(8, y), (36, y)];
    match mark {
        Mark::Line(color, is_hollow) => {
            area.draw(&PathElement::new(ends, color.stroke_width(2)))?;
            draw_point(area, (22, y), *color, *is_hollow)?;
        }
        Mark::Dashes(color) => {
            for x in [8, 19, 30] {
                let dash = [(x, y), (x + 6, y)];
                area.draw(&PathElement::new(dash, color.stroke_width(2)))?;
            }
        }
        Mark::Bar(color) => {
            let corners = [(12, y - 8), (32, y + 8)];
            area.draw(&Rectangle::new(corners, color.filled()))?;
        }
    }
    area.draw_text(label, &text(TEXT, &BLACK), (44, y - 6))?;
    Ok(())
}

fn draw_point(
    area: &Area<'_>,
    at: (i32, i32),
    color: RGBColor,
    is_hollow: bool,
) -> anyhow::Result<()> {
    area.draw(&Circle::new(at, 5, color.filled()))?;
    if is_hollow {
        area.draw(&Circle::new(at, 3, WHITE.filled()))?;
    }
    Ok(())
}
