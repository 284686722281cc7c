//! Sockets of the host.

use super::each_addr;
use crate::fmt;
use crate::io::{self, BorrowedCursor, IoSlice, IoSliceMut};
use crate::net::{
    IpAddr, Ipv4Addr, Ipv6Addr, Shutdown, SocketAddr, SocketAddrV6, ToSocketAddrs,
};
use crate::sys::pal::host::*;
use crate::sys::pal::socket_option::*;
use crate::sys::pal::{
    Handle, LOOKUP_FAILED, SocketAddress, front, front_mut, result, shutdown,
};
use crate::time::Duration;
use crate::vec;

/// Room for the reason why a name has no addresses.
const REASON: usize = 256;

const NO_ADDRESS: SocketAddress =
    SocketAddress { ip: [0; 16], flow_info: 0, scope_id: 0, port: 0, version: 0 };

fn to_host(address: &SocketAddr) -> SocketAddress {
    match address {
        SocketAddr::V4(address) => {
            let mut ip = [0; 16];
            ip[..4].copy_from_slice(&address.ip().octets());
            SocketAddress { ip, port: address.port(), version: SocketAddress::V4, ..NO_ADDRESS }
        }
        SocketAddr::V6(address) => SocketAddress {
            ip: address.ip().octets(),
            flow_info: address.flowinfo(),
            scope_id: address.scope_id(),
            port: address.port(),
            version: SocketAddress::V6,
        },
    }
}

fn from_host(address: &SocketAddress) -> SocketAddr {
    let SocketAddress { ip, flow_info, scope_id, port, version } = *address;
    if version == SocketAddress::V6 {
        SocketAddrV6::new(Ipv6Addr::from(ip), port, flow_info, scope_id).into()
    } else {
        SocketAddr::new(Ipv4Addr::new(ip[0], ip[1], ip[2], ip[3]).into(), port)
    }
}

/// Nanoseconds for the host, for which 0 is no timeout.
fn nanoseconds(timeout: Duration) -> io::Result<u64> {
    if timeout.is_zero() {
        return Err(io::Error::ZERO_TIMEOUT);
    }
    Ok(u64::try_from(timeout.as_nanos()).unwrap_or(u64::MAX))
}

struct Socket(Handle);

impl Socket {
    fn new(returned: i64) -> io::Result<Socket> {
        Handle::new(returned).map(Socket)
    }

    fn number(&self) -> u32 {
        self.0.number()
    }

    fn duplicate(&self) -> io::Result<Socket> {
        Socket::new(std_duplicate(self.number()))
    }

    fn address(&self, of_peer: bool) -> io::Result<SocketAddr> {
        let mut address = NO_ADDRESS;
        result(std_socket_address(self.number(), of_peer.into(), &mut address))?;
        Ok(from_host(&address))
    }

    fn receive(&self, peek: bool, buf: &mut [u8]) -> io::Result<usize> {
        result(std_receive(self.number(), peek.into(), front_mut(buf))).map(|len| len as usize)
    }

    fn receive_from(&self, peek: bool, buf: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        let mut sender = NO_ADDRESS;
        let len = result(std_receive_from(self.number(), peek.into(), front_mut(buf), &mut sender))?;
        Ok((len as usize, from_host(&sender)))
    }

    fn send(&self, buf: &[u8]) -> io::Result<usize> {
        result(std_send(self.number(), front(buf))).map(|len| len as usize)
    }

    fn get(&self, option: u32) -> io::Result<u64> {
        result(std_socket_option(self.number(), option))
    }

    fn set(&self, option: u32, value: impl Into<u64>) -> io::Result<()> {
        result(std_set_socket_option(self.number(), option, value.into())).map(drop)
    }

    fn is_on(&self, option: u32) -> io::Result<bool> {
        self.get(option).map(|value| value != 0)
    }

    fn timeout(&self, option: u32) -> io::Result<Option<Duration>> {
        self.get(option).map(|nanos| (nanos > 0).then(|| Duration::from_nanos(nanos)))
    }

    fn set_timeout(&self, option: u32, timeout: Option<Duration>) -> io::Result<()> {
        self.set(option, timeout.map_or(Ok(0), nanoseconds)?)
    }

