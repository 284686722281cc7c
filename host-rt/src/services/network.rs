//! The hosts to which a program has access.
//!
//! Permission is checked for the address that an operation uses, never for a name: a name cannot lead
//! to another address between the check and the operation. An allowed name permits the addresses to
//! which it resolves, for the program or for the check, while the program runs.

use std::collections::BTreeSet;
use std::fmt;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs};
use std::sync::Mutex;

use super::ServicesError;
use super::errno::errno;
use crate::base::lock::lock;

/// The maximum number of addresses that are remembered for a name. A server of names could otherwise
/// fill the host's memory.
const REMEMBERED: usize = 1024;

/// Finds the addresses of a name.
type Resolver = Box<dyn Fn(&str) -> io::Result<Vec<SocketAddr>> + Send + Sync>;

/// The hosts to which a program has access.
pub(super) struct Network {
    /// `None` allows all.
    allowed: Option<Vec<AllowedHost>>,
    resolve: Resolver,
}

/// A host, or one of its ports.
#[derive(Debug)]
struct AllowedHost {
    host: Host,
    /// `None` allows all.
    port: Option<u16>,
}

#[derive(Debug)]
enum Host {
    Address(IpAddr),
    Name {
        /// In lower case.
        name: String,
        /// The addresses to which it has resolved.
        resolved: Mutex<BTreeSet<IpAddr>>,
    },
}

impl Network {
    /// Access to everything.
    pub(super) fn all() -> Self {
        Self {
            allowed: None,
            resolve: Box::new(resolve),
        }
    }

    /// Access to `hosts` only.
    pub(super) fn hosts(hosts: &[String]) -> Result<Self, ServicesError> {
        let parse = |text: &String| {
            let invalid = || ServicesError::Host { host: text.clone() };
            AllowedHost::parse(text).ok_or_else(invalid)
        };
        let hosts: Result<_, _> = hosts.iter().map(parse).collect();
        Ok(Self {
            allowed: Some(hosts?),
            resolve: Box::new(resolve),
        })
    }

    /// Checks an address to which the program sends or connects.
    ///
    /// # Errors
    /// `EACCES` without permission.
    pub(super) fn check_remote(&self, address: SocketAddr) -> io::Result<()> {
        // Linux sends to this machine if no address is specified.
        let ip = match address.ip().to_canonical() {
            IpAddr::V4(Ipv4Addr::UNSPECIFIED) => Ipv4Addr::LOCALHOST.into(),
            IpAddr::V6(Ipv6Addr::UNSPECIFIED) => Ipv6Addr::LOCALHOST.into(),
            ip => ip,
        };
        self.check(ip, address.port())
    }

    /// Checks an address at which the program listens or receives, likewise.
    pub(super) fn check_local(&self, address: SocketAddr) -> io::Result<()> {
        self.check(address.ip().to_canonical(), address.port())
    }

    fn check(&self, ip: IpAddr, port: u16) -> io::Result<()> {
        let Some(allowed) = &self.allowed else {
            return Ok(());
        };
        let of_port = || {
            let is_of_port = |host: &&AllowedHost| host.port.is_none_or(|allowed| allowed == port);
            allowed.iter().filter(is_of_port)
        };
        // Names are resolved last: that may take long.
        if of_port().any(|host| host.is_known(ip)) || of_port().any(|host| self.renew(host, ip)) {
            Ok(())
        } else {
            Err(errno(libc::EACCES))
        }
    }

    /// Resolves the name of an allowed host again. Returns whether it now has the address `ip`.
    fn renew(&self, host: &AllowedHost, ip: IpAddr) -> bool {
        let Host::Name { name, .. } = &host.host else {
            return false;
        };
        if let Ok(addresses) = (self.resolve)(name) {
            host.remember(&addresses);
        }
        host.is_known(ip)
    }

    /// The addresses of a name, with the port 0.
    ///
    /// # Errors
    /// `EACCES` if the name is not allowed: to look it up would tell it to a server.
    pub(super) fn look_up(&self, name: &str) -> io::Result<Vec<SocketAddr>> {
        let Some(allowed) = &self.allowed else {
            return (self.resolve)(name);
        };
        let plain = plain_name(name);
        let named: Vec<_> = allowed
            .iter()
            .filter(|host| host.has_name(&plain))
            .collect();
        if named.is_empty() {
            return Err(errno(libc::EACCES));
        }
        let addresses = (self.resolve)(name)?;
        for host in named {
            host.remember(&addresses);
        }
        Ok(addresses)
    }
}

