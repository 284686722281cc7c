mod a { #[host_fn::kernel] pub fn generic<T>(a: &T); }
mod b { #[host_fn::kernel] pub async fn asynchronous(); }
mod c { #[host_fn::kernel] pub extern "C" fn convention(); }
mod d { #[host_fn::kernel] pub fn body(a: u32) {} }
mod e { #[host_fn::kernel] pub fn receiver(&self); }
mod f { #[host_fn::kernel] pub fn pattern((a, b): (u32, u32)); }
mod g { #[host_fn::kernel] pub fn unnamed(_: u32); }
mod h { #[host_fn::kernel] pub fn lifetime<'a>(a: &'a u32); }
mod i { #[host_fn::kernel] pub fn lasting(a: &'static [u32]); }
mod j { #[host_fn::kernel] pub fn unsized_value(a: [u8]); }
mod k { #[host_fn::kernel] pub fn bare_out(a: Out); }
mod l { #[host_fn::kernel] pub fn returns() -> u32; }
mod m { #[host_fn::kernel] pub fn __(); }
mod n { #[host_fn::kernel] pub fn größe(); }
mod o { #[host_fn::kernel(fast)] pub fn arguments(); }
mod p { #[host_fn::kernel] pub struct NoFunction; }
mod q { #[host_fn::kernel] pub fn text(name: &str); }

fn main() {}
