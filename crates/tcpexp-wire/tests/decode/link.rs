//! Link layers.

use tcpexp_wire::LinkType;

use crate::build::{
    HELLO_V4, HELLO_V6, IPV4, IPV6, ethernet, hello_v4, hello_v6, seen, seen_of, stack,
};

fn seen_on_ethernet(layers: &[&[u8]]) -> String {
    seen(LinkType::ETHERNET, &stack(&[&[2; 12], &stack(layers)]))
}

#[test]
fn ethernet_carries_both_versions() {
    assert_eq!(
        seen(LinkType::ETHERNET, &ethernet(IPV4, &hello_v4())),
        HELLO_V4
    );
    assert_eq!(
        seen(LinkType::ETHERNET, &ethernet(IPV6, &hello_v6())),
        HELLO_V6
    );
}

#[test]
fn ethernet_padding_is_not_payload() {
    let ack = crate::build::ipv4(crate::build::TCP, &crate::build::tcp(&[])[..20]);
    let mut ack = ethernet(IPV4, &ack);
    ack[46] = 0x50;
    ack.resize(60, 0);
    assert_eq!(
        seen(LinkType::ETHERNET, &ack),
        "10.0.0.1:40000 > 10.0.0.2:5201 PA seq 1000 ack 2000 win 500 , 0 of 40 bytes"
    );
}

#[test]
fn vlan_tags_of_any_kind_and_number_are_stripped() {
    let customer = [0x81, 0x00, 0x00, 0x05];
    let service = [0x88, 0xa8, 0x00, 0x06];
    let old = [0x91, 0x00, 0x00, 0x07];
    let ip = [0x08, 0x00];
    assert_eq!(seen_on_ethernet(&[&customer, &ip, &hello_v4()]), HELLO_V4);
    assert_eq!(
        seen_on_ethernet(&[&service, &customer, &ip, &hello_v4()]),
        HELLO_V4
    );
    assert_eq!(
        seen_on_ethernet(&[&old, &old, &customer, &ip, &hello_v4()]),
        HELLO_V4
    );
    assert_eq!(
        seen_on_ethernet(&[&customer.repeat(40), &ip, &hello_v4()]),
        HELLO_V4
    );
}

#[test]
fn an_mpls_stack_is_stripped_to_its_bottom() {
    let (label, bottom) = ([0, 1, 0, 64], [0, 2, 1, 64]);
    let unicast = [0x88, 0x47];
    let multicast = [0x88, 0x48];
    assert_eq!(
        seen_on_ethernet(&[&unicast, &bottom, &hello_v4()]),
        HELLO_V4
    );
    assert_eq!(
        seen_on_ethernet(&[&multicast, &label, &label, &bottom, &hello_v6()]),
        HELLO_V6
    );
}

#[test]
fn an_mpls_pseudowire_is_not_ip() {
    let control_word = [0, 0, 0, 9];
    let frame = ethernet(IPV4, &hello_v4());
    assert_eq!(
        seen_on_ethernet(&[&[0x88, 0x47, 0, 2, 1, 64], &control_word, &frame]),
        "not IP"
    );
}

#[test]
fn a_pseudowire_without_control_word_is_not_ip_whatever_its_first_address() {
    let mpls = [0x88, 0x47, 0, 2, 1, 64];
    let mut hello_v4 = hello_v4();
    let checksum = ipv4_checksum(&hello_v4[..20]);
    hello_v4[10..12].copy_from_slice(&checksum);
    for (ether_type, hello) in [(IPV4, &hello_v4), (IPV6, &hello_v6())] {
        for first in [0x45, 0x48, 0x60, 0x02] {
            let mut frame = ethernet(ether_type, hello);
            frame[0] = first;
            assert_eq!(seen_on_ethernet(&[&mpls, &frame]), "not IP", "{first:#x}");
        }
        let seen = seen_on_ethernet(&[&mpls, hello]);
        assert!(seen == HELLO_V4 || seen == HELLO_V6, "{seen}");
    }
    // The end of the address is a length that fits.
    let mut frame = ethernet(IPV4, &hello_v4);
    frame[..6].copy_from_slice(&[0x60, 0x45, 0xbd, 0, 0, 2]);
    assert_eq!(seen_on_ethernet(&[&mpls, &frame]), "not IP");
}

