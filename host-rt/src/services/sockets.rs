//! Sockets.
//!
//! An address is copied from the device's memory before it is checked.

use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;

use rustix::net::{
    RecvFlags, SendFlags, Shutdown, SocketAddrAny, SocketFlags, acceptfrom_with, connect,
    getpeername, getsockname, recv, recvfrom, send, sendto, sockopt,
};
use std_calls::{LOOKUP_FAILED, SocketAddress, shutdown};

use super::Services;
use super::errno::{errno, retry};
use super::handles::Handle;
use super::process::fill;

/// The address that a device passes.
fn copied(address: &SocketAddress) -> io::Result<SocketAddr> {
    address.get().ok_or_else(|| errno(libc::EAFNOSUPPORT))
}

/// The address that a device gets.
fn returned(address: SocketAddrAny) -> io::Result<SocketAddress> {
    Ok(SocketAddr::try_from(address)?.into())
}

fn socket(socket: impl Into<OwnedFd>) -> Handle {
    Handle::Socket(Arc::new(socket.into()))
}

fn receive_flags(peek: u32) -> RecvFlags {
    if peek == 0 {
        RecvFlags::empty()
    } else {
        RecvFlags::PEEK
    }
}

impl Services {
    pub(super) fn look_up(
        &self,
        host: &[u8],
        addresses: &mut [SocketAddress],
        reason: &mut [u8],
    ) -> io::Result<u64> {
        let host = String::from_utf8(host.to_vec()).map_err(|_| errno(libc::EINVAL))?;
        if host.contains('\0') {
            return Err(errno(libc::EINVAL));
        }
        match self.network.look_up(&host) {
            Ok(found) => {
                for (address, found) in addresses.iter_mut().zip(&found) {
                    *address = (*found).into();
                }
                Ok(found.len() as u64)
            }
            Err(error) if error.raw_os_error().is_some() => Err(error),
            // The resolver's errors have no number, only a text.
            Err(error) => {
                fill(reason, format!("{error}\0").as_bytes());
                Err(errno(LOOKUP_FAILED))
            }
        }
    }

    pub(super) fn tcp_connect(&self, address: &SocketAddress, timeout: u64) -> io::Result<u64> {
        let address = copied(address)?;
        self.network.check_remote(address)?;
        self.handles.insert(|| {
            let stream = match timeout {
                0 => TcpStream::connect(address),
                nanos => TcpStream::connect_timeout(&address, Duration::from_nanos(nanos)),
            };
            stream.map(socket)
        })
    }

    pub(super) fn tcp_listen(&self, address: &SocketAddress) -> io::Result<u64> {
        let address = copied(address)?;
        self.network.check_local(address)?;
        self.handles
            .insert(|| TcpListener::bind(address).map(socket))
    }

    pub(super) fn accept(&self, listener: u32, peer: &mut SocketAddress) -> io::Result<u64> {
        let listener = self.handles.socket(listener)?;
        self.handles.insert(|| {
            let accept = || Ok(acceptfrom_with(&listener, SocketFlags::CLOEXEC)?);
            let (accepted, address) = retry(accept)?;
            *peer = returned(address.ok_or_else(|| errno(libc::EAFNOSUPPORT))?)?;
            Ok(socket(accepted))
        })
    }

    pub(super) fn udp_bind(&self, address: &SocketAddress) -> io::Result<u64> {
        let address = copied(address)?;
        self.network.check_local(address)?;
        self.handles.insert(|| UdpSocket::bind(address).map(socket))
    }

    pub(super) fn udp_connect(&self, socket: u32, address: &SocketAddress) -> io::Result<u64> {
        let socket = self.handles.socket(socket)?;
        let address = copied(address)?;
        self.network.check_remote(address)?;
        retry(|| Ok(connect(&socket, &address)?))?;
        Ok(0)
    }

    pub(super) fn send(&self, socket: u32, bytes: &[u8]) -> io::Result<u64> {
        let socket = self.handles.socket(socket)?;
        let count = retry(|| Ok(send(&socket, bytes, SendFlags::NOSIGNAL)?))?;
        Ok(count as u64)
    }

    pub(super) fn send_to(
        &self,
        socket: u32,
        bytes: &[u8],
        address: &SocketAddress,
    ) -> io::Result<u64> {
        let socket = self.handles.socket(socket)?;
        let address = copied(address)?;
        self.network.check_remote(address)?;
        let count = retry(|| Ok(sendto(&socket, bytes, SendFlags::NOSIGNAL, &address)?))?;
        Ok(count as u64)
    }

    pub(super) fn receive(&self, socket: u32, peek: u32, bytes: &mut [u8]) -> io::Result<u64> {
        let socket = self.handles.socket(socket)?;
        let (count, _) = retry(|| Ok(recv(&socket, &mut *bytes, receive_flags(peek))?))?;
        Ok(count as u64)
    }

    pub(super) fn receive_from(
        &self,
        socket: u32,
        peek: u32,
        bytes: &mut [u8],
        sender: &mut SocketAddress,
    ) -> io::Result<u64> {
        let socket = self.handles.socket(socket)?;
        let receive = || Ok(recvfrom(&socket, &mut *bytes, receive_flags(peek))?);
        let (count, _, address) = retry(receive)?;
        // A TCP connection has the address of its peer only.
        if let Some(address) = address {
            *sender = returned(address)?;
        }
        Ok(count as u64)
    }

    pub(super) fn shutdown(&self, socket: u32, how: u32) -> io::Result<u64> {
        let socket = self.handles.socket(socket)?;
        let how = match how {
            shutdown::READ => Shutdown::Read,
            shutdown::WRITE => Shutdown::Write,
            shutdown::BOTH => Shutdown::Both,
            _ => return Err(errno(libc::EINVAL)),
        };
        rustix::net::shutdown(&socket, how)?;
        Ok(0)
    }

    pub(super) fn socket_address(
        &self,
        socket: u32,
        peer: u32,
        address: &mut SocketAddress,
    ) -> io::Result<u64> {
        let socket = self.handles.socket(socket)?;
        let found = match peer {
            0 => getsockname(&socket)?,
            _ => getpeername(&socket)?.ok_or_else(|| errno(libc::ENOTCONN))?,
        };
        *address = returned(found)?;
        Ok(0)
    }

    /// Joins or leaves a multicast group. To join one needs permission to receive at its address,
    /// with the port of the socket.
    pub(super) fn multicast(
        &self,
        socket: u32,
        join: u32,
        group: &SocketAddress,
        interface: &SocketAddress,
    ) -> io::Result<u64> {
        let socket = self.handles.socket(socket)?;
        let (mut group, interface) = (copied(group)?, copied(interface)?);
        if join != 0 {
            let local = SocketAddr::try_from(getsockname(&socket)?)?;
            group.set_port(local.port());
            self.network.check_local(group)?;
        }
        match (group.ip(), interface) {
            (IpAddr::V4(group), SocketAddr::V4(interface)) => match join {
                0 => sockopt::set_ip_drop_membership(&socket, &group, interface.ip())?,
                _ => sockopt::set_ip_add_membership(&socket, &group, interface.ip())?,
            },
            (IpAddr::V6(group), SocketAddr::V6(interface)) => match join {
                0 => sockopt::set_ipv6_drop_membership(&socket, &group, interface.scope_id())?,
                _ => sockopt::set_ipv6_add_membership(&socket, &group, interface.scope_id())?,
            },
            _ => return Err(errno(libc::EINVAL)),
        }
        Ok(0)
    }
}
