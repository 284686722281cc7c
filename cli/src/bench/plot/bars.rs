//! Times as bars, a pair for each wire, with bounds behind them.

use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::axis::{around, time};
use super::page::{GRAY, Head, LIGHT, Mark, TEXT, page, text};

pub(super) struct Bars {
    pub(super) head: Head,
    /// The names of the two bars of each wire.
    pub(super) pair: [String; 2],
    pub(super) groups: Vec<Group>,
    /// Times that are drawn as lines, with their labels: at most two.
    pub(super) bounds: Vec<(String, f64)>,
}

/// The bars of one wire.
pub(super) struct Group {
    pub(super) label: String,
    pub(super) color: RGBColor,
    /// In nanoseconds; the second is drawn paler.
    pub(super) times: [Option<f64>; 2],
}

/// A bar's part of its group's width.
const BAR: f64 = 0.42;

/// Left edges of a pair's bars, from the middle of the group.
const LEFT: [f64; 2] = [-0.44, 0.02];

/// The opacity of a pair's bars.
const OPACITY: [f64; 2] = [1.0, 0.45];

/// The colours of the bounds.
const BOUNDS: [RGBColor; 2] = [BLACK, GRAY];

/// The picture; none without a bar.
pub(super) fn draw(what: &Bars) -> anyhow::Result<Option<String>> {
    let Bars {
        head,
        pair,
        groups,
        bounds,
    } = what;
    let bounds = || bounds.iter().zip(BOUNDS);
    let times = groups.iter().flat_map(|group| group.times).flatten();
    let Some((range, y)) = around(times.chain(bounds().map(|((_, ns), _)| *ns))) else {
        return Ok(None);
    };
    if groups.is_empty() {
        return Ok(None);
    }
    let bars = pair.iter().zip(OPACITY);
    let bars = bars.map(|(label, opacity)| (label.clone(), Mark::Bar(GRAY.mix(opacity))));
    let lines = bounds().map(|((label, ns), color)| {
        let label = format!("{label}: {}", time(ns));
        (label, Mark::Dashes(color))
    });
    let legend: Vec<_> = bars.chain(lines).collect();
    let svg = page(head, &legend, |area| {
        let mut chart = ChartBuilder::on(area)
            .margin(12)
            .margin_right(24)
            .x_label_area_size(40)
            .y_label_area_size(78)
            .build_cartesian_2d(0.0..groups.len() as f64, y)?;
        chart
            .configure_mesh()
            .disable_x_mesh()
            .x_labels(0)
            .y_desc("time of a round trip")
            .y_label_formatter(&time)
            .label_style(text(TEXT, &BLACK))
            .axis_desc_style(text(TEXT + 1, &BLACK))
            .bold_line_style(LIGHT)
            .light_line_style(TRANSPARENT)
            .draw()?;
        let bars = || {
            groups.iter().enumerate().flat_map(|(index, group)| {
                let bars = group.times.into_iter().zip(LEFT.into_iter().zip(OPACITY));
                bars.filter_map(move |(ns, (left, opacity))| {
                    let left = index as f64 + 0.5 + left;
                    Some((left, ns?, group.color.mix(opacity)))
                })
            })
        };
        for (left, ns, color) in bars() {
            let corners = [(left, range.start), (left + BAR, ns)];
            chart.draw_series([Rectangle::new(corners, color.filled())])?;
        }
        for ((_, ns), color) in bounds() {
            let ends = [(0.0, *ns), (groups.len() as f64, *ns)];
            chart.draw_series(DashedLineSeries::new(ends, 6, 5, color.stroke_width(2)))?;
        }
        // Last, and on white: the lines pass behind them.
        let above = text(TEXT, &BLACK).pos(Pos::new(HPos::Center, VPos::Bottom));
        for (left, ns, _) in bars() {
            let label = time(&ns);
            let half = label.len() as i32 * 7 / 2;
            let paper = Rectangle::new([(-half, -18), (half, -2)], WHITE.filled());
            let at = EmptyElement::at((left + BAR / 2.0, ns));
            chart.draw_series([at + paper + Text::new(label, (0, -3), &above)])?;
        }
        // Below the axis, where the chart itself draws nothing.
        let below = text(TEXT, &BLACK).pos(Pos::new(HPos::Center, VPos::Top));
        let (page_x, page_y) = area.get_base_pixel();
        for (index, group) in groups.iter().enumerate() {
            let (x, y) = chart.backend_coord(&(index as f64 + 0.5, range.start));
            area.draw_text(&group.label, &below, (x - page_x, y - page_y + 10))?;
        }
        Ok(())
    })?;
    Ok(Some(svg))
}
