//! Which addresses a name may lead to. A name that is allowed says nothing about where it points: whoever controls it may
//! point it at this machine, at the local network or at the service that hands out a cloud machine's keys.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Returns what is special about an address that must not be dialled because of a name, in words that complete "it
/// leads to …". Ordinary addresses of the internet have nothing special.
pub fn special(address: IpAddr) -> Option<&'static str> {
    match address.to_canonical() {
        IpAddr::V4(address) => special_ipv4(address),
        IpAddr::V6(address) => special_ipv6(address),
    }
}

fn special_ipv4(address: Ipv4Addr) -> Option<&'static str> {
    let kind = match address.octets() {
        // The first is that of most clouds; the others are Alibaba's, Azure's and Oracle's.
        [169, 254, 169, 254] | [100, 100, 100, 200] | [168, 63, 129, 16] | [192, 0, 0, 192] => {
            "the metadata service of a cloud"
        }
        [0, ..] => "no address at all",
        [127, ..] => "this machine",
        [10, ..] | [172, 16..=31, ..] | [192, 168, ..] => "a private network",
        [100, 64..=127, ..] => "a network that providers share",
        [169, 254, ..] => "the local link",
        [192, 0, 2, _] | [198, 51, 100, _] | [203, 0, 113, _] => "a network for documentation",
        [192, 0, 0, _] | [192, 88, 99, _] | [198, 18..=19, ..] => "a reserved network",
        [224..=239, ..] => "a multicast group",
        [240..=255, ..] => "a reserved network",
        _ => return None,
    };
    Some(kind)
}

fn special_ipv6(address: Ipv6Addr) -> Option<&'static str> {
    match address.segments() {
        [0, 0, 0, 0, 0, 0, 0, 0] => Some("no address at all"),
        [0, 0, 0, 0, 0, 0, 0, 1] => Some("this machine"),
        // Amazon's and Google's.
        [0xfd00, 0x0ec2, 0, 0, 0, 0, 0, 0x254] | [0xfd20, 0x00ce, 0, 0, 0, 0, 0, 0x254] => {
            Some("the metadata service of a cloud")
        }
        [0xfc00..=0xfdff, ..] => Some("a private network"),
        [0xfe80..=0xfebf, ..] => Some("the local link"),
        [0xff00..=0xffff, ..] => Some("a multicast group"),
        // NAT64: the last four bytes are an IPv4 address.
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] => special_ipv4(embedded(high, low)),
        // Teredo: the server, and the client with its bits inverted.
        [0x2001, 0, server_high, server_low, _, _, high, low] => {
            special_ipv4(embedded(server_high, server_low)).or_else(|| special_ipv4(embedded(!high, !low)))
        }
        // 6to4: the address of the gateway.
        [0x2002, high, low, ..] => special_ipv4(embedded(high, low)),
        [0x2001, 0x0db8, ..] | [0x3fff, 0..=0x0fff, ..] => Some("a network for documentation"),
        [0x2001, 0..=0x01ff, ..] => Some("a reserved network"),
        // Only this eighth of all addresses has been given out.
        [0x2000..=0x3fff, ..] => None,
        _ => Some("a reserved network"),
    }
}

fn embedded(high: u16, low: u16) -> Ipv4Addr {
    Ipv4Addr::from_bits(u32::from(high) << 16 | u32::from(low))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[track_caller]
    fn check(address: &str, expected: Option<&str>) {
        assert_eq!(special(address.parse().unwrap()), expected, "{address}");
    }

    #[test]
    fn ordinary_addresses_pass() {
        for address in [
            "8.8.8.8",
            "93.184.216.34",
            "172.32.0.1",
            "100.128.0.1",
            "2606:4700::1111",
            "2a00:1450::1",
            "::ffff:8.8.8.8",
        ] {
            check(address, None);
        }
    }

    #[test]
    fn metadata_services_do_not() {
        for address in [
            "169.254.169.254",
            "::ffff:169.254.169.254",
            "100.100.100.200",
            "168.63.129.16",
            "192.0.0.192",
            "fd00:ec2::254",
            "fd20:ce::254",
            "64:ff9b::169.254.169.254",
            "2002:a9fe:a9fe::1",
        ] {
            check(address, Some("the metadata service of a cloud"));
        }
    }

    #[test]
    fn local_and_reserved_addresses_do_not() {
        check("0.0.0.0", Some("no address at all"));
        check("::", Some("no address at all"));
        check("127.255.0.1", Some("this machine"));
        check("::1", Some("this machine"));
        check("10.1.2.3", Some("a private network"));
        check("172.31.255.255", Some("a private network"));
        check("192.168.0.1", Some("a private network"));
        check("fd12::1", Some("a private network"));
        check("100.64.0.1", Some("a network that providers share"));
        check("169.254.1.1", Some("the local link"));
        check("fe80::1", Some("the local link"));
        check("224.0.0.1", Some("a multicast group"));
        check("ff02::1", Some("a multicast group"));
        check("255.255.255.255", Some("a reserved network"));
        check("198.18.0.1", Some("a reserved network"));
        check("203.0.113.9", Some("a network for documentation"));
        check("2001:db8::1", Some("a network for documentation"));
        check("3fff::1", Some("a network for documentation"));
        check("::127.0.0.1", Some("a reserved network"));
        check("64:ff9b:1::1", Some("a reserved network"));
        check("fec0::1", Some("a reserved network"));
    }

    #[test]
    fn addresses_that_carry_others_are_judged_by_them() {
        check("64:ff9b::10.0.0.1", Some("a private network"));
        check("64:ff9b::8.8.8.8", None);
        check("2002:7f00:1::", Some("this machine"));
        check("2002:808:808::", None);
        // Teredo by 65.54.227.120 to 192.168.0.1, with the bits of the latter inverted.
        check("2001:0:4136:e378:8000:63bf:3f57:fffe", Some("a private network"));
        check("2001:0:7f00:1:8000:63bf:f7f7:f7f7", Some("this machine"));
    }

    proptest! {
        #[test]
        fn mapped_addresses_are_what_they_map(bits: u32) {
            let address = Ipv4Addr::from_bits(bits);
            prop_assert_eq!(special(address.to_ipv6_mapped().into()), special(address.into()));
        }
    }
}
