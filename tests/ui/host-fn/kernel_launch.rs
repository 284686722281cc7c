//! Wrong arguments of a launch.

use revoff_fn::Launcher;
use host_fn_test_calls::{Saxpy, Touch};

fn wrong<L: Launcher>(saxpy: &Saxpy<L>, touch: &Touch<L>, grid: fn() -> L::Grid) {
    let (x, mut y) = ([1.0], [2.0]);
    let _ = saxpy.launch(grid(), 1.0, &x);
    let _ = saxpy.launch(grid(), 1.0, &x, &y);
    let _ = saxpy.launch(grid(), 1.0, &[1_u32], &mut y);
    let _ = saxpy.launch(grid(), 1, &x, &mut y);
    let _ = touch.launch(grid(), 8);
}

fn main() {}
