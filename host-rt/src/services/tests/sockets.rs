//! Sockets, on this machine only.

use std::collections::BTreeSet;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, UdpSocket};
use std::os::fd::OwnedFd;
use std::thread;
use std::time::Duration;

use rustix::net::{AddressFamily, SocketType, getsockname, socket};
use std_calls::{LOOKUP_FAILED, SocketAddress, shutdown, socket_option as option};

use super::*;

fn networked() -> Arc<Services> {
    build(Services::builder().allow_all_network())
}

/// The loopback address with a port.
pub(super) fn loopback(port: u16) -> SocketAddress {
    SocketAddr::from((Ipv4Addr::LOCALHOST, port)).into()
}

fn handle(returned: io::Result<u64>) -> u32 {
    u32::try_from(returned.unwrap()).unwrap()
}

fn address(services: &Services, socket: u32, peer: u32) -> SocketAddress {
    let mut address = SocketAddress::default();
    services.socket_address(socket, peer, &mut address).unwrap();
    address
}

/// A listener and its address.
fn listener(services: &Services) -> (u32, SocketAddress) {
    let listener = handle(services.tcp_listen(&loopback(0)));
    (listener, address(services, listener, 0))
}

/// Both ends of a connection.
fn connection(services: &Services) -> [u32; 2] {
    let (listener, at) = listener(services);
    let client = handle(services.tcp_connect(&at, 0));
    let mut peer = SocketAddress::default();
    let server = handle(services.accept(listener, &mut peer));
    assert_eq!(peer, address(services, client, 0));
    services.close(listener).unwrap();
    [client, server]
}

/// Two UDP sockets and their addresses.
fn datagrams(services: &Services) -> [(u32, SocketAddress); 2] {
    [(), ()].map(|()| {
        let socket = handle(services.udp_bind(&loopback(0)));
        (socket, address(services, socket, 0))
    })
}

/// A TCP socket of this machine that does not listen, and its address.
fn closed() -> (OwnedFd, SocketAddress) {
    let socket = socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
    let any = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    rustix::net::bind(&socket, &any).unwrap();
    let address = SocketAddr::try_from(getsockname(&socket).unwrap()).unwrap();
    (socket, address.into())
}

#[test]
fn connections_carry_bytes_both_ways() {
    let services = networked();
    let [client, server] = connection(&services);
    assert_eq!(address(&services, client, 1), address(&services, server, 0));
    assert_eq!(services.send(client, b"hello world").unwrap(), 11);
    let mut bytes = [0; 5];
    assert_eq!(services.receive(server, 1, &mut bytes).unwrap(), 5);
    assert_eq!(&bytes, b"hello");
    assert_eq!(services.receive(server, 0, &mut bytes).unwrap(), 5);
    assert_eq!(&bytes, b"hello");
    let mut rest = [0; 16];
    assert_eq!(services.receive(server, 0, &mut rest).unwrap(), 6);
    assert_eq!(&rest[..6], b" world");
    assert_eq!(services.send(server, b"back").unwrap(), 4);
    let mut sender = SocketAddress::default();
    let received = services.receive_from(client, 0, &mut rest, &mut sender);
    assert_eq!(received.unwrap(), 4);
    assert_eq!(&rest[..4], b"back");
}

#[test]
fn a_closed_connection_ends() {
    let services = networked();
    let [client, server] = connection(&services);
    services.send(client, b"last").unwrap();
    services.close(client).unwrap();
    let mut bytes = [0; 8];
    assert_eq!(services.receive(server, 0, &mut bytes).unwrap(), 4);
    assert_eq!(services.receive(server, 0, &mut bytes).unwrap(), 0);
}

#[test]
fn a_peer_that_disconnects_is_an_error() {
    let services = networked();
    let [client, server] = connection(&services);
    // Closed at once, and reset.
    services
        .set_socket_option(server, option::LINGER, 1)
        .unwrap();
    services.close(server).unwrap();
    let mut bytes = [0; 8];
    assert_eq!(
        number(services.receive(client, 0, &mut bytes)),
        libc::ECONNRESET
    );
    assert_eq!(number(services.send(client, b"x")), libc::EPIPE);
}

