//! serve ADDRESS FOLDER: serves the files of a folder by HTTP. Each connection has its own thread.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Component, Path};
use std::sync::Arc;
use std::{env, error, thread};

fn main() -> Result<(), Box<dyn error::Error>> {
    let mut arguments = env::args().skip(1);
    let (Some(address), Some(folder)) = (arguments.next(), arguments.next()) else {
        return Err("usage: serve ADDRESS FOLDER".into());
    };
    let listener = TcpListener::bind(&address).map_err(|error| format!("{address}: {error}"))?;
    println!("http://{}/", listener.local_addr()?);
    let folder: Arc<Path> = Path::new(&folder).into();
    for stream in listener.incoming() {
        // The stream stays here until a thread runs: where none is idle, this one answers.
        let stream = Arc::new(stream?);
        let (thread_stream, thread_folder) = (Arc::clone(&stream), Arc::clone(&folder));
        let answer = move || report(answer(&thread_stream, &thread_folder));
        if thread::Builder::new().spawn(answer).is_err() {
            report(self::answer(&stream, &folder));
        }
    }
    Ok(())
}

fn report(answered: io::Result<()>) {
    if let Err(error) = answered {
        eprintln!("a connection: {error}");
    }
}

/// Answers one request.
fn answer(mut stream: &TcpStream, folder: &Path) -> io::Result<()> {
    let mut lines = BufReader::new(stream).lines();
    let request = lines.next().transpose()?.unwrap_or_default();
    while lines
        .next()
        .transpose()?
        .is_some_and(|header| !header.is_empty())
    {}
    let mut words = request.split(' ');
    let path = match (words.next(), words.next()) {
        (Some("GET"), Some(path)) => Path::new(path.trim_start_matches('/')),
        _ => return refuse(stream, "400 Bad Request"),
    };
    // Nothing outside the folder.
    if !path
        .components()
        .all(|part| matches!(part, Component::Normal(_)))
    {
        return refuse(stream, "404 Not Found");
    }
    let file = File::open(folder.join(path)).and_then(|file| Ok((file.metadata()?, file)));
    let Ok((metadata, mut file)) = file else {
        return refuse(stream, "404 Not Found");
    };
    if !metadata.is_file() {
        return refuse(stream, "404 Not Found");
    }
    write!(
        stream,
        "HTTP/1.0 200 OK\r\nContent-Length: {}\r\n\r\n",
        metadata.len()
    )?;
    io::copy(&mut file, &mut stream)?;
    Ok(())
}

fn refuse(mut stream: &TcpStream, status: &str) -> io::Result<()> {
    write!(stream, "HTTP/1.0 {status}\r\nContent-Length: 0\r\n\r\n")
}