#[test]
fn a_pppoe_session_carries_both_versions() {
    let session = [0x88, 0x64, 0x11, 0x00, 0x00, 0x01, 0x00, 0x3b];
    assert_eq!(
        seen_on_ethernet(&[&session, &[0x00, 0x21], &hello_v4()]),
        HELLO_V4
    );
    assert_eq!(
        seen_on_ethernet(&[&session, &[0x00, 0x57], &hello_v6()]),
        HELLO_V6
    );
    assert_eq!(
        seen_on_ethernet(&[&session, &[0xc0, 0x21], &[1, 1, 0, 4]]),
        "not IP"
    );
}

#[test]
fn ieee_802_3_frames_carry_ip_by_snap_and_by_the_ip_access_point() {
    let length = [0x00, 0x41];
    let snap = [0xaa, 0xaa, 0x03, 0, 0, 0, 0x08, 0x00];
    assert_eq!(seen_on_ethernet(&[&length, &snap, &hello_v4()]), HELLO_V4);
    assert_eq!(
        seen_on_ethernet(&[&length, &[6, 6, 3], &hello_v4()]),
        HELLO_V4
    );
    let spanning_tree = [0x42, 0x42, 0x03];
    assert_eq!(
        seen_on_ethernet(&[&length, &spanning_tree, &[0; 40]]),
        "not IP"
    );
    let cisco = [0xaa, 0xaa, 0x03, 0, 0, 0x0c, 0x20, 0x00];
    assert_eq!(seen_on_ethernet(&[&length, &cisco, &[0; 40]]), "not IP");
}

#[test]
fn arp_is_not_ip() {
    assert_eq!(
        seen(LinkType::ETHERNET, &ethernet(0x0806, &[0; 46])),
        "not IP"
    );
}

#[test]
fn linux_cooked_captures_carry_both_versions() {
    let header = [0, 0, 0, 1, 0, 6, 2, 2, 2, 2, 2, 2, 0, 0];
    let cooked =
        |protocol: [u8; 2], ip: &[u8]| seen(LinkType::LINUX_SLL, &stack(&[&header, &protocol, ip]));
    assert_eq!(cooked([0x08, 0x00], &hello_v4()), HELLO_V4);
    assert_eq!(cooked([0x86, 0xdd], &hello_v6()), HELLO_V6);
    assert_eq!(
        cooked([0x81, 0x00], &stack(&[&[0, 5, 8, 0], &hello_v4()])),
        HELLO_V4
    );
    assert_eq!(cooked([0x00, 0x04], &[0x42, 0x42, 0x03, 0]), "not IP");
    assert_eq!(cooked([0x00, 0x01], &hello_v4()), "not IP");
    assert_eq!(cooked([0x08, 0x06], &[0; 28]), "not IP");
}

#[test]
fn linux_cooked_v2_captures_carry_both_versions() {
    let header = [0, 0, 0, 0, 0, 2, 0, 1, 0, 6, 2, 2, 2, 2, 2, 2, 0, 0];
    let cooked = |protocol: [u8; 2], ip: &[u8]| {
        seen(LinkType::LINUX_SLL2, &stack(&[&protocol, &header, ip]))
    };
    assert_eq!(cooked([0x08, 0x00], &hello_v4()), HELLO_V4);
    assert_eq!(cooked([0x86, 0xdd], &hello_v6()), HELLO_V6);
}

#[test]
fn raw_ip_has_the_version_of_its_header() {
    for link in [LinkType::RAW, LinkType::BSD_RAW, LinkType::OPENBSD_RAW] {
        assert_eq!(seen(link, &hello_v4()), HELLO_V4);
        assert_eq!(seen(link, &hello_v6()), HELLO_V6);
        assert_eq!(seen(link, &[0x50; 40]), "malformed IP header");
    }
}

