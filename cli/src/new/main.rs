use std::env::consts::{ARCH, OS};
use std::thread;

fn main() {
    println!("Hello from {}", place());
    let threads: Vec<_> = (1..=3)
        .map(|n| thread::spawn(move || println!("and from its thread {n}")))
        .collect();
    for thread in threads {
        thread.join().expect("it does not panic");
    }
}

/// The kind of machine that runs this.
fn place() -> String {
    match OS {
        "revoff" => format!("a device ({ARCH})"),
        system => format!("the CPU ({ARCH}, {system})"),
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_place_has_a_name() {
        assert!(super::place().contains(std::env::consts::ARCH));
    }
}
