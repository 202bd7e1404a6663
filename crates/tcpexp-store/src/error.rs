//! Errors of stores.

use thiserror::Error;

/// An object that cannot be read or written.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Error {
    /// The program has no clients of stores.
    #[error(
        "this build cannot read URLs: build tcpexp with the feature `stores`, as in \
         `cargo install --path crates/tcpexp-cli --features stores`"
    )]
    NotBuilt,
    /// The URL names no object.
    #[error("the URL names no object: expected {expected}")]
    Url {
        /// Form of a URL of this store.
        expected: &'static str,
    },
    /// The client cannot request this key unchanged.
    #[error(
        "the client of stores cannot request the key {key}: it begins or ends with a slash, or has an \
         empty part, . or .., an escaped slash (%2F), or bytes that are not UTF-8; copy the object to \
         another key"
    )]
    Key {
        /// The key.
        key: String,
    },
    /// The text is no option.
    #[error("expected NAME=VALUE")]
    NoOption,
    /// No store has this option.
    #[error(
        "no store has the option {name}: names are those of object_store, such as aws_endpoint"
    )]
    UnknownOption {
        /// Name of the option.
        name: String,
    },
    /// The object does not exist.
    #[error("there is no such object")]
    NotFound,
    /// The bucket or container does not exist.
    #[error("there is no such bucket")]
    NoBucket,
    /// The endpoint has no TLS, which has to be allowed.
    #[error("the endpoint has no TLS: add --storage-option allow_http=true")]
    NoTls,
    /// The store refuses the request.
    #[error("access denied: {reason}")]
    Denied {
        /// Answer of the store.
        reason: String,
    },
    /// The object is not the one that was opened.
    #[error("the object was replaced while it was read: start again")]
    Changed,
    /// Two versions of the object could not be distinguished.
    #[error(
        "the server sends neither ETag nor Last-Modified, so parts of two versions could be mixed: \
         download the file first"
    )]
    NoVersion,
    /// The store sent another number of bytes than it announced.
    #[error("the store sent {have} of {wanted} bytes")]
    Short {
        /// Bytes received.
        have: u64,
        /// Bytes requested.
        wanted: u64,
    },
    /// No credentials were found.
    #[error(
        "no credentials for S3: set AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY; for a \
         public object, use --storage-option skip_signature=true"
    )]
    NoCredentials,
    /// The profile does not exist.
    #[error("there is no profile {name} in the configuration of AWS")]
    NoProfile {
        /// Name of the profile.
        name: String,
    },
    /// The profile has credentials that only the tools of AWS can get.
    #[error(
        "the profile {name} needs the command aws (version 2): install it, or run \
         `aws configure export-credentials --profile {name} --format env` where it is and set what it prints"
    )]
    NoAwsCommand {
        /// Name of the profile.
        name: String,
    },
    /// The program that prints credentials failed.
    #[error("the program for credentials failed: {reason}")]
    CredentialProcess {
        /// What it wrote to standard error, or what its output lacks.
        reason: String,
    },
    /// A thread for requests cannot be started.
    #[error("cannot start threads for requests: {reason}")]
    Threads {
        /// The system's error.
        reason: String,
    },
    /// The request failed, after all retries.
    #[error("{reason}")]
    Failed {
        /// The last answer of the store, or why there is none.
        reason: String,
    },
}

#[cfg(feature = "stores")]
mod of_client {
    use super::Error;
    use crate::shown_url;

    /// Longest text of an answer in a message: the answers of proxies are pages.
    const ANSWER_CHARS: usize = 300;

    impl Error {
        /// What an error of the client means.
        pub(crate) fn of(error: &object_store::Error) -> Self {
            // The providers of credentials are ours.
            let causes = || {
                std::iter::successors(
                    Some(error as &(dyn std::error::Error + 'static)),
                    |&error| error.source(),
                )
            };
            if let Some(own) = causes().find_map(|cause| cause.downcast_ref::<Self>()) {
                return own.clone();
            }
            // The client has no other sign of an endpoint that begins with `http:`.
            if causes().any(|cause| cause.to_string() == "URL scheme is not allowed") {
                return Self::NoTls;
            }
            let text = match std::error::Error::source(error) {
                Some(cause) => brief(&cause.to_string()),
                None => brief(&error.to_string()),
            };
            match error {
                // In S3 and Google Cloud Storage, and in Azure.
                object_store::Error::NotFound { .. }
                    if ["NoSuchBucket", "ContainerNotFound"]
                        .iter()
                        .any(|code| text.contains(code)) =>
                {
                    Self::NoBucket
                }
                object_store::Error::NotFound { .. } => Self::NotFound,
                object_store::Error::Precondition { .. } => Self::Changed,
                object_store::Error::PermissionDenied { .. }
                | object_store::Error::Unauthenticated { .. } => Self::Denied { reason: text },
                // Wrong credentials and clocks are 400 and 401 in some stores.
                _ if ["ExpiredToken", "InvalidToken", "TokenRefreshRequired"]
                    .iter()
                    .any(|code| text.contains(code)) =>
                {
                    Self::Denied { reason: text }
                }
                object_store::Error::UnknownConfigurationKey { key, .. } => {
                    Self::UnknownOption { name: key.clone() }
                }
                _ => Self::Failed { reason: text },
            }
        }
    }

    /// One line, with URLs as shown, and with the code and the message only of
    /// an answer in XML.
    fn brief(text: &str) -> String {
        let element = |name: &str| {
            let (_, after) = text.split_once(&format!("<{name}>"))?;
            let (inside, _) = after.split_once('<')?;
            Some(inside)
        };
        let answer = match (text.find('<'), element("Code")) {
            (Some(start), Some(code)) => {
                let message = element("Message").unwrap_or_default();
                format!("{}{code}: {message}", &text[..start])
            }
            _ => text.to_owned(),
        };
        let words = answer.split_whitespace().map(|word| {
            let (before, url) = word.split_at(word.find("http").unwrap_or(word.len()));
            format!("{before}{}", shown_url(url.as_ref()))
        });
        let line = words.collect::<Vec<_>>().join(" ");
        line.chars().take(ANSWER_CHARS).collect()
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn an_answer_is_one_line_without_signatures() {
            let text = "GET http://user:pass@h/k?X-Amz-Signature=0 - 403:\n <Error><Code>ExpiredToken</Code>\
                        <Message>The token has expired.</Message></Error>";
            assert_eq!(
                brief(text),
                "GET http://h/k - 403: ExpiredToken: The token has expired."
            );
        }
    }
}