impl AllowedHost {
    /// `name`, `name:port`, `127.0.0.1`, `127.0.0.1:80`, `::1`, `[::1]` or `[::1]:80`.
    fn parse(text: &str) -> Option<Self> {
        let address = |ip: IpAddr, port| {
            let host = Host::Address(ip.to_canonical());
            Some(Self { host, port })
        };
        if let Ok(socket) = text.parse::<SocketAddr>() {
            return address(socket.ip(), Some(socket.port()));
        }
        let inner = text
            .strip_prefix('[')
            .and_then(|text| text.strip_suffix(']'));
        if let Some(inner) = inner {
            return address(IpAddr::V6(inner.parse().ok()?), None);
        }
        if let Ok(ip) = text.parse::<IpAddr>() {
            return address(ip, None);
        }
        let (name, port) = match text.rsplit_once(':') {
            Some((name, port)) => (name, Some(port.parse().ok()?)),
            None => (text, None),
        };
        let is_of_name = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.');
        let name = plain_name(name);
        if name.is_empty() || !name.chars().all(is_of_name) {
            return None;
        }
        let resolved = Mutex::default();
        let host = Host::Name { name, resolved };
        Some(Self { host, port })
    }

    fn has_name(&self, plain: &str) -> bool {
        matches!(&self.host, Host::Name { name, .. } if name == plain)
    }

    fn is_known(&self, ip: IpAddr) -> bool {
        match &self.host {
            Host::Address(allowed) => *allowed == ip,
            Host::Name { resolved, .. } => lock(resolved).contains(&ip),
        }
    }

    fn remember(&self, addresses: &[SocketAddr]) {
        if let Host::Name { resolved, .. } = &self.host {
            let mut resolved = lock(resolved);
            if resolved.len() + addresses.len() > REMEMBERED {
                resolved.clear();
            }
            resolved.extend(addresses.iter().map(|address| address.ip().to_canonical()));
        }
    }
}

/// A name as it is compared: in lower case and without the dot that may end it.
fn plain_name(name: &str) -> String {
    name.strip_suffix('.').unwrap_or(name).to_lowercase()
}

fn resolve(name: &str) -> io::Result<Vec<SocketAddr>> {
    Ok((name, 0).to_socket_addrs()?.collect())
}

