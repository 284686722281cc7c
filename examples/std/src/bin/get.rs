//! get URL: prints what an HTTP server answers. The status goes to the standard error.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::ExitCode;
use std::{env, error};

fn main() -> Result<ExitCode, Box<dyn error::Error>> {
    let url = env::args()
        .nth(1)
        .ok_or("usage: get http://HOST[:PORT]/PATH")?;
    let rest = url
        .strip_prefix("http://")
        .ok_or_else(|| format!("`{url}`: only http:// is supported"))?;
    let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
    let address = if host.contains(':') {
        host.to_owned()
    } else {
        format!("{host}:80")
    };
    let mut stream = TcpStream::connect(&address).map_err(|error| format!("{address}: {error}"))?;
    // HTTP/1.0: the server closes the connection after its answer.
    write!(stream, "GET /{path} HTTP/1.0\r\nHost: {host}\r\n\r\n")?;
    let mut answer = BufReader::new(stream);
    let mut status = String::new();
    answer.read_line(&mut status)?;
    eprintln!("{}", status.trim_end());
    let mut length = None;
    loop {
        let mut header = String::new();
        answer.read_line(&mut header)?;
        let header = header.trim_end();
        if header.is_empty() {
            break;
        }
        if let Some((name, value)) = header.split_once(':')
            && name.eq_ignore_ascii_case("content-length")
        {
            length = Some(value.trim().parse()?);
        }
    }
    let wanted = length.unwrap_or(u64::MAX);
    let got = io::copy(&mut answer.take(wanted), &mut io::stdout().lock())?;
    if length.is_some_and(|length| got < length) {
        return Err(
            format!("the server closed the connection after {got} of {wanted} bytes").into(),
        );
    }
    let is_ok = status
        .split(' ')
        .nth(1)
        .is_some_and(|code| code.starts_with('2'));
    Ok(if is_ok {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}
