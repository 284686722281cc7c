//! Shapes of launches.

use super::DeviceError;

/// Teams and threads of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grid {
    /// Number of teams (blocks).
    pub teams: u32,
    /// Threads of a team.
    pub threads: u32,
}

impl Grid {
    /// The number of device threads of a team, with `lanes` lanes per thread.
    ///
    /// # Errors
    /// The grid is empty.
    pub(super) fn threads_of_team(self, lanes: u32) -> Result<u32, DeviceError> {
        if self.teams == 0 || self.threads == 0 {
            return Err(self.bad("both must be at least 1"));
        }
        if lanes == 0 {
            return Err(self.bad("threads of 0 lanes: each must have at least 1"));
        }
        Ok(self.threads.saturating_mul(lanes))
    }

    /// The error for a grid that a device cannot run.
    pub(super) fn bad(self, reason: impl Into<String>) -> DeviceError {
        DeviceError::BadGrid {
            teams: self.teams,
            threads: self.threads,
            reason: reason.into(),
        }
    }
}

/// A dimension of a block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Axis {
    /// The first.
    #[default]
    X,
    /// The second, which GCC's code for AMD GPUs expects. Only `hsa:N` supports it.
    Y,
}

/// The shape of a block, beyond the grid's threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockShape {
    /// Device threads per thread of the grid: 1, or a warp if a compiler gives each thread one, as
    /// GCC does. Blocks then are `lanes` by `threads`.
    pub lanes: u32,
    /// The dimension of a block for the lanes; the threads are in the next one.
    pub lane_axis: Axis,
    /// Bytes of dynamic shared memory.
    pub shared_bytes: u32,
}

impl BlockShape {
    /// The dimensions of a block of `threads` threads.
    pub(super) fn of(self, threads: u32) -> [u32; 3] {
        match (self.lane_axis, self.lanes) {
            (Axis::X, 1) => [threads, 1, 1],
            (Axis::X, lanes) => [lanes, threads, 1],
            (Axis::Y, lanes) => [1, lanes, threads],
        }
    }

    /// Like [`of`](Self::of), for devices whose lanes are in the first dimension.
    ///
    /// # Errors
    /// The lanes are requested in another dimension.
    pub(super) fn of_x(self, grid: Grid) -> Result<[u32; 3], DeviceError> {
        match self.lane_axis {
            Axis::X => Ok(self.of(grid.threads)),
            Axis::Y => Err(grid.bad("lanes in the second dimension are for AMD GPUs alone")),
        }
    }
}

impl Default for BlockShape {
    fn default() -> Self {
        Self {
            lanes: 1,
            lane_axis: Axis::X,
            shared_bytes: 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_grid_of_nothing_is_refused() {
        for (teams, threads, lanes, word) in
            [(0, 5, 1, "both"), (5, 0, 1, "both"), (7, 5, 0, "0 lanes")]
        {
            let refused = Grid { teams, threads }.threads_of_team(lanes);
            let error = refused.unwrap_err().to_string();
            assert!(error.contains(word), "{error}");
        }
        let grid = Grid {
            teams: 7,
            threads: 5,
        };
        assert_eq!(grid.threads_of_team(32).ok(), Some(160));
        assert_eq!(grid.threads_of_team(u32::MAX).ok(), Some(u32::MAX));
    }

    #[test]
    fn lanes_are_in_the_dimension_that_is_asked_for() {
        let block = |lanes, lane_axis| BlockShape {
            lanes,
            lane_axis,
            shared_bytes: 0,
        };
        assert_eq!(BlockShape::default().of(5), [5, 1, 1]);
        assert_eq!(block(32, Axis::X).of(5), [32, 5, 1]);
        assert_eq!(block(64, Axis::Y).of(5), [1, 64, 5]);

        let grid = Grid {
            teams: 7,
            threads: 5,
        };
        assert_eq!(block(32, Axis::X).of_x(grid).ok(), Some([32, 5, 1]));
        let error = block(64, Axis::Y).of_x(grid).unwrap_err().to_string();
        for text in ["7", "5", "AMD GPUs"] {
            assert!(error.contains(text), "{error}");
        }
    }
}
