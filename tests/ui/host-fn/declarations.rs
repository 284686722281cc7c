mod a { host_fn::host_functions! { pub fn generic<T>(a: &T); } }
mod b { host_fn::host_functions! { pub async fn asynchronous(); } }
mod c { host_fn::host_functions! { pub unsafe fn unchecked(); } }
mod d { host_fn::host_functions! { pub extern "C" fn convention(); } }
mod e { host_fn::host_functions! { pub fn body() {} } }
mod f { host_fn::host_functions! { pub fn receiver(&self); } }
mod g { host_fn::host_functions! { pub fn pattern((a, b): (u32, u32)); } }
mod h { host_fn::host_functions! { pub fn unnamed(_: u32); } }
mod i { host_fn::host_functions! { pub fn lifetime(a: &'static u32); } }
mod j { host_fn::host_functions! { pub fn unsized_value(a: [u8]); } }
mod k { host_fn::host_functions! { pub fn bare_out(a: Out); } }
mod l { host_fn::host_functions! { pub fn returns_reference() -> &'static u32; } }
mod m { host_fn::host_functions! { pub fn __(); } }
mod n { host_fn::host_functions! { pub fn größe(); } }
mod o { host_fn::host_functions! { pub const fn constant(); } }
mod p { host_fn::host_functions! { pub struct NoFunction; } }

fn main() {}
