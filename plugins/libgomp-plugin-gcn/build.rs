//! Gives the shared object the name by which libgomp asks for it, and what it exports to itself
//! first: a process has several plugins, with the same functions and a kind each.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libgomp-plugin-gcn.so.1");
    println!("cargo::rustc-cdylib-link-arg=-Wl,-Bsymbolic");
}
