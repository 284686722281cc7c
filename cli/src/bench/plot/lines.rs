//! Requests a second as lines over a number of threads, both logarithmic.

use plotters::prelude::*;

use super::axis::{around, axis, count};
use super::page::{GRAY, Head, LIGHT, Mark, TEXT, page, text};

/// A figure, with the least and the most of its rounds.
pub(super) struct Point {
    pub(super) x: f64,
    pub(super) min: f64,
    pub(super) median: f64,
    pub(super) max: f64,
}

pub(super) struct Line {
    pub(super) label: String,
    pub(super) color: RGBColor,
    /// Whether its points are drawn hollow.
    pub(super) is_hollow: bool,
    /// From left to right.
    pub(super) points: Vec<Point>,
}

pub(super) struct Lines {
    pub(super) head: Head,
    /// The label of the numbers of threads.
    pub(super) x: String,
    /// The rate of the floor, which no single thread exceeds, if it is drawn.
    pub(super) floor: Option<f64>,
    pub(super) lines: Vec<Line>,
}

/// The plot; `None` without two different numbers of threads.
pub(super) fn draw(what: &Lines) -> anyhow::Result<Option<String>> {
    let points = || what.lines.iter().flat_map(|line| &line.points);
    let mut marks: Vec<f64> = points().map(|point| point.x).collect();
    marks.sort_by(f64::total_cmp);
    marks.dedup();
    let (Some(&first), Some(&last)) = (marks.first(), marks.last()) else {
        return Ok(None);
    };
    let rates = points().flat_map(|point| [point.min, point.max]);
    let Some((range, y)) = around(rates.chain(what.floor)) else {
        return Ok(None);
    };
    if first >= last || first < 1.0 {
        return Ok(None);
    }
    // Room on both sides, as wide as it looks.
    let room = (last / first).powf(0.04);
    let x_range = first / room..last * room;
    let legend = legend(what);
    let svg = page(&what.head, &legend, |area| {
        let mut chart = ChartBuilder::on(area)
            .margin(12)
            .margin_right(24)
            .x_label_area_size(52)
            .y_label_area_size(78)
            .build_cartesian_2d(axis(x_range.clone(), marks.clone()), y)?;
        chart
            .configure_mesh()
            .x_desc(&what.x)
            .y_desc("requests/s")
            .x_label_formatter(&|x| format!("{x:.0}"))
            .y_label_formatter(&count)
            .label_style(text(TEXT, &BLACK))
            .axis_desc_style(text(TEXT + 1, &BLACK))
            .bold_line_style(LIGHT)
            .light_line_style(TRANSPARENT)
            .draw()?;
        if let Some(floor) = what.floor {
            let ends = [(x_range.start, floor), (x_range.end, floor)];
            chart.draw_series(DashedLineSeries::new(ends, 6, 5, GRAY.stroke_width(2)))?;
        }
        for line in &what.lines {
            let points = || {
                let is_there = |point: &&Point| range.contains(&point.median);
                line.points.iter().filter(is_there)
            };
            let at = points().map(|point| (point.x, point.median));
            chart.draw_series(LineSeries::new(at, line.color.stroke_width(2)))?;
            let spread = points().map(|point| [(point.x, point.min), (point.x, point.max)]);
            chart.draw_series(spread.map(|ends| PathElement::new(ends, line.color)))?;
            let dots = |radius, color: RGBColor| {
                points()
                    .map(move |point| Circle::new((point.x, point.median), radius, color.filled()))
            };
            chart.draw_series(dots(5, line.color))?;
            if line.is_hollow {
                chart.draw_series(dots(3, WHITE))?;
            }
        }
        Ok(())
    })?;
    Ok(Some(svg))
}

fn legend(what: &Lines) -> Vec<(String, Mark)> {
    let of = |line: &Line| (line.label.clone(), Mark::Line(line.color, line.is_hollow));
    let mut legend: Vec<_> = what.lines.iter().map(of).collect();
    if what.floor.is_some() {
        legend.push(("floor, one thread".to_owned(), Mark::Dashes(GRAY)));
    }
    legend
}