#[test]
fn directions_are_closed() {
    let services = networked();
    let [client, server] = connection(&services);
    services.shutdown(client, shutdown::WRITE).unwrap();
    assert_eq!(services.receive(server, 0, &mut [0; 4]).unwrap(), 0);
    assert_eq!(number(services.send(client, b"x")), libc::EPIPE);
    services.send(server, b"still").unwrap();
    assert_eq!(services.receive(client, 0, &mut [0; 8]).unwrap(), 5);
    services.shutdown(client, shutdown::READ).unwrap();
    assert_eq!(services.receive(client, 0, &mut [0; 8]).unwrap(), 0);
    services.shutdown(server, shutdown::BOTH).unwrap();
    assert_eq!(number(services.shutdown(server, 3)), libc::EINVAL);
}

#[test]
fn connections_fail_with_the_numbers_of_linux() {
    let services = networked();
    let (_held, address) = closed();
    assert_eq!(number(services.tcp_listen(&address)), libc::EADDRINUSE);
    for timeout in [0, 60_000_000_000] {
        let refused = services.tcp_connect(&address, timeout);
        assert_eq!(number(refused), libc::ECONNREFUSED);
    }
    // Of a network for documentation: no machine has it.
    let foreign = SocketAddr::from(([192, 0, 2, 1], 0)).into();
    assert_eq!(number(services.tcp_listen(&foreign)), libc::EADDRNOTAVAIL);
    assert_eq!(number(services.udp_bind(&foreign)), libc::EADDRNOTAVAIL);
    let unknown = SocketAddress::default();
    for result in [
        services.tcp_connect(&unknown, 0),
        services.tcp_listen(&unknown),
        services.udp_bind(&unknown),
    ] {
        assert_eq!(number(result), libc::EAFNOSUPPORT);
    }
}

#[test]
fn a_connection_that_takes_too_long_fails() {
    let services = networked();
    // Nobody accepts, and the queue is full.
    let (listener, at) = closed();
    rustix::net::listen(&listener, 0).unwrap();
    let mut open = 0;
    let error = loop {
        match services.tcp_connect(&at, 100_000_000) {
            Ok(_) => open += 1,
            result => break number(result),
        }
        assert!(open < 100, "the queue takes all");
    };
    assert_eq!(error, libc::ETIMEDOUT);
}

#[test]
fn reads_time_out() {
    let services = networked();
    let [client, _server] = connection(&services);
    let [(socket, _), _] = datagrams(&services);
    for socket in [client, socket] {
        let set = services.set_socket_option(socket, option::READ_TIMEOUT, 20_000_000);
        set.unwrap();
        assert_eq!(
            number(services.receive(socket, 0, &mut [0; 4])),
            libc::EAGAIN
        );
    }
}

#[test]
fn without_blocking_nothing_waits() {
    let services = networked();
    let [client, _server] = connection(&services);
    let (listener, _) = listener(&services);
    for socket in [client, listener] {
        services
            .set_socket_option(socket, option::NONBLOCKING, 1)
            .unwrap();
    }
    assert_eq!(
        number(services.receive(client, 0, &mut [0; 4])),
        libc::EAGAIN
    );
    let mut peer = SocketAddress::default();
    assert_eq!(number(services.accept(listener, &mut peer)), libc::EAGAIN);
}

#[test]
fn datagrams_have_a_sender() {
    let services = networked();
    let [(one, at_one), (two, at_two)] = datagrams(&services);
    assert_eq!(services.send_to(one, b"datagram", &at_two).unwrap(), 8);
    let (mut bytes, mut sender) = ([0; 16], SocketAddress::default());
    for peek in [1, 0] {
        sender = SocketAddress::default();
        let count = services.receive_from(two, peek, &mut bytes, &mut sender);
        assert_eq!(count.unwrap(), 8);
        assert_eq!((&bytes[..8], sender), (&b"datagram"[..], at_one));
    }
    assert_eq!(number(services.send(two, b"x")), libc::EDESTADDRREQ);
    services.udp_connect(two, &sender).unwrap();
    assert_eq!(address(&services, two, 1), at_one);
    assert_eq!(services.send(two, b"back").unwrap(), 4);
    // Bytes of a datagram beyond the buffer are dropped.
    assert_eq!(services.receive(one, 0, &mut bytes[..2]).unwrap(), 2);
    assert_eq!(&bytes[..2], b"ba");
    assert_eq!(services.send_to(one, b"", &at_two).unwrap(), 0);
    assert_eq!(services.receive(two, 0, &mut bytes).unwrap(), 0);
    let large = vec![0; 1 << 17];
    assert_eq!(
        number(services.send_to(one, &large, &at_two)),
        libc::EMSGSIZE
    );
}

