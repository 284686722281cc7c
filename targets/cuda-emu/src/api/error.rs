//! Names and descriptions of codes.

use std::ffi::{CStr, c_char};

use crate::code::{Answer, Code, TEXTS};
use crate::driver::answer;
use crate::pointers::Out;

fn text(
    code: u32,
    choose: fn(&(Code, &'static str, &'static str)) -> &'static str,
    to: Out<*const c_char>,
) -> Answer {
    let known = TEXTS.iter().find(|(known, ..)| known.0 == code);
    let text = known.and_then(|known| CStr::from_bytes_with_nul(choose(known).as_bytes()).ok());
    to.set(text.map_or(std::ptr::null(), CStr::as_ptr))?;
    text.map(|_| ()).ok_or(Code::INVALID_VALUE)
}

pub extern "C" fn cuGetErrorName(code: u32, name: Out<*const c_char>) -> u32 {
    answer("cuGetErrorName", || text(code, |known| known.1, name))
}

pub extern "C" fn cuGetErrorString(code: u32, string: Out<*const c_char>) -> u32 {
    answer("cuGetErrorString", || text(code, |known| known.2, string))
}
