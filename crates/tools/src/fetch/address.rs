//! The check whether an address is globally reachable.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Networks outside the public one, each with the length of its prefix.
const PRIVATE: &[([u8; 4], u32)] = &[
    ([0, 0, 0, 0], 8),
    ([10, 0, 0, 0], 8),
    ([100, 64, 0, 0], 10),
    ([127, 0, 0, 0], 8),
    ([169, 254, 0, 0], 16),
    ([172, 16, 0, 0], 12),
    ([192, 0, 0, 0], 24),
    ([192, 0, 2, 0], 24),
    ([192, 88, 99, 0], 24),
    ([192, 168, 0, 0], 16),
    ([198, 18, 0, 0], 15),
    ([198, 51, 100, 0], 24),
    ([203, 0, 113, 0], 24),
    ([224, 0, 0, 0], 4),
    ([240, 0, 0, 0], 4),
    // The metadata service of a cloud.
    ([168, 63, 129, 16], 32),
];

/// The same for IPv6, of which only an eighth is assigned.
const PRIVATE_V6: &[(u128, u32)] =
    &[(0x2001 << 112, 23), (0x2001_0db8 << 96, 32), (0x3fff << 112, 20)];

/// Whether an address is globally reachable.
pub(super) fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let bits = address.to_bits();
    let within =
        |network: [u8; 4], length: u32| (bits ^ u32::from_be_bytes(network)) >> (32 - length) == 0;
    !PRIVATE.iter().any(|(network, length)| within(*network, *length))
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    let bits = address.to_bits();
    let begins = |network: u128, length: u32| (bits ^ network) >> (128 - length) == 0;
    let inner = |shift: u32| is_public_v4(Ipv4Addr::from_bits((bits >> shift) as u32));
    // Some IPv6 addresses contain an IPv4 address.
    if begins(0xffff << 32, 96) || begins(0x0064_ff9b << 96, 96) {
        return inner(0);
    }
    if begins(0x2002 << 112, 16) {
        return inner(80);
    }
    let given_out = begins(1 << 125, 3);
    given_out && !PRIVATE_V6.iter().any(|(network, length)| begins(*network, *length))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_machines_that_everybody_can_reach_are_public() {
        let public = |address: &str| is_public(address.parse().unwrap());
        for address in [
            "0.0.0.0",
            "0.1.2.3",
            "10.0.0.1",
            "100.64.0.1",
            "100.100.100.200",
            "127.0.0.1",
            "127.9.9.9",
            "169.254.169.254",
            "172.16.0.1",
            "172.31.255.255",
            "192.0.0.8",
            "192.0.2.1",
            "192.88.99.1",
            "192.168.1.1",
            "198.18.0.1",
            "198.19.255.255",
            "203.0.113.9",
            "224.0.0.1",
            "239.255.255.255",
            "240.0.0.1",
            "255.255.255.255",
            "168.63.129.16",
            "::",
            "::1",
            "::127.0.0.1",
            "::8.8.8.8",
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
            "::ffff:169.254.169.254",
            "64:ff9b::127.0.0.1",
            "64:ff9b::10.0.0.1",
            "64:ff9b:1::8.8.8.8",
            "2002:7f00:1::",
            "2002:a00:1::1",
            "2002:c0a8:101::",
            "2001::1",
            "2001:db8::1",
            "3fff::1",
            "100::1",
            "fc00::1",
            "fd00:ec2::254",
            "fe80::1",
            "febf::1",
            "fec0::1",
            "ff02::1",
            "4000::1",
            "::ffff:0:127.0.0.1",
        ] {
            assert!(!public(address), "{address}");
        }
        for address in [
            "1.1.1.1",
            "8.8.8.8",
            "100.128.0.1",
            "172.32.0.1",
            "192.0.1.1",
            "198.20.0.1",
            "223.255.255.255",
            "168.63.129.17",
            "2606:4700::1111",
            "2a00:1450::1",
            "::ffff:8.8.8.8",
            "64:ff9b::8.8.8.8",
            "2002:808:808::1",
            "2001:4860::8888",
        ] {
            assert!(public(address), "{address}");
        }
    }
}
