//! Sorting, which computes pointers from booleans.

/// Sorts so many numbers, by each of std's algorithms.
fn sort(count: u64) {
    let mut numbers: Vec<u64> = (0..count).map(|n| n * 7919 % 1013).collect();
    let mut unstable = numbers.clone();
    let mut floats: Vec<f64> = numbers.iter().map(|n| *n as f64 / 3.0).collect();
    let mut texts: Vec<_> = numbers
        .iter()
        .map(|n| (format!("{}", n % 13), *n))
        .collect();
    let mut pairs: Vec<_> = numbers.iter().map(|n| (n % 10, *n)).collect();
    numbers.sort();
    unstable.sort_unstable();
    floats.sort_by(f64::total_cmp);
    texts.sort();
    pairs.sort_by(|left, right| right.0.cmp(&left.0).then(left.1.cmp(&right.1)));
    println!("{numbers:?}\n{floats:?}\n{texts:?}\n{pairs:?}");
    println!("{}", numbers == unstable);
}

pub fn check() {
    for count in [0, 1, 7, 20, 21, 33, 64, 150] {
        sort(count);
    }
}