    fn take_error(&self) -> io::Result<Option<io::Error>> {
        let number = self.get(ERROR)? as i32;
        Ok((number != 0).then(|| io::Error::from_raw_os_error(number)))
    }

    fn multicast(&self, join: bool, group: IpAddr, interface: SocketAddr) -> io::Result<()> {
        let group = to_host(&SocketAddr::new(group, 0));
        let interface = to_host(&interface);
        result(std_multicast(self.number(), join.into(), &group, &interface)).map(drop)
    }

    fn multicast_v4(&self, join: bool, group: &Ipv4Addr, interface: &Ipv4Addr) -> io::Result<()> {
        self.multicast(join, (*group).into(), SocketAddr::new((*interface).into(), 0))
    }

    fn multicast_v6(&self, join: bool, group: &Ipv6Addr, interface: u32) -> io::Result<()> {
        let interface = SocketAddrV6::new(Ipv6Addr::UNSPECIFIED, 0, 0, interface);
        self.multicast(join, (*group).into(), interface.into())
    }

    /// As Unix shows sockets.
    fn show(&self, name: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut fields = f.debug_struct(name);
        if let Ok(address) = self.address(false) {
            fields.field("addr", &address);
        }
        if let Ok(peer) = self.address(true) {
            fields.field("peer", &peer);
        }
        fields.field("fd", &self.number()).finish()
    }
}

pub struct TcpStream(Socket);

impl TcpStream {
    pub fn connect<A: ToSocketAddrs>(address: A) -> io::Result<TcpStream> {
        each_addr(address, |address| {
            Socket::new(std_tcp_connect(&to_host(address), 0)).map(TcpStream)
        })
    }

    pub fn connect_timeout(address: &SocketAddr, timeout: Duration) -> io::Result<TcpStream> {
        let timeout = nanoseconds(timeout)?;
        Socket::new(std_tcp_connect(&to_host(address), timeout)).map(TcpStream)
    }

    pub fn set_read_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        self.0.set_timeout(READ_TIMEOUT, timeout)
    }

    pub fn set_write_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        self.0.set_timeout(WRITE_TIMEOUT, timeout)
    }

    pub fn read_timeout(&self) -> io::Result<Option<Duration>> {
        self.0.timeout(READ_TIMEOUT)
    }

    pub fn write_timeout(&self) -> io::Result<Option<Duration>> {
        self.0.timeout(WRITE_TIMEOUT)
    }

    pub fn peek(&self, buf: &mut [u8]) -> io::Result<usize> {
        self.0.receive(true, buf)
    }

    pub fn read(&self, buf: &mut [u8]) -> io::Result<usize> {
        self.0.receive(false, buf)
    }

    pub fn read_buf(&self, cursor: BorrowedCursor<'_>) -> io::Result<()> {
        io::default_read_buf(|buf| self.read(buf), cursor)
    }

    pub fn read_vectored(&self, bufs: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
        io::default_read_vectored(|buf| self.read(buf), bufs)
    }

    pub fn is_read_vectored(&self) -> bool {
        false
    }

    pub fn write(&self, buf: &[u8]) -> io::Result<usize> {
        self.0.send(buf)
    }

    pub fn write_vectored(&self, bufs: &[IoSlice<'_>]) -> io::Result<usize> {
        io::default_write_vectored(|buf| self.write(buf), bufs)
    }

    pub fn is_write_vectored(&self) -> bool {
        false
    }

    pub fn peer_addr(&self) -> io::Result<SocketAddr> {
        self.0.address(true)
    }

    pub fn socket_addr(&self) -> io::Result<SocketAddr> {
        self.0.address(false)
    }

    pub fn shutdown(&self, how: Shutdown) -> io::Result<()> {
        let how = match how {
            Shutdown::Read => shutdown::READ,
            Shutdown::Write => shutdown::WRITE,
            Shutdown::Both => shutdown::BOTH,
        };
        result(std_shutdown(self.0.number(), how)).map(drop)
    }

    pub fn duplicate(&self) -> io::Result<TcpStream> {
        self.0.duplicate().map(TcpStream)
    }

    pub fn set_linger(&self, linger: Option<Duration>) -> io::Result<()> {
        self.0.set(LINGER, linger.map_or(0, |time| time.as_secs().saturating_add(1)))
    }

    pub fn linger(&self) -> io::Result<Option<Duration>> {
        Ok(self.0.get(LINGER)?.checked_sub(1).map(Duration::from_secs))
    }

    pub fn set_nodelay(&self, on: bool) -> io::Result<()> {
        self.0.set(NO_DELAY, on)
    }

    pub fn nodelay(&self) -> io::Result<bool> {
        self.0.is_on(NO_DELAY)
    }

    pub fn set_ttl(&self, ttl: u32) -> io::Result<()> {
        self.0.set(TTL, ttl)
    }

    pub fn ttl(&self) -> io::Result<u32> {
        self.0.get(TTL).map(|ttl| ttl as u32)
    }

    pub fn take_error(&self) -> io::Result<Option<io::Error>> {
        self.0.take_error()
    }

    pub fn set_nonblocking(&self, on: bool) -> io::Result<()> {
        self.0.set(NONBLOCKING, on)
    }
}

