//! The congestion controls that can be named.

/// A congestion control of Linux.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Control {
    /// Reno.
    Reno,
    /// CUBIC.
    Cubic,
    /// Binary increase.
    Bic,
    /// `HighSpeed` TCP.
    HighSpeed,
    /// Scalable TCP.
    Scalable,
    /// H-TCP.
    Htcp,
    /// Hybla.
    Hybla,
    /// Illinois.
    Illinois,
    /// `YeAH`.
    Yeah,
    /// Vegas.
    Vegas,
    /// Veno.
    Veno,
    /// New Vegas.
    Nv,
    /// Westwood+.
    Westwood,
    /// CAIA delay gradient.
    Cdg,
    /// TCP-LP.
    Lp,
    /// DCTCP.
    Dctcp,
    /// BBR, version 1.
    Bbr,
}

impl Control {
    /// The name used in tables, which is Linux's.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Reno => "reno",
            Self::Cubic => "cubic",
            Self::Bic => "bic",
            Self::HighSpeed => "highspeed",
            Self::Scalable => "scalable",
            Self::Htcp => "htcp",
            Self::Hybla => "hybla",
            Self::Illinois => "illinois",
            Self::Yeah => "yeah",
            Self::Vegas => "vegas",
            Self::Veno => "veno",
            Self::Nv => "nv",
            Self::Westwood => "westwood",
            Self::Cdg => "cdg",
            Self::Lp => "lp",
            Self::Dctcp => "dctcp",
            Self::Bbr => "bbr",
        }
    }

    /// True if its windows depend on round-trip times as the sender measures them.
    pub(super) const fn needs_delay(self) -> bool {
        match self {
            Self::Htcp
            | Self::Hybla
            | Self::Illinois
            | Self::Yeah
            | Self::Vegas
            | Self::Veno
            | Self::Nv
            | Self::Westwood => true,
            Self::Reno
            | Self::Cubic
            | Self::Bic
            | Self::HighSpeed
            | Self::Scalable
            | Self::Cdg
            | Self::Lp
            | Self::Dctcp
            | Self::Bbr => false,
        }
    }

    /// Where its rules are written down. Where a paper and Linux differ, the replay follows Linux.
    pub const fn source(self) -> &'static str {
        match self {
            Self::Reno => "RFC 5681; tcp_cong.c",
            Self::Cubic => "RFC 9438; tcp_cubic.c",
            Self::Bic => "Xu, Harfoush, Rhee, INFOCOM 2004; tcp_bic.c",
            Self::HighSpeed => "RFC 3649; tcp_highspeed.c",
            Self::Scalable => "Kelly, CCR 2003; tcp_scalable.c",
            Self::Htcp => "Shorten, Leith, PFLDnet 2004; tcp_htcp.c",
            Self::Hybla => "Caini, Firrincieli, IJSCN 2004; tcp_hybla.c",
            Self::Illinois => "Liu, Basar, Srikant, Performance Evaluation 2008; tcp_illinois.c",
            Self::Yeah => "Baiocchi, Castellani, Vacirca, PFLDnet 2007; tcp_yeah.c",
            Self::Vegas => "Brakmo, Peterson, JSAC 1995; tcp_vegas.c",
            Self::Veno => "Fu, Liew, JSAC 2003; tcp_veno.c",
            Self::Nv => "Brakmo, 2010; tcp_nv.c",
            Self::Westwood => "Grieco, Mascolo, CCR 2004; tcp_westwood.c",
            Self::Cdg => "Hayes, Armitage, Networking 2011; tcp_cdg.c",
            Self::Lp => "Kuzmanovic, Knightly, INFOCOM 2003; tcp_lp.c",
            Self::Dctcp => "RFC 8257; tcp_dctcp.c",
            Self::Bbr => "Cardwell et al., ACM Queue 2016; tcp_bbr.c",
        }
    }
}
