//! Groups of measurements by the floor beside each: times that were measured while two threads shared a
//! cache say nothing about those when they did not.

use super::latency::Latency;
use super::report::{Group, Rate};

/// Floors of a group differ by at most this factor, and so do those before and after a measurement.
const SPREAD: f64 = 1.5;

/// Whether two floors belong to the same state of the machine.
pub(crate) fn is_same_state(one: u64, other: u64) -> bool {
    one.max(other) as f64 <= one.min(other) as f64 * SPREAD
}

/// A measurement, and the median floor beside it.
pub(crate) struct Sample {
    floor_p50_ns: u64,
    rate: f64,
    latency: Latency,
}

impl Sample {
    /// A measurement, with the floors before and after it; `None` if they differ, or there is none.
    pub(crate) fn new(floors: [Option<u64>; 2], rate: f64, latency: Latency) -> Option<Self> {
        let [before, after] = [floors[0]?, floors[1]?];
        is_same_state(before, after).then_some(Self {
            floor_p50_ns: u64::midpoint(before, after),
            rate,
            latency,
        })
    }
}

/// The groups of samples, from the lowest floor to the highest.
pub(crate) fn groups(samples: &[Sample]) -> anyhow::Result<Vec<Group>> {
    let mut rest: Vec<_> = samples.iter().collect();
    rest.sort_by_key(|sample| sample.floor_p50_ns);
    let mut rest = &rest[..];
    let mut groups = Vec::new();
    while let Some(lowest) = rest.first() {
        let is_in = |sample: &&Sample| is_same_state(lowest.floor_p50_ns, sample.floor_p50_ns);
        let (these, others) = rest.split_at(rest.partition_point(is_in));
        groups.push(group(these)?);
        rest = others;
    }
    Ok(groups)
}

/// The figures of a group, which has samples.
fn group(samples: &[&Sample]) -> anyhow::Result<Group> {
    let mut latency = Latency::new()?;
    for sample in samples {
        latency.merge(&sample.latency)?;
    }
    let rates: Vec<_> = samples.iter().map(|sample| sample.rate).collect();
    let floor_p50_ns = samples[samples.len() / 2].floor_p50_ns;
    let p50_ns = (latency.len() > 0).then(|| latency.percentile(50.0));
    Ok(Group {
        floor_p50_ns,
        rounds: samples.len() as u32,
        rate: Rate::of(&rates),
        p50_ns,
        p50_to_floor: p50_ns.map(|ns| ns as f64 / floor_p50_ns as f64),
    })
}

/// The group with the most rounds; of several, that with the lowest floor.
pub(crate) fn largest(groups: &[Group]) -> Option<&Group> {
    groups.iter().rev().max_by_key(|group| group.rounds)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(floors: [u64; 2], ns: u64) -> Option<Sample> {
        let mut latency = Latency::new().unwrap();
        latency.add(&[ns], 1.0);
        Sample::new(floors.map(Some), 1.0, latency)
    }

    #[test]
    fn states_are_not_mixed() {
        let near = [([100, 110], 200), ([120, 120], 220), ([130, 140], 240)];
        let far = [([480, 500], 800), ([470, 470], 700)];
        let samples: Vec<_> = far
            .into_iter()
            .chain(near)
            .filter_map(|(floors, ns)| sample(floors, ns))
            .collect();
        let groups = groups(&samples).unwrap();
        assert_eq!(groups.len(), 2);
        assert_eq!((groups[0].rounds, groups[0].floor_p50_ns), (3, 120));
        assert_eq!((groups[0].p50_ns, groups[1].rounds), (Some(220), 2));
        assert_eq!(largest(&groups).unwrap().rounds, 3);
        assert_eq!(largest(&groups[1..]).unwrap().rounds, 2);
        assert!(largest(&[]).is_none());
    }

    #[test]
    fn a_change_of_state_meanwhile_ends_a_sample() {
        assert!(sample([100, 480], 300).is_none());
        let latency = Latency::new().unwrap();
        assert!(Sample::new([Some(100), None], 1.0, latency).is_none());
    }
}
