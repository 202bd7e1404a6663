//! Credentials that a program prints.

use std::io;
use std::process::{Command, Output};
use std::sync::Arc;

use async_trait::async_trait;
use chrono::{DateTime, TimeDelta, Utc};
use object_store::CredentialProvider;
use object_store::aws::AwsCredential;
use serde::Deserialize;
use tokio::sync::Mutex;

use crate::Error;

/// Credentials that are this close to their end are asked for again, so that a request that starts
/// with them is answered. The tools of AWS refresh at 5 to 15 minutes.
const REFRESH_BEFORE: TimeDelta = TimeDelta::minutes(5);

/// A program that prints credentials in the form of a `credential_process` of AWS.
#[derive(Clone, Debug)]
pub(crate) enum Program {
    /// A command line of the configuration.
    Command(String),
    /// The command `aws`, which can sign in with every kind of profile.
    AwsTool {
        /// Name of the profile.
        profile: String,
    },
}

/// Runs a program for credentials, and again before they expire.
#[derive(Debug)]
pub(crate) struct ProgramCredentials {
    program: Program,
    known: Mutex<Option<Known>>,
}

struct Known {
    credential: Arc<AwsCredential>,
    /// `None` if they do not expire.
    until: Option<DateTime<Utc>>,
}

impl std::fmt::Debug for Known {
    /// Without the keys.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "until {:?}", self.until)
    }
}

impl ProgramCredentials {
    pub(crate) fn new(program: Program) -> Self {
        Self {
            program,
            known: Mutex::new(None),
        }
    }
}

#[async_trait]
impl CredentialProvider for ProgramCredentials {
    type Credential = AwsCredential;

    async fn get_credential(&self) -> object_store::Result<Arc<AwsCredential>> {
        // One program runs for all requests that wait for it.
        let mut known = self.known.lock().await;
        if let Some(Known { credential, until }) = &*known
            && until.is_none_or(|until| until - REFRESH_BEFORE > Utc::now())
        {
            return Ok(Arc::clone(credential));
        }
        let program = self.program.clone();
        let ran = tokio::task::spawn_blocking(move || program.run()).await;
        let ran = ran.unwrap_or_else(|error| Err(failed(error.to_string())));
        let now = ran.map_err(|error| object_store::Error::Generic {
            store: "S3",
            source: Box::new(error),
        })?;
        let credential = Arc::clone(&now.credential);
        *known = Some(now);
        Ok(credential)
    }
}

impl Program {
    fn run(&self) -> Result<Known, Error> {
        match self.output() {
            Ok(output) if output.status.success() => parsed(&output.stdout),
            Ok(output) => {
                let text = String::from_utf8_lossy(&output.stderr);
                let lines = text.split_whitespace().collect::<Vec<_>>().join(" ");
                Err(failed(match lines.as_str() {
                    "" => output.status.to_string(),
                    _ => lines,
                }))
            }
            Err(error) => Err(match self {
                Self::AwsTool { profile } if error.kind() == io::ErrorKind::NotFound => {
                    Error::NoAwsCommand {
                        name: profile.clone(),
                    }
                }
                _ => failed(error.to_string()),
            }),
        }
    }

    fn output(&self) -> io::Result<Output> {
        match self {
            // The line may have quotes, as in a shell.
            Self::Command(line) => Command::new("sh").args(["-c", line]).output(),
            Self::AwsTool { profile } => Command::new("aws")
                .args(["configure", "export-credentials", "--format", "process"])
                .args(["--profile", profile])
                .output(),
        }
    }
}

fn failed(reason: String) -> Error {
    Error::CredentialProcess { reason }
}

/// Reads what a program printed.
fn parsed(text: &[u8]) -> Result<Known, Error> {
    #[derive(Deserialize)]
    #[serde(rename_all = "PascalCase")]
    struct Printed {
        access_key_id: String,
        secret_access_key: String,
        session_token: Option<String>,
        expiration: Option<DateTime<Utc>>,
    }
    // The error of a value would print the value, which may be a key.
    let printed: Printed = serde_json::from_slice(text).map_err(|error| {
        failed(format!(
            "its output is not as expected (line {})",
            error.line()
        ))
    })?;
    Ok(Known {
        credential: Arc::new(AwsCredential {
            key_id: printed.access_key_id,
            secret_key: printed.secret_access_key,
            token: printed.session_token,
        }),
        until: printed.expiration,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(line: &str) -> Result<Known, Error> {
        Program::Command(line.to_owned()).run()
    }

    #[test]
    fn a_program_prints_credentials() {
        let known = run(
            r#"echo '{"Version": 1, "AccessKeyId": "ID", "SecretAccessKey": "SECRET",
               "SessionToken": "TOKEN", "Expiration": "2026-01-31T10:00:00+00:00"}'"#,
        )
        .unwrap();
        assert_eq!(known.credential.key_id, "ID");
        assert_eq!(known.credential.token.as_deref(), Some("TOKEN"));
        assert_eq!(
            known.until.unwrap().to_rfc3339(),
            "2026-01-31T10:00:00+00:00"
        );
    }

    #[test]
    fn a_program_that_fails_shows_why() {
        let reason = |line| match run(line) {
            Err(Error::CredentialProcess { reason }) => reason,
            other => panic!("{other:?}"),
        };
        assert_eq!(
            reason("echo 'sign in' >&2; echo first >&2; exit 1"),
            "sign in first"
        );
        assert_eq!(reason("exit 3"), "exit status: 3");
        let leaked = reason(r#"echo '{"AccessKeyId": "ID", "SecretAccessKey": 77}'"#);
        assert!(
            leaked.contains("not as expected") && !leaked.contains("77"),
            "{leaked}"
        );
    }
}
