//! Addresses in a filter expression.

/// An IPv4 address or its leading parts, with the number of bits given: `192.168` has 16.
pub(super) fn ipv4(word: &str) -> Option<(u32, u32)> {
    let (mut address, mut bits) = (0, 0);
    for part in word.split('.') {
        let is_number = !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        let value: u8 = part.parse().ok().filter(|_| is_number && bits < 32)?;
        address |= u32::from(value) << (24 - bits);
        bits += 8;
    }
    Some((address, bits))
}

/// An Ethernet address of six hexadecimal bytes.
pub(super) fn ether_address(word: &str) -> Option<[u8; 6]> {
    let mut address = [0; 6];
    let separator = if word.contains(':') { ':' } else { '-' };
    let mut parts = word.split(separator);
    for byte in &mut address {
        let part = parts.next().filter(|part| (1..=2).contains(&part.len()))?;
        // `from_str_radix` alone accepts a sign.
        let is_hex = part.bytes().all(|digit| digit.is_ascii_hexdigit());
        *byte = u8::from_str_radix(part, 16).ok().filter(|_| is_hex)?;
    }
    parts.next().is_none().then_some(address)
}
