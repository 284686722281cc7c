//! The linker option that the documentation requires, for this crate's own tests.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-link-arg-tests=-Wl,-z,nostart-stop-gc");
}
