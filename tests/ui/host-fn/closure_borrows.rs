//! A closure that does not live as long as a host runtime may.

use host_fn_test_calls::Ping;

fn main() {
    let name = String::new();
    Ping::bind(|| assert!(name.is_empty()));
}
