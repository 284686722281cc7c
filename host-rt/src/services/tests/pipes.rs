//! Pipes.

use std::thread;

use std_calls::PipeEnds;

use super::*;

fn pipe(services: &Services) -> [u32; 2] {
    let mut ends = PipeEnds::default();
    services.pipe(&mut ends).unwrap();
    [ends.reader, ends.writer]
}

#[test]
fn bytes_pass_from_one_end_to_the_other() {
    let services = build(Services::builder());
    let [reader, writer] = pipe(&services);
    assert_eq!(services.file_write(writer, b"bytes").unwrap(), 5);
    let duplicate = services.duplicate(writer).unwrap() as u32;
    services.close(writer).unwrap();
    services.file_write(duplicate, b"more").unwrap();
    services.close(duplicate).unwrap();
    let mut bytes = [0; 16];
    assert_eq!(services.file_read(reader, &mut bytes).unwrap(), 9);
    assert_eq!(&bytes[..9], b"bytesmore");
    assert_eq!(services.file_read(reader, &mut bytes).unwrap(), 0);
}

#[test]
fn the_wrong_end_is_an_error() {
    let services = build(Services::builder());
    let [reader, writer] = pipe(&services);
    assert_eq!(number(services.file_read(writer, &mut [0])), libc::EBADF);
    assert_eq!(number(services.file_write(reader, b"x")), libc::EBADF);
    assert_eq!(number(services.seek(reader, 0, 0)), libc::ESPIPE);
    assert_eq!(number(services.file_set_mode(reader, 0o777)), libc::EACCES);
    services.close(reader).unwrap();
    assert_eq!(number(services.file_write(writer, b"x")), libc::EPIPE);
}

#[test]
fn a_reader_waits_for_a_writer() {
    let services = build(Services::builder());
    let [reader, writer] = pipe(&services);
    thread::scope(|scope| {
        let reading = scope.spawn(|| {
            let mut bytes = [0; 4];
            let count = services.file_read(reader, &mut bytes).unwrap();
            (count, bytes)
        });
        services.file_write(writer, b"late").unwrap();
        assert_eq!(reading.join().unwrap(), (4, *b"late"));
    });
}

#[test]
fn one_of_two_pipes_becomes_readable() {
    let services = build(Services::builder());
    let [first, to_first] = pipe(&services);
    let [second, to_second] = pipe(&services);
    let ready = || services.wait_readable(first, second).unwrap();
    services.file_write(to_second, b"x").unwrap();
    assert_eq!(ready(), 2);
    services.file_write(to_first, b"x").unwrap();
    assert_eq!(ready(), 3);
    services.file_read(second, &mut [0]).unwrap();
    assert_eq!(ready(), 1);
    services.file_read(first, &mut [0]).unwrap();
    // The end counts.
    services.close(to_second).unwrap();
    assert_eq!(ready(), 2);
    assert_eq!(number(services.wait_readable(first, 99)), libc::EBADF);
    assert_eq!(number(services.wait_readable(99, first)), libc::EBADF);
}

#[test]
fn both_ends_are_opened_or_none() {
    let services = build(Services::builder().open_files(3));
    let [reader, _writer] = pipe(&services);
    let mut ends = PipeEnds::default();
    assert_eq!(number(services.pipe(&mut ends)), libc::EMFILE);
    services.close(reader).unwrap();
    pipe(&services);
}
