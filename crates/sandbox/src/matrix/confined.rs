//! The sandbox as the checker uses it: as a session does, but for the level, which is chosen.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use bowline_core::sandbox::{SandboxLevel, SandboxMode};
use bowline_tools::{BoxFuture, CommandEnvironment, CommandRequest, Confinement, Inherit, Options};
use tokio_util::sync::CancellationToken;

use super::runner::{Opener, Place, Ran, Runner};
use crate::sandbox::Sandbox;
use crate::wishes::Wishes;

/// Confines commands in the real way.
pub struct Confined {
    pub level: SandboxLevel,
    /// The program that is a keeper when it is started in that role.
    pub program: PathBuf,
    /// The environment of this process.
    pub environment: Vec<(OsString, OsString)>,
    pub temporary_directory: PathBuf,
}

struct Running {
    sandbox: Arc<Sandbox>,
    options: Arc<Options>,
    place: Place,
}

impl Confined {
    fn options(&self, place: &Place) -> Options {
        let mut all = self.environment.clone();
        all.retain(|(name, _)| name != "HOME");
        all.push(("HOME".into(), place.home.clone().into()));
        all.extend(place.environment.iter().map(|(name, value)| (name.into(), value.into())));
        Options {
            home_directory: Some(place.home.clone()),
            own_folder: Some(place.state.clone()),
            sessions_end_with_process: true,
            environment: CommandEnvironment::new(
                move || all.clone(),
                Inherit::Scrubbed,
                Vec::new(),
                Vec::new,
                |_| {},
            ),
            ..Options::default()
        }
    }

    fn sandbox(&self, place: &Place, options: &Arc<Options>) -> Result<Arc<Sandbox>, crate::Error> {
        let wishes = Wishes {
            mode: SandboxMode::WorkspaceWrite,
            network: place.network,
            hosts: place.hosts.clone(),
            minimum: self.level,
            ..Wishes::default()
        };
        let sandbox_place = crate::sandbox::Place {
            working_directory: place.workspace.clone(),
            user_home: Some(place.home.clone()),
            account_home: None,
            own_folder: place.state.clone(),
            own_places: vec![place.state.clone()],
            temporary_directory: self.temporary_directory.clone(),
            program: self.program.clone(),
            options: Arc::clone(options),
            level: Some(self.level),
            denied: Arc::new(|| Ok(crate::sandbox::Denied::default())),
        };
        Sandbox::new(wishes, sandbox_place)
    }
}

impl Opener for Confined {
    fn open(&self, place: Place) -> BoxFuture<'_, Result<Box<dyn Runner>, String>> {
        Box::pin(async move {
            let options = Arc::new(self.options(&place));
            let sandbox = self.sandbox(&place, &options).map_err(|error| error.to_string())?;
            sandbox.prove(None).await?;
            Ok(Box::new(Running { sandbox, options, place }) as Box<dyn Runner>)
        })
    }
}

impl Runner for Running {
    fn run(&self, command: String) -> BoxFuture<'_, Result<Ran, String>> {
        let request = CommandRequest {
            command,
            working_directory: self.place.workspace.clone(),
            environment: Vec::new(),
            session_id: None,
            options: Arc::clone(&self.options),
            cancel: CancellationToken::new(),
        };
        Box::pin(async move {
            let output = Box::new(|_| -> BoxFuture<'_, ()> { Box::pin(std::future::ready(())) });
            let outcome =
                self.sandbox.run_command(request, output).await.map_err(|error| error.to_string())?;
            Ok(Ran { output: outcome.output, exit_code: outcome.exit_code })
        })
    }
}