impl fmt::Debug for TcpStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.show("TcpStream", f)
    }
}

pub struct TcpListener(Socket);

impl TcpListener {
    pub fn bind<A: ToSocketAddrs>(address: A) -> io::Result<TcpListener> {
        each_addr(address, |address| {
            Socket::new(std_tcp_listen(&to_host(address))).map(TcpListener)
        })
    }

    pub fn socket_addr(&self) -> io::Result<SocketAddr> {
        self.0.address(false)
    }

    pub fn accept(&self) -> io::Result<(TcpStream, SocketAddr)> {
        let mut peer = NO_ADDRESS;
        let stream = Socket::new(std_accept(self.0.number(), &mut peer))?;
        Ok((TcpStream(stream), from_host(&peer)))
    }

    pub fn duplicate(&self) -> io::Result<TcpListener> {
        self.0.duplicate().map(TcpListener)
    }

    pub fn set_ttl(&self, ttl: u32) -> io::Result<()> {
        self.0.set(TTL, ttl)
    }

    pub fn ttl(&self) -> io::Result<u32> {
        self.0.get(TTL).map(|ttl| ttl as u32)
    }

    pub fn set_only_v6(&self, on: bool) -> io::Result<()> {
        self.0.set(ONLY_V6, on)
    }

    pub fn only_v6(&self) -> io::Result<bool> {
        self.0.is_on(ONLY_V6)
    }

    pub fn take_error(&self) -> io::Result<Option<io::Error>> {
        self.0.take_error()
    }

    pub fn set_nonblocking(&self, on: bool) -> io::Result<()> {
        self.0.set(NONBLOCKING, on)
    }
}

impl fmt::Debug for TcpListener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.show("TcpListener", f)
    }
}

pub struct UdpSocket(Socket);

impl UdpSocket {
    pub fn bind<A: ToSocketAddrs>(address: A) -> io::Result<UdpSocket> {
        each_addr(address, |address| {
            Socket::new(std_udp_bind(&to_host(address))).map(UdpSocket)
        })
    }

    pub fn peer_addr(&self) -> io::Result<SocketAddr> {
        self.0.address(true)
    }

    pub fn socket_addr(&self) -> io::Result<SocketAddr> {
        self.0.address(false)
    }

    pub fn recv_from(&self, buf: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        self.0.receive_from(false, buf)
    }

    pub fn peek_from(&self, buf: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        self.0.receive_from(true, buf)
    }

    pub fn send_to(&self, buf: &[u8], address: &SocketAddr) -> io::Result<usize> {
        result(std_send_to(self.0.number(), front(buf), &to_host(address))).map(|len| len as usize)
    }

    pub fn duplicate(&self) -> io::Result<UdpSocket> {
        self.0.duplicate().map(UdpSocket)
    }

