//! Times as bars, a pair for each wire, with the floor behind them.

use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::axis::{around, time};
use super::page::{GRAY, Head, LIGHT, Mark, TEXT, page, text};

/// The bars of one wire.
pub(super) struct Group {
    pub(super) label: String,
    pub(super) color: RGBColor,
    pub(super) p50_ns: f64,
    pub(super) p99_ns: f64,
}

/// A bar's part of its group's width.
const BAR: f64 = 0.32;

/// The opacity of a p99 bar.
const PALE: f64 = 0.45;

/// The picture; `floor` is p50 and p99 of the floor. None without a bar.
pub(super) fn draw(
    head: &Head,
    groups: &[Group],
    floor: [f64; 2],
) -> anyhow::Result<Option<String>> {
    let times = groups.iter().flat_map(|group| [group.p50_ns, group.p99_ns]);
    let Some((range, y)) = around(times.chain(floor)) else {
        return Ok(None);
    };
    if groups.is_empty() {
        return Ok(None);
    }
    let legend = [
        ("p50".to_owned(), Mark::Bar(GRAY.mix(1.0))),
        ("p99".to_owned(), Mark::Bar(GRAY.mix(PALE))),
        (
            format!("floor, p50: {}", time(&floor[0])),
            Mark::Dashes(BLACK),
        ),
        (
            format!("floor, p99: {}", time(&floor[1])),
            Mark::Dashes(GRAY),
        ),
    ];
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
                let middle = index as f64 + 0.5;
                [
                    (middle - 0.34, group.p50_ns, group.color.mix(1.0)),
                    (middle + 0.02, group.p99_ns, group.color.mix(PALE)),
                ]
            })
        };
        for (left, ns, color) in bars() {
            let corners = [(left, range.start), (left + BAR, ns)];
            chart.draw_series([Rectangle::new(corners, color.filled())])?;
        }
        for (ns, color) in floor.into_iter().zip([BLACK, GRAY]) {
            let ends = [(0.0, ns), (groups.len() as f64, ns)];
            chart.draw_series(DashedLineSeries::new(ends, 6, 5, color.stroke_width(2)))?;
        }
        // Last, and on white: the floor's lines pass behind them.
        let above = text(TEXT, &BLACK).pos(Pos::new(HPos::Center, VPos::Bottom));
        for (left, ns, _) in bars() {
            let label = time(&ns);
            let half = label.len() as i32 * 4;
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