#[test]
fn options_are_read_as_they_were_set() {
    let services = networked();
    let [client, _server] = connection(&services);
    let [(datagrams, _), _] = datagrams(&services);
    let is_kept = |socket, option, value| {
        services.set_socket_option(socket, option, value).unwrap();
        assert_eq!(
            services.socket_option(socket, option).unwrap(),
            value,
            "{option}"
        );
    };
    for socket in [client, datagrams] {
        // The clock of timeouts may tick a hundred times a second.
        is_kept(socket, option::READ_TIMEOUT, 5_000_000_000);
        is_kept(socket, option::WRITE_TIMEOUT, 7_000_000_000);
        is_kept(socket, option::READ_TIMEOUT, 0);
        is_kept(socket, option::TTL, 33);
        services
            .set_socket_option(socket, option::READ_TIMEOUT, u64::MAX)
            .unwrap();
        services
            .socket_option(socket, option::READ_TIMEOUT)
            .unwrap();
    }
    for value in [0, 1, 4] {
        is_kept(client, option::LINGER, value);
    }
    for value in [1, 0] {
        is_kept(client, option::NO_DELAY, value);
        is_kept(datagrams, option::BROADCAST, value);
        is_kept(datagrams, option::MULTICAST_LOOP_V4, value);
    }
    is_kept(datagrams, option::MULTICAST_TTL_V4, 3);
    assert_eq!(services.socket_option(client, option::ERROR).unwrap(), 0);
    let invalid = services.set_socket_option(client, option::TTL, 1 << 32);
    assert_eq!(number(invalid), libc::EINVAL);
    for option in [option::NONBLOCKING, 99] {
        assert_eq!(number(services.socket_option(client, option)), libc::EINVAL);
    }
    for option in [option::ERROR, 99] {
        assert_eq!(
            number(services.set_socket_option(client, option, 0)),
            libc::EINVAL
        );
    }
    services
        .set_socket_option(client, option::LINGER, u64::MAX)
        .unwrap();
}

#[test]
fn a_pending_error_is_read_once() {
    let services = networked();
    let [(socket, _), (other, at)] = datagrams(&services);
    services.close(other).unwrap();
    services.udp_connect(socket, &at).unwrap();
    services.send(socket, b"to nobody").unwrap();
    let error = || services.socket_option(socket, option::ERROR).unwrap();
    assert_eq!(error(), libc::ECONNREFUSED as u64);
    assert_eq!(error(), 0);
}

#[test]
fn addresses_of_version_6_work_where_the_machine_has_them() {
    let services = networked();
    let any = SocketAddr::from((Ipv6Addr::LOCALHOST, 0));
    if UdpSocket::bind(any).is_err() {
        return eprintln!("skipped: this machine has no IPv6");
    }
    let listener = handle(services.tcp_listen(&any.into()));
    let at = address(&services, listener, 0);
    assert_eq!(at.version, SocketAddress::V6);
    services.tcp_connect(&at, 0).unwrap();
    for option in [option::ONLY_V6, option::MULTICAST_LOOP_V6] {
        let socket = handle(services.udp_bind(&any.into()));
        services.socket_option(socket, option).unwrap();
    }
    let socket = handle(services.udp_bind(&any.into()));
    services
        .set_socket_option(socket, option::MULTICAST_LOOP_V6, 0)
        .unwrap();
    assert_eq!(
        services
            .socket_option(socket, option::MULTICAST_LOOP_V6)
            .unwrap(),
        0
    );
    // Only before it is bound.
    let bound = services.set_socket_option(socket, option::ONLY_V6, 1);
    assert_eq!(number(bound), libc::EINVAL);
}