impl fmt::Debug for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.allowed {
            None => f.write_str("All"),
            Some(allowed) => f.debug_list().entries(allowed).finish(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    fn network(hosts: &[&str]) -> Network {
        let hosts: Vec<_> = hosts.iter().map(|&host| host.to_owned()).collect();
        let mut network = Network::hosts(&hosts).unwrap();
        network.resolve = Box::new(|name| panic!("resolved {name}"));
        network
    }

    /// A network with one allowed name, whose addresses the test sets.
    fn named(host: &str) -> (Network, Arc<Mutex<Vec<SocketAddr>>>) {
        let mut network = network(&[host]);
        let addresses: Arc<Mutex<Vec<SocketAddr>>> = Arc::default();
        let answer = Arc::clone(&addresses);
        network.resolve = Box::new(move |name| {
            assert_eq!(name, "example");
            Ok(lock(&answer).clone())
        });
        (network, addresses)
    }

    fn is_allowed(network: &Network, address: &str) -> bool {
        let remote = network.check_remote(address.parse().unwrap());
        if let Err(error) = &remote {
            assert_eq!(error.raw_os_error(), Some(libc::EACCES));
        }
        remote.is_ok()
    }

    #[test]
    fn addresses_are_allowed_with_all_ports_or_one() {
        let network = network(&["127.0.0.1", "10.0.0.1:80", "::1", "[::2]", "[::3]:80"]);
        for allowed in [
            "127.0.0.1:1",
            "10.0.0.1:80",
            "[::1]:7",
            "[::2]:7",
            "[::3]:80",
        ] {
            assert!(is_allowed(&network, allowed), "{allowed}");
        }
        for denied in [
            "127.0.0.2:1",
            "10.0.0.1:81",
            "[::3]:81",
            "[::4]:80",
            "8.8.8.8:53",
        ] {
            assert!(!is_allowed(&network, denied), "{denied}");
        }
    }

    #[test]
    fn an_address_of_version_4_may_be_written_as_one_of_6() {
        let network = network(&["127.0.0.1", "::ffff:10.0.0.1"]);
        assert!(is_allowed(&network, "[::ffff:127.0.0.1]:1"));
        assert!(is_allowed(&network, "10.0.0.1:1"));
        assert!(!is_allowed(&network, "[::ffff:127.0.0.2]:1"));
    }

    #[test]
    fn to_send_to_no_address_is_to_send_to_this_machine() {
        for any in ["0.0.0.0:1", "[::ffff:0.0.0.0]:1"] {
            assert!(is_allowed(&network(&["127.0.0.1"]), any));
            assert!(!is_allowed(&network(&["0.0.0.0"]), any));
        }
        assert!(is_allowed(&network(&["::1"]), "[::]:1"));
        assert!(!is_allowed(&network(&["::"]), "[::]:1"));
        let any = "0.0.0.0:1".parse().unwrap();
        network(&["0.0.0.0"]).check_local(any).unwrap();
        network(&["127.0.0.1"]).check_local(any).unwrap_err();
    }

    #[test]
    fn a_name_permits_the_addresses_to_which_it_resolves() {
        let (network, addresses) = named("Example:80");
        *lock(&addresses) = vec!["10.0.0.1:0".parse().unwrap()];
        assert!(is_allowed(&network, "10.0.0.1:80"));
        assert!(!is_allowed(&network, "10.0.0.1:81"));
        // The check resolves again what it does not know.
        assert!(!is_allowed(&network, "10.0.0.2:80"));
        *lock(&addresses) = vec!["10.0.0.2:0".parse().unwrap()];
        assert!(is_allowed(&network, "10.0.0.2:80"));
    }

    #[test]
    fn the_addresses_that_a_program_has_looked_up_stay_allowed() {
        let (network, addresses) = named("example");
        *lock(&addresses) = vec!["10.0.0.1:0".parse().unwrap()];
        assert_eq!(network.look_up("example").unwrap(), *lock(&addresses));
        // As a server does that gives each time another of many addresses.
        *lock(&addresses) = vec!["10.0.0.2:0".parse().unwrap()];
        assert!(is_allowed(&network, "10.0.0.1:1"));
        assert!(is_allowed(&network, "10.0.0.2:1"));
        assert!(!is_allowed(&network, "10.0.0.3:1"));
    }

    #[test]
    fn only_so_many_addresses_are_remembered() {
        let (network, addresses) = named("example");
        for n in 0..=REMEMBERED as u32 {
            *lock(&addresses) = vec![SocketAddr::new(Ipv4Addr::from_bits(n).into(), 0)];
            network.look_up("example").unwrap();
        }
        let hosts = network.allowed.unwrap();
        let Host::Name { resolved, .. } = &hosts[0].host else {
            panic!("no name");
        };
        assert_eq!(lock(resolved).len(), 1);
    }

    #[test]
    fn other_names_are_not_resolved() {
        let network = network(&["example", "127.0.0.1"]);
        for name in [
            "other",
            "127.0.0.1",
            "127.1",
            "example.com",
            "",
            "example\0",
        ] {
            let error = network.look_up(name).unwrap_err();
            assert_eq!(error.raw_os_error(), Some(libc::EACCES), "{name}");
        }
    }

    #[test]
    fn names_have_no_case_and_may_end_in_a_dot() {
        let mut network = network(&["Example."]);
        network.resolve = Box::new(|_| Ok(vec![]));
        for name in ["example", "EXAMPLE."] {
            assert!(network.look_up(name).unwrap().is_empty());
        }
    }

    #[test]
    fn invalid_hosts_are_rejected() {
        for host in [
            "",
            ".",
            ":80",
            "a b",
            "a:b",
            "a:65536",
            "http://a",
            "a/b",
            "[a]",
            "[::1",
            "a:1:2",
            "*",
            "10.0.0.0/8",
            "a\0",
        ] {
            let error = Network::hosts(&[host.to_owned()]).unwrap_err();
            assert!(matches!(error, ServicesError::Host { .. }), "{host}");
        }
    }
}
