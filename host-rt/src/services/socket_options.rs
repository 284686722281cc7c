//! Options of sockets.

use std::io;
use std::time::Duration;

use rustix::io::ioctl_fionbio;
use rustix::net::sockopt::{self, Timeout};
use std_calls::socket_option as option;

use super::Services;
use super::errno::errno;

/// The value for a timeout: nanoseconds, 0 for none.
fn nanoseconds(timeout: Option<Duration>) -> u64 {
    let nanos = timeout.map_or(0, |time| time.as_nanos());
    // A reply has 63 bits.
    nanos.min(i64::MAX as u128) as u64
}

fn timeout(nanos: u64) -> Option<Duration> {
    (nanos > 0).then(|| Duration::from_nanos(nanos))
}

impl Services {
    pub(super) fn socket_option(&self, socket: u32, option: u32) -> io::Result<u64> {
        let socket = self.handles.socket(socket)?;
        let value = match option {
            option::READ_TIMEOUT => nanoseconds(sockopt::socket_timeout(&socket, Timeout::Recv)?),
            option::WRITE_TIMEOUT => nanoseconds(sockopt::socket_timeout(&socket, Timeout::Send)?),
            option::LINGER => sockopt::socket_linger(&socket)?.map_or(0, |time| 1 + time.as_secs()),
            option::NO_DELAY => sockopt::tcp_nodelay(&socket)?.into(),
            option::TTL => sockopt::ip_ttl(&socket)?.into(),
            option::ONLY_V6 => sockopt::ipv6_v6only(&socket)?.into(),
            option::BROADCAST => sockopt::socket_broadcast(&socket)?.into(),
            option::MULTICAST_LOOP_V4 => sockopt::ip_multicast_loop(&socket)?.into(),
            option::MULTICAST_TTL_V4 => sockopt::ip_multicast_ttl(&socket)?.into(),
            option::MULTICAST_LOOP_V6 => sockopt::ipv6_multicast_loop(&socket)?.into(),
            option::ERROR => match sockopt::socket_error(&socket)? {
                Ok(()) => 0,
                Err(error) => error.raw_os_error() as u64,
            },
            _ => return Err(errno(libc::EINVAL)),
        };
        Ok(value)
    }

    pub(super) fn set_socket_option(
        &self,
        socket: u32,
        option: u32,
        value: u64,
    ) -> io::Result<u64> {
        let socket = self.handles.socket(socket)?;
        let is_on = value != 0;
        let small = || u32::try_from(value).map_err(|_| errno(libc::EINVAL));
        match option {
            option::READ_TIMEOUT => {
                sockopt::set_socket_timeout(&socket, Timeout::Recv, timeout(value))?;
            }
            option::WRITE_TIMEOUT => {
                sockopt::set_socket_timeout(&socket, Timeout::Send, timeout(value))?;
            }
            option::LINGER => {
                // Linux has 31 bits for it.
                let seconds = value.checked_sub(1).map(|time| time.min(i32::MAX as u64));
                sockopt::set_socket_linger(&socket, seconds.map(Duration::from_secs))?;
            }
            option::NO_DELAY => sockopt::set_tcp_nodelay(&socket, is_on)?,
            option::TTL => sockopt::set_ip_ttl(&socket, small()?)?,
            option::ONLY_V6 => sockopt::set_ipv6_v6only(&socket, is_on)?,
            option::NONBLOCKING => ioctl_fionbio(&socket, is_on)?,
            option::BROADCAST => sockopt::set_socket_broadcast(&socket, is_on)?,
            option::MULTICAST_LOOP_V4 => sockopt::set_ip_multicast_loop(&socket, is_on)?,
            option::MULTICAST_TTL_V4 => sockopt::set_ip_multicast_ttl(&socket, small()?)?,
            option::MULTICAST_LOOP_V6 => sockopt::set_ipv6_multicast_loop(&socket, is_on)?,
            _ => return Err(errno(libc::EINVAL)),
        }
        Ok(0)
    }
}