#[test]
fn groups_are_joined_and_left() {
    let services = networked();
    let any: SocketAddress = SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0)).into();
    let socket = handle(services.udp_bind(&any));
    let group: SocketAddress = SocketAddr::from(([239, 1, 2, 3], 0)).into();
    let member = |join| services.multicast(socket, join, &group, &loopback(0));
    member(1).unwrap();
    assert_eq!(number(member(1)), libc::EADDRINUSE);
    member(0).unwrap();
    assert_eq!(number(member(0)), libc::EADDRNOTAVAIL);
    let no_group = services.multicast(socket, 1, &loopback(0), &loopback(0));
    assert_eq!(number(no_group), libc::EINVAL);
    let v6: SocketAddress = SocketAddr::from((Ipv6Addr::LOCALHOST, 0)).into();
    assert_eq!(
        number(services.multicast(socket, 1, &group, &v6)),
        libc::EINVAL
    );
}

#[test]
fn duplicates_are_the_same_socket() {
    let services = networked();
    let [client, server] = connection(&services);
    let duplicate = handle(services.duplicate(client));
    services.close(client).unwrap();
    services.send(duplicate, b"x").unwrap();
    assert_eq!(services.receive(server, 0, &mut [0; 4]).unwrap(), 1);
}

#[test]
fn handles_of_another_kind_are_rejected() {
    let folder = TempFolder::new();
    folder.file("file", "");
    let builder = Services::builder()
        .directory(&folder.0)
        .allow_read(&folder.0);
    let services = build(builder.allow_all_network());
    let file = opened(&services, "file", open::READ);
    let mut at = loopback(0);
    assert_eq!(number(services.send(file, b"x")), libc::ENOTSOCK);
    assert_eq!(number(services.receive(file, 0, &mut [0])), libc::ENOTSOCK);
    assert_eq!(number(services.accept(file, &mut at)), libc::ENOTSOCK);
    assert_eq!(number(services.send(99, b"x")), libc::EBADF);
    let [client, _server] = connection(&services);
    assert_eq!(number(services.accept(client, &mut at)), libc::EINVAL);
    assert_eq!(number(services.file_read(client, &mut [0])), libc::EINVAL);
    assert_eq!(
        number(services.next_entries(client, &mut [0])),
        libc::ENOTDIR
    );
    let (listener, _) = listener(&services);
    assert_eq!(number(services.send(listener, b"x")), libc::EPIPE);
    assert_eq!(
        number(services.socket_address(listener, 1, &mut at)),
        libc::ENOTCONN
    );
}

#[test]
fn sockets_count_as_open_files() {
    let services = build(Services::builder().allow_all_network().open_files(2));
    let (listener, at) = listener(&services);
    services.tcp_connect(&at, 0).unwrap();
    let mut peer = SocketAddress::default();
    assert_eq!(number(services.accept(listener, &mut peer)), libc::EMFILE);
    assert_eq!(number(services.udp_bind(&loopback(0))), libc::EMFILE);
}

/// A call that waits delays no other.
#[test]
fn many_calls_wait_at_the_same_time() {
    let services = networked();
    let (listener, at) = listener(&services);
    thread::scope(|scope| {
        let accepting: Vec<_> = (0..40)
            .map(|_| {
                scope.spawn(|| {
                    let mut peer = SocketAddress::default();
                    let stream = handle(services.accept(listener, &mut peer));
                    let mut byte = [0];
                    assert_eq!(services.receive(stream, 0, &mut byte).unwrap(), 1);
                    (peer.port, byte[0])
                })
            })
            .collect();
        let connected: BTreeSet<_> = (0..40)
            .map(|n| {
                let stream = handle(services.tcp_connect(&at, 0));
                services.send(stream, &[n]).unwrap();
                (address(&services, stream, 0).port, n)
            })
            .collect();
        let accepted: BTreeSet<_> = accepting.into_iter().map(|t| t.join().unwrap()).collect();
        assert_eq!(accepted, connected);
    });
}

