//! Sockets, on this machine only.

use std::io::{BufRead, BufReader, ErrorKind, IoSlice, IoSliceMut, Read, Write};
use std::net::{
    IpAddr, Ipv4Addr, Ipv6Addr, Shutdown, SocketAddr, TcpListener, TcpStream, ToSocketAddrs,
    UdpSocket,
};
use std::thread;
use std::time::Duration;

const LOOPBACK: (Ipv4Addr, u16) = (Ipv4Addr::LOCALHOST, 0);

pub fn check() {
    echo();
    ends();
    timeouts();
    errors();
    options();
    datagrams();
    names();
}

/// Both ends of a connection.
fn connection() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind(LOOPBACK).expect("a port");
    let client = TcpStream::connect(listener.local_addr().expect("bound")).expect("connected");
    let (server, peer) = listener.accept().expect("a connection");
    assert_eq!(peer, client.local_addr().expect("connected"));
    assert_eq!(
        client.peer_addr().expect("connected"),
        server.local_addr().expect("connected")
    );
    (client, server)
}

/// A server that sends lines back, and a client, each in a thread.
fn echo() {
    let listener = TcpListener::bind("localhost:0").expect("a port");
    let address = listener.local_addr().expect("bound");
    println!("{} {}", address.ip().is_loopback(), address.port() > 0);
    let server = thread::spawn(move || {
        let mut lines = 0;
        for stream in listener.incoming().take(2) {
            let stream = stream.expect("a connection");
            let mut writer = stream.try_clone().expect("cloned");
            for line in BufReader::new(stream).lines() {
                writeln!(writer, "echo: {}", line.expect("a line")).expect("written");
                lines += 1;
            }
        }
        lines
    });
    let client = thread::spawn(move || {
        for round in 0..2 {
            let mut stream = TcpStream::connect(address).expect("connected");
            for n in 0..3 {
                writeln!(stream, "line {n} of {round}").expect("written");
            }
            stream.shutdown(Shutdown::Write).expect("shut down");
            let mut text = String::new();
            stream.read_to_string(&mut text).expect("text");
            print!("{text}");
        }
    });
    client.join().expect("joined");
    println!("{} lines", server.join().expect("joined"));

    // More than the buffers of a connection hold.
    let (mut client, mut server) = connection();
    let sender = thread::spawn(move || {
        let bytes: Vec<u8> = (0..3_000_000_u32).map(|n| (n % 251) as u8).collect();
        client.write_all(&bytes).expect("written");
    });
    let mut received = Vec::new();
    server.read_to_end(&mut received).expect("all");
    sender.join().expect("joined");
    let is_right = received
        .iter()
        .enumerate()
        .all(|(n, byte)| n as u32 % 251 == u32::from(*byte));
    println!("{} {is_right}", received.len());

    let (mut client, mut server) = connection();
    // One write and one read take as many of the buffers as the platform likes.
    let wrote = client.write_vectored(&[IoSlice::new(b"abc"), IoSlice::new(b"def")]);
    println!("{}", wrote.expect("written") >= 3);
    let (mut one, mut two) = ([0; 2], [0; 2]);
    let bufs = &mut [IoSliceMut::new(&mut one), IoSliceMut::new(&mut two)];
    println!("{}", server.read_vectored(bufs).expect("read") >= 2);
    println!("{one:?}");
}

/// Ends of connections.
fn ends() {
    let (client, mut server) = connection();
    let mut bytes = [0; 8];
    server.write_all(b"bytes").expect("written");
    println!("{:?} {bytes:?}", client.peek(&mut bytes[..2]));
    println!("{:?}", (&client).read_exact(&mut bytes[..5]));
    println!("{bytes:?}");
    drop(server);
    println!("{:?}", (&client).read(&mut bytes));

    // A peer that disconnects with data unread.
    let (mut client, server) = connection();
    client.write_all(b"unread").expect("written");
    let mut byte = [0];
    println!("{:?}", server.peek(&mut byte));
    drop(server);
    println!(
        "{:?}",
        client.read(&mut bytes).map_err(|error| error.kind())
    );
    println!("{:?}", client.write(b"x").map_err(|error| error.kind()));

    let (client, server) = connection();
    client.shutdown(Shutdown::Both).expect("shut down");
    println!(
        "{:?} {:?}",
        (&client).write(b"x"),
        (&server).read(&mut bytes)
    );
}

