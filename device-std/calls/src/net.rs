//! Addresses, options and operations of sockets.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV6};

use revoff_fn::zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// The address of a socket.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout,
)]
#[zerocopy(crate = "revoff_fn::zerocopy")]
#[repr(C)]
pub struct SocketAddress {
    /// The IP address: 16 bytes of IPv6, or 4 of IPv4 and 12 zeroes.
    pub ip: [u8; 16],
    /// The flow information of IPv6.
    pub flow_info: u32,
    /// The scope of IPv6.
    pub scope_id: u32,
    /// The port.
    pub port: u16,
    /// [`V4`](Self::V4) or [`V6`](Self::V6).
    pub version: u16,
}

impl SocketAddress {
    /// An address of IPv4.
    pub const V4: u16 = 4;
    /// An address of IPv6.
    pub const V6: u16 = 6;

    /// The address as `std` has it; `None` if there is no such version.
    #[must_use]
    pub fn get(&self) -> Option<SocketAddr> {
        match self.version {
            Self::V4 => {
                let [a, b, c, d, ..] = self.ip;
                let ip = IpAddr::V4(Ipv4Addr::new(a, b, c, d));
                Some(SocketAddr::new(ip, self.port))
            }
            Self::V6 => {
                let ip = Ipv6Addr::from(self.ip);
                let (flow_info, scope_id) = (self.flow_info, self.scope_id);
                Some(SocketAddrV6::new(ip, self.port, flow_info, scope_id).into())
            }
            _ => None,
        }
    }
}

impl From<SocketAddr> for SocketAddress {
    fn from(address: SocketAddr) -> Self {
        let port = address.port();
        match address {
            SocketAddr::V4(address) => {
                let mut ip = [0; 16];
                ip[..4].copy_from_slice(&address.ip().octets());
                Self {
                    ip,
                    port,
                    version: Self::V4,
                    ..Self::default()
                }
            }
            SocketAddr::V6(address) => Self {
                ip: address.ip().octets(),
                flow_info: address.flowinfo(),
                scope_id: address.scope_id(),
                port,
                version: Self::V6,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_keep_all_their_parts() {
        let v6 = SocketAddrV6::new(Ipv6Addr::new(0xfe80, 0, 0, 0, 1, 2, 3, 4), 80, 5, 6);
        for address in [SocketAddr::from(([127, 0, 0, 1], 65535)), v6.into()] {
            assert_eq!(SocketAddress::from(address).get(), Some(address));
        }
        assert_eq!(SocketAddress::default().get(), None);
    }
}
