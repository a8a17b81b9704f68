//! Selects the proxy of a request by the usual environment variables.

use std::collections::HashMap;

use reqwest::{NoProxy, Proxy};

/// Hosts that are never reached through a proxy, which could not find them.
const LOCAL: &str = "localhost,127.0.0.0/8,::1";

/// The proxy variables at start.
#[derive(Clone, Default)]
pub(crate) struct ProxySettings {
    /// Name and value of the variable for each scheme.
    plain: Option<(String, String)>,
    secure: Option<(String, String)>,
    except: String,
}

impl ProxySettings {
    /// Selects the proxy variables; lower case takes precedence, as usual.
    pub(crate) fn new(environment: &HashMap<String, String>) -> Self {
        let variable = |name: &str| {
            let spelled = [name.to_owned(), name.to_uppercase()];
            spelled.into_iter().find_map(|name| {
                let value = environment.get(&name)?.trim();
                (!value.is_empty()).then(|| (name, value.to_owned()))
            })
        };
        let all = variable("all_proxy");
        let except =
            variable("no_proxy").map_or_else(|| LOCAL.to_owned(), |(_, list)| format!("{list},{LOCAL}"));
        Self {
            plain: variable("http_proxy").or(all.clone()),
            secure: variable("https_proxy").or(all),
            except,
        }
    }

    /// Returns the proxies for a client. The error is the name of a variable whose value is not a URL.
    pub(crate) fn proxies(&self) -> Result<Vec<Proxy>, String> {
        let mut proxies = Vec::new();
        for (setting, build) in [
            (&self.plain, Proxy::http as fn(String) -> reqwest::Result<Proxy>),
            (&self.secure, Proxy::https as fn(String) -> reqwest::Result<Proxy>),
        ] {
            if let Some((name, url)) = setting {
                let proxy = build(url.clone()).map_err(|_| name.clone())?;
                proxies.push(proxy.no_proxy(NoProxy::from_string(&self.except)));
            }
        }
        Ok(proxies)
    }
}

impl std::fmt::Debug for ProxySettings {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The URL of a proxy may contain a password.
        let names = |setting: &Option<(String, String)>| setting.as_ref().map(|(name, _)| name.clone());
        write!(formatter, "ProxySettings {{ {:?}, {:?} }}", names(&self.plain), names(&self.secure))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(pairs: &[(&str, &str)]) -> ProxySettings {
        let environment = pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        ProxySettings::new(&environment.collect())
    }

    #[test]
    fn variables_select_the_proxies() {
        assert_eq!(settings(&[]).proxies().unwrap().len(), 0);
        assert_eq!(
            settings(&[("HTTPS_PROXY", "http://p:1"), ("http_proxy", "")]).proxies().unwrap().len(),
            1
        );
        assert_eq!(settings(&[("ALL_PROXY", "http://u:secret@p:1")]).proxies().unwrap().len(), 2);
        assert_eq!(settings(&[("https_proxy", "http://[")]).proxies().unwrap_err(), "https_proxy");
    }

    #[test]
    fn password_is_not_shown() {
        let shown = format!("{:?}", settings(&[("ALL_PROXY", "http://u:secret@p:1")]));
        assert!(!shown.contains("secret"), "{shown}");
    }
}
