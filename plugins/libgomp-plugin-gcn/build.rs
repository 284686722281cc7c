//! Gives the shared object the name by which libgomp loads it.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libgomp-plugin-gcn.so.1");
}