    pub fn set_read_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        self.0.set_timeout(READ_TIMEOUT, timeout)
    }

    pub fn set_write_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        self.0.set_timeout(WRITE_TIMEOUT, timeout)
    }

    pub fn read_timeout(&self) -> io::Result<Option<Duration>> {
        self.0.timeout(READ_TIMEOUT)
    }

    pub fn write_timeout(&self) -> io::Result<Option<Duration>> {
        self.0.timeout(WRITE_TIMEOUT)
    }

    pub fn set_broadcast(&self, on: bool) -> io::Result<()> {
        self.0.set(BROADCAST, on)
    }

    pub fn broadcast(&self) -> io::Result<bool> {
        self.0.is_on(BROADCAST)
    }

    pub fn set_multicast_loop_v4(&self, on: bool) -> io::Result<()> {
        self.0.set(MULTICAST_LOOP_V4, on)
    }

    pub fn multicast_loop_v4(&self) -> io::Result<bool> {
        self.0.is_on(MULTICAST_LOOP_V4)
    }

    pub fn set_multicast_ttl_v4(&self, ttl: u32) -> io::Result<()> {
        self.0.set(MULTICAST_TTL_V4, ttl)
    }

    pub fn multicast_ttl_v4(&self) -> io::Result<u32> {
        self.0.get(MULTICAST_TTL_V4).map(|ttl| ttl as u32)
    }

    pub fn set_multicast_loop_v6(&self, on: bool) -> io::Result<()> {
        self.0.set(MULTICAST_LOOP_V6, on)
    }

    pub fn multicast_loop_v6(&self) -> io::Result<bool> {
        self.0.is_on(MULTICAST_LOOP_V6)
    }

    pub fn join_multicast_v4(&self, group: &Ipv4Addr, interface: &Ipv4Addr) -> io::Result<()> {
        self.0.multicast_v4(true, group, interface)
    }

    pub fn join_multicast_v6(&self, group: &Ipv6Addr, interface: u32) -> io::Result<()> {
        self.0.multicast_v6(true, group, interface)
    }

    pub fn leave_multicast_v4(&self, group: &Ipv4Addr, interface: &Ipv4Addr) -> io::Result<()> {
        self.0.multicast_v4(false, group, interface)
    }

    pub fn leave_multicast_v6(&self, group: &Ipv6Addr, interface: u32) -> io::Result<()> {
        self.0.multicast_v6(false, group, interface)
    }

    pub fn set_ttl(&self, ttl: u32) -> io::Result<()> {
        self.0.set(TTL, ttl)
    }

    pub fn ttl(&self) -> io::Result<u32> {
        self.0.get(TTL).map(|ttl| ttl as u32)
    }

    pub fn take_error(&self) -> io::Result<Option<io::Error>> {
        self.0.take_error()
    }

    pub fn set_nonblocking(&self, on: bool) -> io::Result<()> {
        self.0.set(NONBLOCKING, on)
    }

    pub fn recv(&self, buf: &mut [u8]) -> io::Result<usize> {
        self.0.receive(false, buf)
    }

    pub fn peek(&self, buf: &mut [u8]) -> io::Result<usize> {
        self.0.receive(true, buf)
    }

    pub fn send(&self, buf: &[u8]) -> io::Result<usize> {
        self.0.send(buf)
    }

    pub fn connect<A: ToSocketAddrs>(&self, address: A) -> io::Result<()> {
        each_addr(address, |address| {
            result(std_udp_connect(self.0.number(), &to_host(address))).map(drop)
        })
    }
}

impl fmt::Debug for UdpSocket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.show("UdpSocket", f)
    }
}

pub struct LookupHost {
    addresses: vec::IntoIter<SocketAddress>,
    port: u16,
}

impl Iterator for LookupHost {
    type Item = SocketAddr;

    fn next(&mut self) -> Option<SocketAddr> {
        let mut address = from_host(&self.addresses.next()?);
        address.set_port(self.port);
        Some(address)
    }
}

pub fn lookup_host(host: &str, port: u16) -> io::Result<LookupHost> {
    if host.contains('\0') {
        return Err(io::const_error!(
            io::ErrorKind::InvalidInput,
            "file name contained an unexpected NUL byte",
        ));
    }
    let mut addresses = vec![NO_ADDRESS; 8];
    loop {
        let mut reason = [0; REASON];
        let returned = std_look_up(host.as_bytes(), &mut addresses, &mut reason);
        if returned == -i64::from(LOOKUP_FAILED) {
            let end = reason.iter().position(|byte| *byte == 0).unwrap_or(REASON);
            let reason = String::from_utf8_lossy(&reason[..end]);
            return Err(io::Error::new(io::ErrorKind::Uncategorized, reason));
        }
        let count = result(returned)? as usize;
        if count <= addresses.len() {
            addresses.truncate(count);
            return Ok(LookupHost { addresses: addresses.into_iter(), port });
        }
        addresses.resize(count, NO_ADDRESS);
    }
}
