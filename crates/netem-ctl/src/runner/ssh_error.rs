//! The causes of failed SSH connections, from the messages of OpenSSH.

use std::fmt;

/// Why a host cannot be used over SSH.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SshProblem {
    /// No server listens on the port.
    Refused,
    /// The name is unknown.
    UnknownName,
    /// There is no route.
    Unreachable,
    /// The host does not answer.
    Silent,
    /// The host key changed.
    KeyChanged,
    /// The host key is unknown.
    KeyUnknown,
    /// The host refuses the user.
    Denied,
    /// The connection broke.
    Closed,
    /// Another cause: the last message of `ssh`.
    Other(String),
}

impl SshProblem {
    /// Reads the cause from standard error of OpenSSH.
    pub(crate) fn from_text(said: &str) -> Self {
        let knows = |text: &str| said.contains(text);
        // OpenSSH prints "Host key verification failed" for a changed key too, so the change comes
        // first.
        if knows("REMOTE HOST IDENTIFICATION HAS CHANGED") {
            Self::KeyChanged
        } else if knows("host key is known for") || knows("Host key verification failed") {
            Self::KeyUnknown
        } else if knows("Connection refused") {
            Self::Refused
        } else if knows("Could not resolve hostname") {
            Self::UnknownName
        } else if knows("Permission denied") || knows("Too many authentication failures") {
            Self::Denied
        } else if knows("timed out") || knows("not responding") {
            Self::Silent
        } else if knows("No route to host") || knows("Network is unreachable") {
            Self::Unreachable
        } else if [
            "Connection closed",
            "Connection reset",
            "Broken pipe",
            "closed by",
        ]
        .into_iter()
        .any(knows)
        {
            Self::Closed
        } else {
            let last = said.lines().rfind(|line| !line.trim().is_empty());
            // A session of a shared connection prints nothing if the connection breaks.
            last.map_or(Self::Closed, |line| Self::Other(line.trim().to_owned()))
        }
    }
}

impl SshProblem {
    /// True if the problem can also end an established connection. The others prevent a connection.
    pub(super) const fn can_end_connection(&self) -> bool {
        matches!(
            self,
            Self::Silent | Self::Unreachable | Self::Closed | Self::Other(_)
        )
    }
}

impl fmt::Display for SshProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Refused => "connection refused: is sshd running there, on this port?",
            Self::UnknownName => "the host name does not resolve and is not in the ssh configuration",
            Self::Unreachable => "no route to the host",
            Self::Silent => "the host does not respond",
            Self::KeyChanged => {
                "its host key differs from the known one; if the change is expected, remove the old key with \
                 ssh-keygen -R"
            }
            Self::KeyUnknown => "its host key is not known yet; connect once by hand with ssh",
            Self::Denied => "the host does not accept our key (ssh runs without a password prompt)",
            Self::Closed => "the connection was closed",
            Self::Other(said) => said,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ssh_messages_map_to_causes() {
        for (said, problem) in [
            (
                "ssh: connect to host 127.0.0.1 port 9: Connection refused\r\n",
                SshProblem::Refused,
            ),
            (
                "Connection timed out during banner exchange\nConnection to 127.0.0.1 port 9 timed out\n",
                SshProblem::Silent,
            ),
            (
                "No ED25519 host key is known for [127.0.0.1]:9 and you have requested strict checking.\nHost key verification failed.\n",
                SshProblem::KeyUnknown,
            ),
            (
                "u@127.0.0.1: Permission denied (publickey).\n",
                SshProblem::Denied,
            ),
            ("\nodd\n\n", SshProblem::Other("odd".into())),
            ("\n", SshProblem::Closed),
        ] {
            assert_eq!(SshProblem::from_text(said), problem, "{said}");
        }
    }
}