fn timeouts() {
    let (client, _server) = connection();
    println!("{:?}", client.read_timeout());
    client
        .set_read_timeout(Some(Duration::from_millis(20)))
        .expect("set");
    client
        .set_write_timeout(Some(Duration::from_secs(3)))
        .expect("set");
    println!("{:?} {:?}", client.read_timeout(), client.write_timeout());
    println!("{:?}", (&client).read(&mut [0]));
    println!("{:?}", client.set_read_timeout(Some(Duration::ZERO)));
    client.set_read_timeout(None).expect("set");
    println!("{:?}", client.read_timeout());
    client.set_nonblocking(true).expect("set");
    println!("{:?}", (&client).read(&mut [0]));
    client.set_nonblocking(false).expect("set");

    let listener = TcpListener::bind(LOOPBACK).expect("a port");
    listener.set_nonblocking(true).expect("set");
    println!("{:?}", listener.accept().map(drop));
    let address = listener.local_addr().expect("bound");
    let connected = TcpStream::connect_timeout(&address, Duration::from_secs(60));
    println!("{:?}", connected.map(drop));
    println!(
        "{:?}",
        TcpStream::connect_timeout(&address, Duration::ZERO).map(drop)
    );

    let socket = UdpSocket::bind(LOOPBACK).expect("a port");
    socket
        .set_read_timeout(Some(Duration::from_millis(20)))
        .expect("set");
    println!("{:?} {:?}", socket.read_timeout(), socket.write_timeout());
    println!("{:?}", socket.recv_from(&mut [0]));
}

fn errors() {
    let listener = TcpListener::bind(LOOPBACK).expect("a port");
    let address = listener.local_addr().expect("bound");
    println!("{:?}", TcpListener::bind(address).map(drop));
    // It is in use, but nobody listens there.
    let (client, _server) = connection();
    let closed = client.local_addr().expect("connected");
    println!("{:?}", TcpStream::connect(closed).map(drop));
    let refused = TcpStream::connect_timeout(&closed, Duration::from_secs(60)).map(drop);
    println!("{:?}", refused.map_err(|error| error.kind()));
    let foreign = SocketAddr::from(([192, 0, 2, 1], 0));
    println!("{:?}", UdpSocket::bind(foreign).map(drop));
    println!(
        "{:?}",
        TcpListener::bind(&[][..] as &[SocketAddr]).map(drop)
    );
    // The second address is used.
    let stream = TcpStream::connect(&[closed, address][..]).expect("connected");
    println!("{}", stream.peer_addr().expect("connected") == address);
}

fn options() {
    let (client, _server) = connection();
    println!("{:?}", client.nodelay());
    client.set_nodelay(true).expect("set");
    client.set_ttl(33).expect("set");
    println!("{:?} {:?}", client.nodelay(), client.ttl());
    println!("{:?}", client.take_error().map(|error| error.is_none()));
    let text = format!("{client:?}");
    let text = text.replace(|c: char| c.is_ascii_digit(), "");
    println!("{text}");

    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).expect("a port");
    println!("{:?} {:?}", socket.broadcast(), socket.multicast_loop_v4());
    socket.set_broadcast(true).expect("set");
    socket.set_multicast_loop_v4(false).expect("set");
    socket.set_multicast_ttl_v4(5).expect("set");
    println!(
        "{:?} {:?} {:?}",
        socket.broadcast(),
        socket.multicast_loop_v4(),
        socket.multicast_ttl_v4()
    );
    let group = Ipv4Addr::new(239, 1, 2, 3);
    for _ in 0..2 {
        println!(
            "{:?}",
            socket.join_multicast_v4(&group, &Ipv4Addr::LOCALHOST)
        );
    }
    for _ in 0..2 {
        println!(
            "{:?}",
            socket.leave_multicast_v4(&group, &Ipv4Addr::LOCALHOST)
        );
    }
    println!(
        "{:?}",
        socket.join_multicast_v4(&Ipv4Addr::LOCALHOST, &Ipv4Addr::LOCALHOST)
    );
    let six = UdpSocket::bind((Ipv6Addr::LOCALHOST, 0)).and_then(|socket| {
        socket.set_multicast_loop_v6(false)?;
        socket.multicast_loop_v6()
    });
    println!("{six:?}");
}

