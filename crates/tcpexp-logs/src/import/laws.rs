//! Properties of all log formats.

use proptest::prelude::*;

use super::log::lines;
use super::{Error, Format, Report, import};

/// A few lines of each format, including valid ones.
const LOGS: [&str; 8] = [
    "# tracer: nop
     a-1 [000] b..1. 1.000001: tcp_probe: family=AF_INET src=10.0.0.1:4 dest=10.0.0.2:5 mark=0x0 data_len=0 snd_nxt=0x20 snd_una=0x10 snd_cwnd=10 ssthresh=7 snd_wnd=65160 srtt=45750 rcv_wnd=64512 sock_cookie=6
     a-1 [000] b..1. 1.000002: tcp_cong_state_set: family=AF_INET sport=4 dport=5 saddr=10.0.0.1 daddr=10.0.0.2 saddrv6=::ffff:10.0.0.1 daddrv6=::ffff:10.0.0.2 cong_state=3
     a-1 [000] b..1. 1.000003: tcp_retransmit_skb: family=AF_INET sport=4 dport=5 saddr=10.0.0.1 daddr=10.0.0.2 saddrv6=::ffff:10.0.0.1 daddrv6=::ffff:10.0.0.2",
    "1.000000123 10.0.0.1:4 10.0.0.2:5 1480 0x20 0x10 10 2147483647 65160 40 64512",
    "time,src,dst,snd_nxt,snd_una,snd_cwnd,ssthresh,snd_wnd,srtt_us
     1.5,10.0.0.1:4,10.0.0.2:5,32,16,10,2147483647,65160,40040",
    "1.099859,0,244000,10,0,0,0,41883,2147483647,10,0,0,0,0,1,0",
    "1.5 ESTAB 0 0 10.0.0.1:4 10.0.0.2:5 ts sack cubic wscale:10,10 rto:252 rtt:48.331/7.114 mss:1448 cwnd:20 ssthresh:7 unacked:20 retrans:1/7 busy:64ms
     1.6 ESTAB 0 0 10.0.0.1:4 10.0.0.2:5
     1.6 cubic rto:252 rtt:48.331/7.114 mss:1448 cwnd:20",
    "enable_time_secs=1\tenable_time_usecs=2\tsiftrver=1.2.2\thz=1000\ttcp_rtt_scale=32
     i,0xbec491a5,1.5,10.0.0.1,4,10.0.0.2,5,1073725440,172312,6144,66560,66608,8,1,4,1448,936,1,996,255,33304,208,66608,0,2896
     i,1.5,10.0.0.1,4,10.0.0.2,5,14480,28960,0,65535,65535,7,7,4,1448,40125,1,996,230000,33304,208,66608,0,14480,0,12345,1",
    "Timestamp,CID,LocalAddress,LocalPort,RemAddress,RemPort,CurCwnd,CurMSS,SmoothedRTT,SndNxt,SndUna
     1.25,7,10.0.0.1,4,10.0.0.2,5,14480,1448,41,3000,1000",
    r#"{"start": {"connected": [{"socket": 5, "local_host": "10.0.0.1", "local_port": 4, "remote_host": "10.0.0.2", "remote_port": 5}]}, "intervals": [{"streams": [{"socket": 5, "start": 0, "end": 1.000058, "bytes": 1250000, "rtt": 60021, "sender": true}]}]}"#,
];

/// The outcome of `log`; asserts that all lines are accounted for.
fn outcome(format: Format, log: &[u8]) -> Option<Report> {
    match import(format, log, |_| Ok::<_, Error>(())) {
        Ok(report) => {
            let counted = report.used + report.passed_over + report.unusable();
            assert_eq!(report.lines, counted, "{report:?}");
            assert_eq!(report.first_unusable.is_some(), report.unusable() > 0);
            Some(report)
        }
        Err(error) => {
            assert!(!error.to_string().is_empty());
            None
        }
    }
}

#[test]
fn format_of_a_log_is_guessed_from_its_beginning() {
    use Format::{Iperf3, Siftr, Ss, TcpInfo, TcpProbe, Web10g};
    let formats = LOGS.map(|log| Format::guess(lines(log).as_bytes()).unwrap());
    let written_by = [
        TcpProbe, TcpProbe, TcpProbe, TcpInfo, Ss, Siftr, Web10g, Iperf3,
    ];
    assert_eq!(formats, written_by);
    for foreign in ["", "Dear colleague,\n", "1,2,3\n4,5,6\n"] {
        assert_eq!(Format::guess(foreign.as_bytes()), None);
    }
}

#[test]
fn byte_order_mark_at_the_start_of_a_log_is_skipped() {
    for log in LOGS.map(lines) {
        let marked = format!("\u{feff}{log}");
        let format = Format::guess(log.as_bytes()).unwrap();
        assert_eq!(Format::guess(marked.as_bytes()), Some(format));
        let [without, with] = [&log, &marked].map(|log| outcome(format, log.as_bytes()));
        assert_eq!(with, without);
    }
}

fn any_format() -> impl Strategy<Value = Format> {
    prop::sample::select(Format::ALL.to_vec())
}

proptest! {
    #[test]
    fn arbitrary_bytes_never_panic(format in any_format(), log in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = outcome(format, &log);
    }

    #[test]
    fn truncated_log_loses_only_the_truncated_lines(which in 0..LOGS.len(), at in 0.0..1.0_f64) {
        let log = lines(LOGS[which]);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a place in the log")]
        let cut = &log.as_bytes()[..(at * log.len() as f64) as usize];
        for format in Format::ALL {
            let whole = outcome(format, log.as_bytes());
            if let (Some(whole), Some(cut)) = (whole, outcome(format, cut)) {
                prop_assert!(cut.used <= whole.used);
            }
        }
    }

    #[test]
    fn changed_character_never_panics(
        which in 0..LOGS.len(),
        place in any::<prop::sample::Index>(),
        with in prop::sample::select(&b" ,:=\n\t0x9-.a[]{}\"\xFF"[..]),
    ) {
        let mut log = lines(LOGS[which]).into_bytes();
        let place = place.index(log.len());
        log[place] = with;
        for format in Format::ALL {
            let _ = outcome(format, &log);
        }
    }

    #[test]
    fn one_bad_line_loses_one_line(which in 0..LOGS.len(), bad in "[a-z0-9 ,]{1,40}") {
        let log = lines(LOGS[which]);
        // A JSON document is not read by line.
        for format in Format::ALL.into_iter().filter(|format| !format.is_document()) {
            let Some(whole) = outcome(format, log.as_bytes()) else { continue };
            let with_bad = outcome(format, format!("{log}{bad}\n").as_bytes()).unwrap();
            prop_assert_eq!(with_bad.lines, whole.lines + 1);
            prop_assert!(with_bad.used >= whole.used);
        }
    }
}