/// Looks a name up with room for `room` addresses.
fn look_up(services: &Services, name: &[u8], room: usize) -> io::Result<Vec<SocketAddr>> {
    let mut addresses = vec![SocketAddress::default(); room];
    let count = services.look_up(name, &mut addresses, &mut [0; 64])?;
    addresses.truncate(count as usize);
    Ok(addresses.iter().map(|a| a.get().unwrap()).collect())
}

#[test]
fn the_name_of_this_machine_is_found() {
    let services = networked();
    let found = look_up(&services, b"localhost", 16).unwrap();
    assert!(!found.is_empty());
    assert!(
        found.iter().all(|a| a.ip().is_loopback() && a.port() == 0),
        "{found:?}"
    );
    let count = services.look_up(b"localhost", &mut [], &mut []).unwrap();
    assert_eq!(count, found.len() as u64);
    let mut reason = [0xee; 64];
    // A name that no server is asked about: its part is too long.
    let long = [b'a'; 70];
    let failed = services.look_up(&long, &mut [], &mut reason);
    assert_eq!(number(failed), LOOKUP_FAILED);
    let end = reason.iter().position(|byte| *byte == 0).unwrap();
    let reason = String::from_utf8_lossy(&reason[..end]);
    assert!(
        reason.starts_with("failed to lookup address information"),
        "{reason}"
    );
    for invalid in [&b"a\0b"[..], &[0xff]] {
        assert_eq!(number(look_up(&services, invalid, 1)), libc::EINVAL);
    }
}

#[test]
fn without_permission_there_is_no_network() {
    let services = build(Services::builder().allow_all_files());
    let held = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let at = held.local_addr().unwrap().into();
    for result in [
        services.tcp_connect(&at, 0),
        services.tcp_connect(&at, 1),
        services.tcp_listen(&loopback(0)),
        services.udp_bind(&loopback(0)),
        services.look_up(b"localhost", &mut [], &mut []),
    ] {
        assert_eq!(number(result), libc::EACCES);
    }
    held.set_nonblocking(true).unwrap();
    assert_eq!(held.accept().unwrap_err().kind(), io::ErrorKind::WouldBlock);
}

#[test]
fn each_address_is_checked() {
    let held = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let allowed = held.local_addr().unwrap();
    let at = allowed.into();
    let builder = Services::builder().allow_net(allowed.to_string());
    let services = build(builder.allow_net("127.0.0.1:0"));
    services.tcp_connect(&at, 0).unwrap();
    held.accept().unwrap();
    let socket = handle(services.udp_bind(&loopback(0)));
    services.udp_connect(socket, &at).unwrap();
    services.send_to(socket, b"x", &at).unwrap();
    let other = loopback(at.port ^ 1);
    let group: SocketAddress = SocketAddr::from(([239, 1, 2, 3], 0)).into();
    for (name, denied) in [
        ("connect", services.tcp_connect(&other, 0)),
        ("listen", services.tcp_listen(&other)),
        ("bind", services.udp_bind(&other)),
        ("connect UDP", services.udp_connect(socket, &other)),
        ("send to", services.send_to(socket, b"x", &other)),
        ("join", services.multicast(socket, 1, &group, &loopback(0))),
        ("look up", services.look_up(b"127.0.0.1", &mut [], &mut [])),
    ] {
        assert_eq!(number(denied), libc::EACCES, "{name}");
    }
}

#[test]
fn a_name_permits_its_addresses() {
    let services = build(Services::builder().allow_net("localhost"));
    assert!(!look_up(&services, b"LocalHost", 8).unwrap().is_empty());
    let (_, at) = listener(&services);
    services
        .tcp_connect(&at, Duration::from_secs(60).as_nanos() as u64)
        .unwrap();
    let any: SocketAddress = SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0)).into();
    assert_eq!(number(services.tcp_listen(&any)), libc::EACCES);
    assert_eq!(number(services.udp_bind(&any)), libc::EACCES);
}
