//! The pairs of SPP 0.4.2, reproduced from the same captures.

use std::fs::File;
use std::io::Read;

use crate::common::{captures_in, fixture};
use tcpexp::{Recording, spp_pairs};
use tcpexp_pair::compat::{Columns, FieldMask};

#[test]
fn fixtures_yield_the_lines_of_the_original_tool() {
    for name in ["reno-2mbit-40ms-50p", "adsl-udp-upload"] {
        let (src, dst) = captures_in(&fixture(name)).unwrap();
        let [src, dst] = [src, dst].map(|path| Recording::open(&path).unwrap());
        let columns = Columns {
            turnaround: true,
            delays: true,
        };
        let found: Vec<String> = spp_pairs(&src, &dst, FieldMask(16895), None)
            .unwrap()
            .map(|pair| pair.line(columns).to_string())
            .collect();
        let mut expected = String::new();
        let printed = File::open(fixture(name).join("spp-0.4.2.txt.gz")).unwrap();
        flate2::read::GzDecoder::new(printed)
            .read_to_string(&mut expected)
            .unwrap();
        let different = found.iter().zip(expected.lines()).find(|(f, e)| f != e);
        assert_eq!(different, None, "{name}");
        assert_eq!(found.len(), expected.lines().count(), "{name}");
    }
}
