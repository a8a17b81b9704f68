//! The extensions of a session, in the order in which hooks call them, and what they offer.

use std::sync::{Arc, Weak};

use bowline_core::hook::{HookEvent, HookKind, Subscription};
use bowline_core::reply::SlashCommand;

use crate::extension::{About, Attached, Extension, Host, SessionLink};
use crate::input::Inputs;

/// The extensions of a session.
#[derive(Debug, Default)]
pub(crate) struct Extensions {
    hosts: Vec<Seat>,
    /// All extensions in order, so that a hook without subscribers costs little.
    extensions: Vec<Member>,
    commands: Vec<OfferedCommands>,
}

/// A host's place.
#[derive(Debug)]
struct Seat {
    place: usize,
    attached: Box<dyn Attached>,
    is_ready: bool,
}

/// An extension and the place of its host.
#[derive(Debug, Clone)]
struct Member {
    host: usize,
    extension: Arc<dyn Extension>,
}

/// The commands of one extension.
#[derive(Debug)]
struct OfferedCommands {
    host: usize,
    extension: Arc<str>,
    commands: Vec<SlashCommand>,
}

impl Extensions {
    /// Lets every host take part in a session.
    pub fn attach(hosts: &[Arc<dyn Host>], inputs: &Inputs, session: &Weak<()>, about: &About) -> Self {
        let mut extensions = Self::default();
        for (place, host) in hosts.iter().enumerate() {
            let link = SessionLink::new(inputs.clone(), Weak::clone(session), place);
            if let Some(attached) = host.attach(link, about.clone()) {
                extensions.hosts.push(Seat { place, attached, is_ready: false });
            }
        }
        extensions.refresh();
        extensions
    }

    /// Tells whether there are none and none are to come.
    pub fn is_empty(&self) -> bool {
        self.hosts.is_empty()
    }

    /// Tells whether every host has said that its extensions have registered.
    pub fn are_ready(&self) -> bool {
        self.hosts.iter().all(|seat| seat.is_ready)
    }

    /// Notes that a host's extensions have registered. Returns whether that made all of them ready.
    pub fn set_ready(&mut self, host: usize) -> bool {
        let were_ready = self.are_ready();
        for seat in self.hosts.iter_mut().filter(|seat| seat.place == host) {
            seat.is_ready = true;
        }
        self.refresh();
        !were_ready && self.are_ready()
    }

    /// Takes the extensions from their hosts again.
    pub fn refresh(&mut self) {
        let members = self.hosts.iter().flat_map(|seat| {
            let extensions = seat.attached.extensions().into_iter();
            extensions.map(|extension| Member { host: seat.place, extension })
        });
        self.extensions = members.collect();
    }

    /// Returns the extensions that are called and waited for, in order.
    pub fn awaiting(&self, hook: HookKind, tool: Option<&str>) -> Vec<Arc<dyn Extension>> {
        self.subscribed(hook, tool, Subscription::Awaited).cloned().collect()
    }

    /// Tells whether an extension is called and waited for.
    pub fn is_awaited(&self, hook: HookKind, tool: Option<&str>) -> bool {
        self.subscribed(hook, tool, Subscription::Awaited).next().is_some()
    }

    /// Tells the extensions that are not waited for of an event.
    pub fn tell(&self, event: &HookEvent) {
        for extension in self.subscribed(event.kind(), event.tool(), Subscription::Told) {
            extension.tell(event);
        }
    }

    /// Tells whether an extension wants to know of a hook in any way.
    pub fn is_subscribed(&self, hook: HookKind, tool: Option<&str>) -> bool {
        self.extensions.iter().any(|member| member.extension.subscription(hook, tool) != Subscription::None)
    }

    fn subscribed<'a>(
        &'a self,
        hook: HookKind,
        tool: Option<&'a str>,
        how: Subscription,
    ) -> impl Iterator<Item = &'a Arc<dyn Extension>> {
        let members = self.extensions.iter();
        members
            .filter(move |member| member.extension.subscription(hook, tool) == how)
            .map(|member| &member.extension)
    }

    /// Returns all extensions in order.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<dyn Extension>> {
        self.extensions.iter().map(|member| &member.extension)
    }

    /// Replaces the commands that an extension offers.
    pub fn set_commands(&mut self, host: usize, extension: Arc<str>, commands: Vec<SlashCommand>) {
        self.commands.retain(|offered| !(offered.host == host && offered.extension == extension));
        if !commands.is_empty() {
            self.commands.push(OfferedCommands { host, extension, commands });
        }
    }

    /// Returns the commands of all extensions in the order of the extensions. Those of the same name are numbered.
    pub fn commands(&self) -> Vec<SlashCommand> {
        self.offered().into_iter().map(|(_, _, command)| command).collect()
    }

    /// Returns the extension that offers a command of this name, and the name that it knows the command by.
    pub fn command(&self, name: &str) -> Option<(Arc<dyn Extension>, String)> {
        let offered = self.offered();
        let (extension, own_name, _) = offered.into_iter().find(|(_, _, command)| command.name == name)?;
        Some((extension, own_name))
    }

    fn offered(&self) -> Vec<(Arc<dyn Extension>, String, SlashCommand)> {
        let mut offered: Vec<(Arc<dyn Extension>, String, SlashCommand)> = Vec::new();
        for Member { host, extension } in &self.extensions {
            let name = extension.name();
            let of_extension =
                self.commands.iter().filter(|offered| offered.host == *host && offered.extension == name);
            for command in of_extension.flat_map(|offered| &offered.commands) {
                offered.push((Arc::clone(extension), command.name.clone(), command.clone()));
            }
        }
        let names: Vec<_> = offered.iter().map(|(_, name, _)| name.clone()).collect();
        for (index, (_, name, command)) in offered.iter_mut().enumerate() {
            if names.iter().filter(|other| *other == name).count() > 1 {
                let number = names[..=index].iter().filter(|other| *other == name).count();
                command.name = format!("{name}:{number}");
            }
        }
        offered
    }

    /// Returns what ends the extensions, to be waited for a bounded time.
    pub fn stop(&self) -> impl Future<Output = ()> + Send + 'static {
        let stops: Vec<_> = self.hosts.iter().map(|seat| seat.attached.stop()).collect();
        async move {
            for stop in stops {
                stop.await;
            }
        }
    }
}
