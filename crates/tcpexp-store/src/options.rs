//! Options of stores.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use crate::Error;

/// Time from the first attempt after which a request is not repeated. Stores that are overloaded
/// answer again within seconds; a user waits for about a minute for the error.
#[cfg(feature = "stores")]
const RETRY_TIME: Duration = Duration::from_secs(60);

/// Options for all stores of a program, by the names of the `object_store` crate, such as
/// `aws_endpoint`, `aws_region`, `google_service_account`, `azure_storage_account_name`, `allow_http`
/// and `timeout`.
///
/// An option of one store has no effect on the URLs of other stores. Settings without an option come
/// from the places where the tools of the provider look for them:
///
/// - S3: the environment (`AWS_ACCESS_KEY_ID`, `AWS_REGION`, `AWS_ENDPOINT_URL`, …), the profile
///   `AWS_PROFILE` or `default` of `~/.aws/credentials` and `~/.aws/config`, the identity of the
///   container or machine. For a profile with single sign-on or another role, `aws configure
///   export-credentials` is run.
/// - Google Cloud Storage: `GOOGLE_SERVICE_ACCOUNT`, `GOOGLE_APPLICATION_CREDENTIALS`, the credentials
///   of `gcloud auth application-default login`, the machine's service account.
/// - Azure: `AZURE_STORAGE_ACCOUNT_NAME` and `AZURE_STORAGE_ACCOUNT_KEY`, other variables of this kind,
///   the managed identity, and with the option `use_azure_cli=true` those of `az login`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StoreOptions {
    options: Vec<StoreOption>,
    /// `None` for a minute.
    retry_time: Option<Duration>,
}

/// One option.
///
/// From text, it is `NAME=VALUE`.
#[derive(Clone, PartialEq, Eq)]
pub struct StoreOption {
    pub(crate) name: String,
    pub(crate) value: String,
}

impl FromIterator<StoreOption> for StoreOptions {
    fn from_iter<I: IntoIterator<Item = StoreOption>>(options: I) -> Self {
        Self {
            options: options.into_iter().collect(),
            retry_time: None,
        }
    }
}

impl StoreOptions {
    /// Sets the time for which a request that fails is repeated. Default: a minute.
    #[must_use]
    pub fn retrying_for(mut self, time: Duration) -> Self {
        self.retry_time = Some(time);
        self
    }
}

impl FromStr for StoreOption {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let Some((name, value)) = text.split_once('=').filter(|(name, _)| !name.is_empty()) else {
            // Without the text, which may be a key.
            return Err(Error::NoOption);
        };
        let name = name.trim().to_lowercase();
        #[cfg(feature = "stores")]
        if !is_known(&name) {
            return Err(Error::UnknownOption { name });
        }
        Ok(Self {
            name,
            value: value.to_owned(),
        })
    }
}

impl fmt::Debug for StoreOption {
    /// Without the value, which may be a key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}=…", self.name)
    }
}

#[cfg(feature = "stores")]
impl StoreOptions {
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        let options = self.options.iter();
        options.map(|option| (option.name.as_str(), option.value.as_str()))
    }

    pub(crate) fn retry_time(&self) -> Duration {
        self.retry_time.unwrap_or(RETRY_TIME)
    }

    /// True if one of the options is set.
    pub(crate) fn has(&self, names: &[&str]) -> bool {
        self.iter().any(|(name, _)| names.contains(&name))
    }
}

/// True if one of the stores has this option.
#[cfg(feature = "stores")]
fn is_known(name: &str) -> bool {
    name.parse::<object_store::aws::AmazonS3ConfigKey>().is_ok()
        || name.parse::<object_store::gcp::GoogleConfigKey>().is_ok()
        || name.parse::<object_store::azure::AzureConfigKey>().is_ok()
        || name.parse::<object_store::ClientConfigKey>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_option_has_a_name_and_a_value() {
        let option: StoreOption = "AWS_ENDPOINT=http://localhost:9000/?a=b".parse().unwrap();
        assert_eq!(option.name, "aws_endpoint");
        assert_eq!(option.value, "http://localhost:9000/?a=b");
        assert_eq!(format!("{option:?}"), "aws_endpoint=…");
        for text in ["aws_endpoint", "=x", ""] {
            let error = text.parse::<StoreOption>().unwrap_err();
            assert!(matches!(error, Error::NoOption), "{text}");
        }
    }

    #[cfg(feature = "stores")]
    #[test]
    fn an_option_that_no_store_has_is_an_error() {
        let error = "aws_endpiont=x".parse::<StoreOption>().unwrap_err();
        assert!(matches!(error, Error::UnknownOption { .. }));
        for name in [
            "aws_region",
            "allow_http",
            "timeout",
            "google_service_account",
            "azure_storage_account_name",
        ] {
            assert!(format!("{name}=1").parse::<StoreOption>().is_ok(), "{name}");
        }
    }
}
