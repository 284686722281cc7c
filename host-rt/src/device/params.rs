//! Parameters of launches.

use std::ops::Range;

use zerocopy::IntoBytes;

/// The parameters of a launch: their bytes in one buffer, each aligned as a number of its size.
#[derive(Clone, Debug, Default)]
pub struct Params {
    /// The buffer, aligned for every number.
    words: Vec<u128>,
    /// The place of each parameter in it.
    places: Vec<Range<usize>>,
}

impl Params {
    /// Adds a parameter.
    pub fn push(&mut self, value: &[u8]) {
        let align = value.len().next_power_of_two().min(align_of::<u128>());
        let start = self.bytes().len().next_multiple_of(align);
        let place = start..start + value.len();
        self.words.resize(place.end.div_ceil(size_of::<u128>()), 0);
        self.words.as_mut_bytes()[place.clone()].copy_from_slice(value);
        self.places.push(place);
    }

    /// Each parameter.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &[u8]> + Clone {
        let bytes = self.words.as_bytes();
        self.places.iter().map(move |place| &bytes[place.clone()])
    }

    /// The size of each parameter.
    #[must_use]
    pub fn sizes(&self) -> Vec<u64> {
        self.places.iter().map(|place| place.len() as u64).collect()
    }

    /// All parameters, with zeros in the gaps.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        let end = self.places.last().map_or(0, |place| place.end);
        &self.words.as_bytes()[..end]
    }
}

impl<T: AsRef<[u8]>> FromIterator<T> for Params {
    fn from_iter<I: IntoIterator<Item = T>>(values: I) -> Self {
        let mut params = Self::default();
        for value in values {
            params.push(value.as_ref());
        }
        params
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_aligned_as_a_number_of_its_size() {
        let values = [
            vec![1; 1],
            vec![2; 4],
            vec![],
            vec![3; 16],
            vec![4; 56],
            vec![5; 2],
        ];
        let params: Params = values.iter().collect();
        assert!(params.iter().eq(&values));
        assert_eq!(params.sizes(), [1, 4, 0, 16, 56, 2]);
        let places: Vec<_> = params.places.iter().map(|place| place.start).collect();
        assert_eq!(places, [0, 4, 8, 16, 32, 88]);
        assert_eq!(params.bytes()[..8], [1, 0, 0, 0, 2, 2, 2, 2]);
        assert_eq!(params.bytes().len(), 90);
        assert!(params.bytes().as_ptr().cast::<u128>().is_aligned());
        assert!(Params::default().bytes().is_empty());
    }
}