#[test]
fn raw_ip_of_one_version_refuses_the_other() {
    assert_eq!(seen(LinkType::IPV4, &hello_v4()), HELLO_V4);
    assert_eq!(seen(LinkType::IPV6, &hello_v6()), HELLO_V6);
    assert_eq!(seen(LinkType::IPV4, &hello_v6()), "malformed IP header");
    assert_eq!(seen(LinkType::IPV6, &hello_v4()), "malformed IP header");
}

#[test]
fn bsd_loopback_is_read_in_either_byte_order() {
    for link in [LinkType::NULL, LinkType::LOOP] {
        for family in [10_u32, 24, 28, 30] {
            let (little, big) = (family.to_le_bytes(), family.to_be_bytes());
            assert_eq!(seen(link, &stack(&[&little, &hello_v6()])), HELLO_V6);
            assert_eq!(seen(link, &stack(&[&big, &hello_v6()])), HELLO_V6);
        }
        assert_eq!(seen(link, &stack(&[&[2, 0, 0, 0], &hello_v4()])), HELLO_V4);
        assert_eq!(seen(link, &stack(&[&[0, 0, 0, 2], &hello_v4()])), HELLO_V4);
        assert_eq!(seen(link, &stack(&[&[0, 0, 0, 7], &hello_v4()])), "not IP");
    }
}

#[test]
fn ppp_is_read_with_and_without_its_optional_bytes() {
    for link in [LinkType::PPP, LinkType::PPP_HDLC] {
        assert_eq!(
            seen(link, &stack(&[&[0xff, 3, 0, 0x21], &hello_v4()])),
            HELLO_V4
        );
        assert_eq!(
            seen(link, &stack(&[&[0xff, 3, 0x21], &hello_v4()])),
            HELLO_V4
        );
        assert_eq!(seen(link, &stack(&[&[0, 0x57], &hello_v6()])), HELLO_V6);
        assert_eq!(seen(link, &stack(&[&[0x21], &hello_v4()])), HELLO_V4);
        let mpls = [0x02, 0x81, 0, 2, 1, 64];
        assert_eq!(seen(link, &stack(&[&mpls, &hello_v4()])), HELLO_V4);
        assert_eq!(seen(link, &[0xff, 3, 0xc0, 0x21, 1, 1, 0, 4]), "not IP");
    }
}

#[test]
fn cisco_hdlc_differs_from_ppp_in_its_first_byte() {
    let cisco = [0x0f, 0, 0x08, 0x00];
    assert_eq!(
        seen(LinkType::PPP_HDLC, &stack(&[&cisco, &hello_v4()])),
        HELLO_V4
    );
}

#[test]
fn an_unknown_link_type_is_not_supported() {
    assert_eq!(seen(LinkType(147), &hello_v4()), "link type not supported");
    assert_eq!(LinkType(147).to_string(), "link type 147");
    assert!(!LinkType(147).is_supported());
    assert!(LinkType::LINUX_SLL2.is_supported());
    assert_eq!(LinkType::ETHERNET.to_string(), "Ethernet");
}

#[test]
fn a_frame_longer_in_the_file_than_on_the_wire_has_its_file_length() {
    let frame = ethernet(IPV4, &hello_v4());
    let tunnels = tcpexp_wire::Tunnels::Closed;
    assert_eq!(seen_of(LinkType::ETHERNET, &frame, 0, tunnels), HELLO_V4);
}

#[test]
fn an_empty_record_is_truncated_for_every_link_type() {
    for link in (0..300).map(LinkType).filter(|link| link.is_supported()) {
        assert_eq!(
            seen(link, &[]),
            "cut before the end of the transport header",
            "{link}"
        );
    }
}

/// The checksum of a header whose field for it is zero (RFC 791, section 3.1).
fn ipv4_checksum(header: &[u8]) -> [u8; 2] {
    let words = header
        .chunks(2)
        .map(|word| u32::from(word[0]) << 8 | u32::from(word[1]));
    let sum: u32 = words.sum();
    (!u16::try_from((sum & 0xffff) + (sum >> 16)).unwrap()).to_be_bytes()
}