fn datagrams() {
    let [one, two] = [(), ()].map(|()| UdpSocket::bind(LOOPBACK).expect("a port"));
    let [at_one, at_two] = [&one, &two].map(|socket| socket.local_addr().expect("bound"));
    println!("{:?}", one.peer_addr().map(drop));
    println!("{:?}", one.send(b"x"));
    let mut bytes = [0; 8];
    println!("{:?}", one.send_to(b"datagram", at_two));
    for peek in [true, false] {
        let received = if peek {
            two.peek_from(&mut bytes)
        } else {
            two.recv_from(&mut bytes)
        };
        let (count, sender) = received.expect("received");
        println!("{count} {} {:?}", sender == at_one, bytes);
    }
    two.connect(at_one).expect("connected");
    one.connect(at_two).expect("connected");
    println!("{}", two.peer_addr().expect("connected") == at_one);
    let clone = two.try_clone().expect("cloned");
    let sender = thread::spawn(move || {
        (0..3)
            .map(|n| clone.send(&[n; 5]).expect("sent"))
            .sum::<usize>()
    });
    println!("{}", sender.join().expect("joined"));
    println!(
        "{:?} {:?}",
        one.peek(&mut bytes[..2]),
        one.recv(&mut bytes[..3])
    );
    println!("{bytes:?}");
    println!("{:?} {:?}", one.recv(&mut bytes), one.recv(&mut bytes));
    println!("{:?}", one.send(&vec![0; 1 << 17]));
    drop(two);
}

fn names() {
    let mut found: Vec<_> = ("localhost", 80)
        .to_socket_addrs()
        .expect("found")
        .collect();
    found.sort_unstable();
    found.dedup();
    println!("{found:?}");
    println!(
        "{:?}",
        "127.0.0.1:8080"
            .to_socket_addrs()
            .expect("an address")
            .collect::<Vec<_>>()
    );
    // Its part is too long: no server is asked.
    let long = "a".repeat(70);
    println!("{:?}", (&*long, 80).to_socket_addrs().map(drop));
    for invalid in ["localhost", "localhost:port", "local\0host:80"] {
        println!("{:?}", invalid.to_socket_addrs().map(drop));
    }
    println!("{:?}", "::1".parse::<IpAddr>());
}

/// More threads than usual wait in calls, each for the next one.
pub fn many() {
    const THREADS: usize = 18;
    let listeners: Vec<_> = (0..THREADS)
        .map(|_| TcpListener::bind(LOOPBACK).expect("a port"))
        .collect();
    let addresses: Vec<_> = listeners
        .iter()
        .map(|l| l.local_addr().expect("bound"))
        .collect();
    let mut next = addresses.clone();
    next.rotate_left(1);
    let first = addresses[0];
    let threads: Vec<_> = listeners
        .into_iter()
        .zip(next)
        .map(|(listener, next)| {
            thread::spawn(move || {
                let (mut stream, _) = listener.accept().expect("a connection");
                let mut count = [0];
                stream.read_exact(&mut count).expect("a byte");
                if next != first {
                    let mut stream = TcpStream::connect(next).expect("connected");
                    stream.write_all(&[count[0] + 1]).expect("written");
                }
                count[0]
            })
        })
        .collect();
    let mut stream = TcpStream::connect(first).expect("connected");
    stream.write_all(&[1]).expect("written");
    let counts: Vec<_> = threads
        .into_iter()
        .map(|t| t.join().expect("joined"))
        .collect();
    println!("{counts:?}");
}

/// Operations that are denied to a program without permission.
pub fn denied(address: &str) {
    let address: SocketAddr = address.parse().expect("an address");
    let kind = |error: std::io::Error| {
        (
            error.kind() == ErrorKind::PermissionDenied,
            error.raw_os_error(),
        )
    };
    println!(
        "connect {:?}",
        TcpStream::connect(address).map(drop).map_err(kind)
    );
    println!(
        "listen {:?}",
        TcpListener::bind(LOOPBACK).map(drop).map_err(kind)
    );
    println!(
        "bind {:?}",
        UdpSocket::bind(LOOPBACK).map(drop).map_err(kind)
    );
    println!(
        "look up {:?}",
        "localhost:80".to_socket_addrs().map(drop).map_err(kind)
    );
}
