//! Logging in to providers.

use bowline_core::command::Command;
use bowline_core::login::LoginProvider;
use schemars::JsonSchema;
use serde::Serialize;

use crate::command_table::Action::Engine;
use crate::command_table::Row;
use crate::fields::Field;
use crate::fields::Kind::Text;
use crate::schema::schema_of;

pub(crate) const GET_LOGIN_PROVIDERS: Row = Row {
    name: "get_login_providers",
    about: "Returns the providers that a user may log in to, and whether there is a key for each.",
    fields: &[],
    result: Some(schema_of::<LoginProviders<'_>>()),
    action: Engine(|_| Command::GetLoginProviders),
};

pub(crate) const LOGIN: Row = Row {
    name: "login",
    about: "Logs the user in to a provider. If an extension carries out its logins, the extension shows and asks what it \
            needs; otherwise the user is asked for the API key with an `input`, after they were shown the page where keys are \
            made, if that is known. What comes of it is stored in `auth.json` and used from the next request on. Fails with \
            `cancelled` if the user enters nothing, on `abort` and when the session changes. Other commands are carried out \
            meanwhile.",
    fields: &[Field::required("providerId", Text, "The `id` of a provider.")],
    result: Some(schema_of::<LoggedIn<'_>>()),
    action: Engine(|mut fields| Command::Login { provider: fields.text("providerId") }),
};

/// The providers that a user may log in to.
#[derive(Serialize, JsonSchema)]
pub(crate) struct LoginProviders<'reply> {
    providers: Vec<LoginProviderRecord<'reply>>,
}

/// A provider that a user may log in to.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "LoginProvider")]
struct LoginProviderRecord<'reply> {
    id: &'reply str,
    /// The name for people.
    name: &'reply str,
    /// Whether the user can log in to it with `login`.
    available: bool,
    /// Whether there is a key for it, or it needs none.
    authenticated: bool,
}

/// The provider that the user has logged in to.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct LoggedIn<'reply> {
    pub provider_id: &'reply str,
}

impl<'reply> LoginProviders<'reply> {
    pub fn new(providers: &'reply [LoginProvider]) -> Self {
        let record = |provider: &'reply LoginProvider| LoginProviderRecord {
            id: &provider.id,
            name: &provider.name,
            available: provider.is_available,
            authenticated: provider.is_authenticated,
        };
        Self { providers: providers.iter().map(record).collect() }
    }
}
