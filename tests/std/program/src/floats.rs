//! Each function of floating-point numbers. Libraries may differ in the last digit, so fewer are printed.

use std::hint::black_box;

macro_rules! functions {
    ($type:ident, $digits:literal) => {{
        let one: [(&str, fn($type) -> $type); _] = [
            ("abs", $type::abs),
            ("floor", $type::floor),
            ("ceil", $type::ceil),
            ("round", $type::round),
            ("round_ties_even", $type::round_ties_even),
            ("trunc", $type::trunc),
            ("fract", $type::fract),
            ("sqrt", $type::sqrt),
            ("cbrt", $type::cbrt),
            ("exp", $type::exp),
            ("exp2", $type::exp2),
            ("exp_m1", $type::exp_m1),
            ("ln", $type::ln),
            ("ln_1p", $type::ln_1p),
            ("log2", $type::log2),
            ("log10", $type::log10),
            ("sin", $type::sin),
            ("cos", $type::cos),
            ("tan", $type::tan),
            ("asin", $type::asin),
            ("acos", $type::acos),
            ("atan", $type::atan),
            ("sinh", $type::sinh),
            ("cosh", $type::cosh),
            ("tanh", $type::tanh),
            ("asinh", $type::asinh),
            ("acosh", $type::acosh),
            ("atanh", $type::atanh),
        ];
        let two: [(&str, fn($type, $type) -> $type); _] = [
            ("powf", $type::powf),
            ("atan2", $type::atan2),
            ("hypot", $type::hypot),
            ("log", $type::log),
            ("copysign", $type::copysign),
            ("rem_euclid", $type::rem_euclid),
            ("rem", |left, right| left % right),
            ("max", $type::max),
            ("mul_add", |left, right| left.mul_add(right, 0.1)),
            ("powi", |left, right| left.powi(right as i32)),
        ];
        for x in black_box([0.7, -2.5, 1.0, 0.0, 1234.5, $type::INFINITY, $type::NAN]) {
            for (name, function) in one {
                println!(
                    concat!("{} {}({}) = {:.", $digits, "e}"),
                    stringify!($type),
                    name,
                    x,
                    function(x)
                );
            }
            for (name, function) in two {
                let result = function(x, black_box(2.25));
                println!(
                    concat!("{} {}({}, 2.25) = {:.", $digits, "e}"),
                    stringify!($type),
                    name,
                    x,
                    result
                );
            }
        }
    }};
}

pub fn check() {
    functions!(f32, "4");
    functions!(f64, "12");
}
