//! primes LIMIT: counts and sorts primes with a pool of threads.

use std::{env, error};

use rayon::prelude::*;

fn main() -> Result<(), Box<dyn error::Error>> {
    let limit: u32 = env::args().nth(1).ok_or("usage: primes LIMIT")?.parse()?;
    let mut primes: Vec<u32> = (2..limit)
        .into_par_iter()
        .filter(|n| is_prime(*n))
        .collect();
    // By their reversed digits, so that there is something to sort.
    primes.par_sort_unstable_by_key(|n| n.to_string().chars().rev().collect::<String>());
    let sum: u64 = primes.par_iter().map(|n| u64::from(*n)).sum();
    println!("{} primes below {limit}, their sum is {sum}", primes.len());
    println!("{:?}", &primes[..primes.len().min(10)]);
    Ok(())
}

fn is_prime(n: u32) -> bool {
    (2..)
        .take_while(|d| d * d <= n)
        .all(|d| !n.is_multiple_of(d))
}
