//! Logarithmic axes: their ranges, their marks, and the format of numbers.

use std::ops::Range;

use plotters::coord::combinators::{BindKeyPoints, IntoLogRange, LogCoord, WithKeyPoints};

/// An axis and its marks.
pub(super) type Axis = WithKeyPoints<LogCoord<f64>>;

/// An axis over `range` on which `marks` are marked.
pub(super) fn axis(range: Range<f64>, marks: Vec<f64>) -> Axis {
    range.log_scale().with_key_points(marks)
}

/// An axis that contains all `values` with margins, and marks at round numbers; `None` without a
/// positive value.
pub(super) fn around(values: impl IntoIterator<Item = f64>) -> Option<(Range<f64>, Axis)> {
    let (low, high) = values
        .into_iter()
        .filter(|value| value.is_finite() && *value > 0.0)
        .fold((f64::MAX, 0.0_f64), |(low, high), value| {
            (low.min(value), high.max(value))
        });
    if high == 0.0 {
        return None;
    }
    let round: Vec<f64> = (-3..18)
        .flat_map(|power| [1.0, 2.0, 5.0].map(|digit| digit * 10f64.powi(power)))
        .collect();
    let start = *round.iter().rev().find(|mark| **mark < low * 0.8)?;
    let end = *round.iter().find(|mark| **mark > high * 1.25)?;
    // Several decades would have too many marks otherwise.
    let tens = end / start > 300.0;
    let is_marked = |mark: &f64| {
        let is_ten = (mark.log10() - mark.log10().round()).abs() < 1e-9;
        (start..=end).contains(mark) && (is_ten || !tens)
    };
    let marks = round.into_iter().filter(is_marked).collect();
    Some((start..end, axis(start..end, marks)))
}

/// A number with three digits, in the largest of `units` that it fills; each unit is
/// a thousand times the one before.
fn in_units(value: f64, units: &[&str]) -> String {
    let mut value = value;
    let mut units = units.iter();
    let mut unit = units.next().copied().unwrap_or_default();
    for larger in units {
        if value < 999.5 {
            break;
        }
        (value, unit) = (value / 1e3, larger);
    }
    let digits = match value {
        ..9.995 => 2,
        ..99.95 => 1,
        _ => 0,
    };
    let text = format!("{value:.digits$}");
    let text = if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.')
    } else {
        &text
    };
    format!("{text} {unit}").trim_end().to_owned()
}

/// A count: `12.5 k`.
pub(super) fn count(value: &f64) -> String {
    in_units(*value, &["", "k", "M", "G"])
}

/// How long: `12.5 us`.
pub(super) fn time(ns: &f64) -> String {
    in_units(*ns, &["ns", "us", "ms", "s"])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_hold_their_values() {
        let (range, _) = around([1.4e6, 800e3, 0.0, f64::NAN]).unwrap();
        assert_eq!((range.start, range.end), (500e3, 2e6));
        let (range, _) = around([470.0, 68_300.0]).unwrap();
        assert_eq!((range.start, range.end), (200.0, 100_000.0));
        assert!(around([0.0, -1.0, f64::INFINITY]).is_none());
    }

    #[test]
    fn numbers_are_short() {
        let cases = [
            (1.0, "1"),
            (20.0, "20"),
            (671.0, "671"),
            (999.9, "1 k"),
            (12_543.0, "12.5 k"),
            (1_470_000.0, "1.47 M"),
        ];
        for (value, text) in cases {
            assert_eq!(count(&value), text);
        }
        assert_eq!(time(&68_300.0), "68.3 us");
        assert_eq!(time(&100.0), "100 ns");
    }
}
