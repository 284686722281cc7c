mod a { #[revoff_fn::kernel] pub fn generic<T>(a: &T); }
mod b { #[revoff_fn::kernel] pub async fn asynchronous(); }
mod c { #[revoff_fn::kernel] pub extern "C" fn convention(); }
mod d { #[revoff_fn::kernel] pub fn body(a: u32) {} }
mod e { #[revoff_fn::kernel] pub fn receiver(&self); }
mod f { #[revoff_fn::kernel] pub fn pattern((a, b): (u32, u32)); }
mod g { #[revoff_fn::kernel] pub fn unnamed(_: u32); }
mod h { #[revoff_fn::kernel] pub fn lifetime<'a>(a: &'a u32); }
mod i { #[revoff_fn::kernel] pub fn lasting(a: &'static [u32]); }
mod j { #[revoff_fn::kernel] pub fn unsized_value(a: [u8]); }
mod k { #[revoff_fn::kernel] pub fn bare_out(a: Out); }
mod l { #[revoff_fn::kernel] pub fn returns() -> u32; }
mod m { #[revoff_fn::kernel] pub fn __(); }
mod n { #[revoff_fn::kernel] pub fn größe(); }
mod o { #[revoff_fn::kernel(fast)] pub fn arguments(); }
mod p { #[revoff_fn::kernel] pub struct NoFunction; }
mod q { #[revoff_fn::kernel] pub fn text(name: &str); }

fn main() {}
