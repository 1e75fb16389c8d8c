//! Tells addresses on the internet from those inside.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use reqwest::Url;

use super::plain_host;

/// Returns true if an address belongs to the public internet.
///
/// Addresses that the registries of special-purpose addresses (RFC 6890 and its successors) reserve don't belong to it:
/// loopback, private and link-local networks (the cloud's metadata service is one), carrier-grade NAT, test networks,
/// multicast. An IPv6 address that carries an IPv4 one is judged by that one.
#[must_use]
pub fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

/// Returns true if the host of a web address is this machine or in a local network, as far as its name or number says
/// so: `localhost`, a private address, a name without a dot, or one under a domain that is reserved for networks of
/// one's own (`.localhost`, `.local`, `.internal`, `.home.arpa`; RFC 6761, 6762 and 8375, and ICANN for `.internal`).
/// Nothing is resolved.
#[must_use]
pub fn is_local(url: &str) -> bool {
    let Some(host) = Url::parse(url).ok().and_then(|url| plain_host(&url)) else { return false };
    match host.parse::<IpAddr>() {
        Ok(address) => !is_public(address),
        Err(_) => {
            !host.contains('.')
                || [".localhost", ".local", ".internal", ".home.arpa"].iter().any(|ending| host.ends_with(ending))
        }
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    let is_special = matches!(
        (a, b, c),
        (0 | 10 | 127 | 224..=255, ..)
            | (100, 64..=127, _)
            | (169, 254, _)
            | (172, 16..=31, _)
            | (192, 168, _)
            | (192, 0, 0 | 2)
            | (192, 88, 99)
            | (198, 18 | 19, _)
            | (198, 51, 100)
            | (203, 0, 113)
    );
    !is_special
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    let carried = |high: u16, low: u16| {
        let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
        is_public_v4(Ipv4Addr::new(a, b, c, d))
    };
    match address.segments() {
        // Mapped, and translated: the well-known prefix.
        [0, 0, 0, 0, 0, 0xffff, high, low] | [0x64, 0xff9b, 0, 0, 0, 0, high, low] => carried(high, low),
        // 6to4, whose relays are gone (RFC 7526): what still answers there is not what the address says.
        [0x2002, ..] => false,
        // Teredo, benchmarking, ORCHID, documentation.
        [0x2001, 0..=0x01ff | 0x0db8, ..] | [0x3fff, 0..=0x0fff, ..] => false,
        // Only 2000::/3 is handed out at all.
        [first, ..] => first & 0xe000 == 0x2000,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inside_is_told_from_outside() {
        let inside = [
            "127.0.0.1",
            "10.1.2.3",
            "172.16.0.1",
            "172.31.255.255",
            "192.168.1.1",
            "169.254.169.254",
            "100.64.0.1",
            "100.127.255.255",
            "0.0.0.0",
            "255.255.255.255",
            "224.0.0.1",
            "192.0.0.8",
            "198.18.0.1",
            "::",
            "::1",
            "fe80::1",
            "fc00::1",
            "fd12::1",
            "ff02::1",
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
            "64:ff9b::7f00:1",
            "2002:7f00:1::",
            "2001:db8::1",
            "2001::1",
            "::127.0.0.1",
            "64:ff9b:1::1",
            "fec0::1",
            "2002:808:808::1",
            "2001:0:4136:e378:8000:63bf:3fff:fdd2",
            "64:ff9b::a9fe:a9fe",
            "240.0.0.1",
            "192.0.0.170",
            "192.88.99.1",
            "100::1",
            "ff0e::1",
            "::ffff:0:127.0.0.1",
            "3fff::1",
        ];
        for address in inside {
            assert!(!is_public(address.parse().unwrap()), "{address}");
        }
        for address in [
            "1.1.1.1", "172.32.0.1", "100.128.0.1", "192.167.1.1", "2606:4700::1", "::ffff:8.8.8.8",
            "64:ff9b::808:808", "2001:4860:4860::8888",
        ] {
            assert!(is_public(address.parse().unwrap()), "{address}");
        }
    }

    #[test]
    fn a_server_of_ones_own_is_told_by_its_address() {
        for url in [
            "http://localhost:11434/v1",
            "http://127.0.0.1",
            "http://[::1]:8080/v1",
            "http://192.168.1.5:8000",
            "https://10.0.0.1/",
            "http://gpu",
            "http://gpu.local.:1",
            "https://models.INTERNAL/",
            "http://a.localhost",
        ] {
            assert!(is_local(url), "{url}");
        }
        for url in ["https://api.example.com", "https://8.8.8.8", "https://local.dev", "nowhere", "", "http://a.lan"] {
            assert!(!is_local(url), "{url}");
        }
    }
}
