//! Memory that is written and lent twice.

use revoff_fn::Launcher;
use host_fn_test_calls::Saxpy;

fn wrong<L: Launcher>(saxpy: &Saxpy<L>, grid: fn() -> L::Grid) {
    let mut y = [2.0];
    let _ = saxpy.launch(grid(), 1.0, &y, &mut y);
}

fn main() {}
