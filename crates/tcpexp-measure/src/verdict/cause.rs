//! The causes that limit a sender.

/// What limited a sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LimitCause {
    /// The TCP handshake.
    Setup,
    /// The TLS handshake.
    Tls,
    /// The sender's application or its send buffer.
    Application,
    /// The receiver's window.
    ReceiverWindow,
    /// The congestion window grew, without losses or queueing delay.
    WindowGrowth,
    /// The congestion window was small after losses that no queue of the path caused.
    Loss,
    /// A policer dropped what exceeded its rate.
    Policing,
    /// The capacity of the path, with a short queue.
    PathCapacity,
    /// A queue longer than the path's round-trip time, filled by the sender itself.
    OwnQueue,
    /// A queue that other traffic filled.
    OthersQueue,
    /// The wait for retransmission timeouts, and the recovery after them.
    Timeouts,
    /// The evidence fits none of the causes.
    NotCertain,
}

impl LimitCause {
    /// Number of causes.
    pub const COUNT: usize = Self::ALL.len();

    /// All causes.
    pub const ALL: [Self; 12] = [
        Self::Setup,
        Self::Tls,
        Self::Application,
        Self::ReceiverWindow,
        Self::WindowGrowth,
        Self::Loss,
        Self::Policing,
        Self::PathCapacity,
        Self::OwnQueue,
        Self::OthersQueue,
        Self::Timeouts,
        Self::NotCertain,
    ];

    /// Place in [`ALL`](Self::ALL).
    pub const fn index(self) -> usize {
        self as usize
    }

    /// The name used in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Setup => "setup",
            Self::Tls => "tls",
            Self::Application => "application",
            Self::ReceiverWindow => "receiver_window",
            Self::WindowGrowth => "window_growth",
            Self::Loss => "loss",
            Self::Policing => "policing",
            Self::PathCapacity => "path_capacity",
            Self::OwnQueue => "own_queue",
            Self::OthersQueue => "others_queue",
            Self::Timeouts => "timeouts",
            Self::NotCertain => "not_certain",
        }
    }
}
