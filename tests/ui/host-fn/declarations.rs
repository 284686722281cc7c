mod a { revoff_fn::host_functions! { pub fn generic<T>(a: &T); } }
mod b { revoff_fn::host_functions! { pub async fn asynchronous(); } }
mod c { revoff_fn::host_functions! { pub unsafe fn unchecked(); } }
mod d { revoff_fn::host_functions! { pub extern "C" fn convention(); } }
mod e { revoff_fn::host_functions! { pub fn body() {} } }
mod f { revoff_fn::host_functions! { pub fn receiver(&self); } }
mod g { revoff_fn::host_functions! { pub fn pattern((a, b): (u32, u32)); } }
mod h { revoff_fn::host_functions! { pub fn unnamed(_: u32); } }
mod i { revoff_fn::host_functions! { pub fn lifetime(a: &'static u32); } }
mod j { revoff_fn::host_functions! { pub fn unsized_value(a: [u8]); } }
mod k { revoff_fn::host_functions! { pub fn bare_out(a: Out); } }
mod l { revoff_fn::host_functions! { pub fn returns_reference() -> &'static u32; } }
mod m { revoff_fn::host_functions! { pub fn __(); } }
mod n { revoff_fn::host_functions! { pub fn größe(); } }
mod o { revoff_fn::host_functions! { pub const fn constant(); } }
mod p { revoff_fn::host_functions! { pub struct NoFunction; } }

fn main() {}
