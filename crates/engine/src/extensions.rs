//! The extensions of a session, in the order in which hooks call them, and what they offer.

use std::sync::Arc;

use bowline_core::extension_info::ExtensionInfo;
use bowline_core::hook::{HookEvent, HookKind, Subscription};
use bowline_core::reply::SlashCommand;
use futures_util::future::join_all;

use crate::extension::{About, Attached, Extension, Host, HostId, SessionLink};
use crate::input::Inputs;

/// The extensions of a session.
#[derive(Debug, Default)]
pub(crate) struct Extensions {
    /// How often hosts were attached before, so that nothing is taken from those that were detached.
    attachment: u64,
    /// The links of the hosts are open while this is there.
    alive: Arc<()>,
    hosts: Vec<Seat>,
    /// All extensions in order, so that a hook without subscribers costs little.
    extensions: Vec<Member>,
    commands: Vec<OfferedCommands>,
    /// All commands in order, with the names that clients know them by.
    listed: Vec<Listed>,
    /// The same for clients and extensions, which ask for it often.
    listed_commands: Arc<[SlashCommand]>,
}

/// A command, the extension that offers it and the name that the extension knows it by.
#[derive(Debug)]
struct Listed {
    extension: Arc<dyn Extension>,
    own_name: String,
    command: SlashCommand,
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
    pub fn attach(&mut self, hosts: &[Arc<dyn Host>], inputs: &Inputs, about: &About) {
        for (place, host) in hosts.iter().enumerate() {
            let id = HostId { place, attachment: self.attachment };
            let link = SessionLink::new(inputs.clone(), Arc::downgrade(&self.alive), id);
            if let Some(attached) = host.attach(link, about.clone()) {
                self.hosts.push(Seat { place, attached, is_ready: false });
            }
        }
        self.refresh();
    }

    /// Takes the hosts out of the session. Nothing that they send reaches it any longer.
    pub fn detach(&mut self) -> DetachedHosts {
        let empty = Self { attachment: self.attachment + 1, ..Self::default() };
        let Self { hosts, .. } = std::mem::replace(self, empty);
        DetachedHosts(hosts.into_iter().map(|seat| seat.attached).collect())
    }

    /// Returns the place of a host, unless it was detached.
    pub fn place(&self, host: HostId) -> Option<usize> {
        (host.attachment == self.attachment).then_some(host.place)
    }

    /// Tells whether there are none and none are to come.
    pub fn is_empty(&self) -> bool {
        self.hosts.is_empty()
    }

    /// Returns what clients are told of the extensions; nothing waits for them.
    pub fn describe(&self) -> Vec<ExtensionInfo> {
        self.hosts.iter().flat_map(|seat| seat.attached.describe()).collect()
    }

    /// Tells whether every host has said that its extensions have registered.
    pub fn are_ready(&self) -> bool {
        self.hosts.iter().all(|seat| seat.is_ready)
    }

    /// Stops waiting for hosts.
    pub fn give_up_waiting(&mut self) {
        for seat in &mut self.hosts {
            seat.is_ready = true;
        }
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
        self.list_commands();
    }

    /// Returns the names of the extensions that have a say in tool calls.
    pub fn guards(&self) -> Arc<[Arc<str>]> {
        let guards = self.subscribed(HookKind::ToolCall, None, Subscription::Awaited);
        guards.map(|extension| extension.name()).collect()
    }

    /// Returns the extensions that are called and waited for, in order.
    pub fn awaiting(&self, hook: HookKind, tool: Option<&str>) -> Vec<Arc<dyn Extension>> {
        self.subscribed(hook, tool, Subscription::Awaited).cloned().collect()
    }

    /// Returns the extensions that are told without being waited for, in order.
    pub fn telling(&self, hook: HookKind) -> Vec<Arc<dyn Extension>> {
        self.subscribed(hook, None, Subscription::Told).cloned().collect()
    }

    /// Tells whether an extension is called and waited for.
    pub fn is_awaited(&self, hook: HookKind, tool: Option<&str>) -> bool {
        self.subscribed(hook, tool, Subscription::Awaited).next().is_some()
    }

    /// Tells whether an extension is told without being waited for.
    pub fn is_told(&self, hook: HookKind, tool: Option<&str>) -> bool {
        self.subscribed(hook, tool, Subscription::Told).next().is_some()
    }

    /// Tells the extensions that are not waited for of an event.
    pub fn tell(&self, event: &HookEvent) {
        for extension in self.subscribed(event.kind(), event.tool(), Subscription::Told) {
            extension.tell(event);
        }
    }

    /// Tells all extensions that want to know of an event, also those that would be waited for.
    pub fn tell_everyone(&self, event: &HookEvent) {
        for member in &self.extensions {
            if member.extension.subscription(event.kind(), event.tool()) != Subscription::None {
                member.extension.tell(event);
            }
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
        self.list_commands();
    }

    /// Returns the commands of all extensions in the order of the extensions. Those of the same name are numbered.
    pub fn commands(&self) -> Arc<[SlashCommand]> {
        Arc::clone(&self.listed_commands)
    }

    /// Returns the extension that offers a command of this name, and the name that it knows the command by.
    pub fn command(&self, name: &str) -> Option<(Arc<dyn Extension>, String)> {
        let listed = self.listed.iter().find(|listed| listed.command.name == name)?;
        Some((Arc::clone(&listed.extension), listed.own_name.clone()))
    }

    fn list_commands(&mut self) {
        let mut listed = Vec::new();
        for Member { host, extension } in &self.extensions {
            let name = extension.name();
            let offered =
                self.commands.iter().filter(|offered| offered.host == *host && offered.extension == name);
            for command in offered.flat_map(|offered| &offered.commands) {
                let (extension, own_name) = (Arc::clone(extension), command.name.clone());
                listed.push(Listed { extension, own_name, command: command.clone() });
            }
        }
        let names: Vec<_> = listed.iter().map(|listed| listed.own_name.clone()).collect();
        for (index, Listed { own_name, command, .. }) in listed.iter_mut().enumerate() {
            if names.iter().filter(|other| *other == own_name).count() > 1 {
                let number = names[..=index].iter().filter(|other| *other == own_name).count();
                command.name = format!("{own_name}:{number}");
            }
        }
        self.listed_commands = listed.iter().map(|listed| listed.command.clone()).collect();
        self.listed = listed;
    }

    /// Returns what ends the extensions, to be waited for a bounded time.
    pub fn stop(&self) -> impl Future<Output = ()> + Send + 'static {
        let stops: Vec<_> = self.hosts.iter().map(|seat| seat.attached.stop()).collect();
        async move { drop(join_all(stops).await) }
    }
}

/// Hosts that do not take part in the session any longer. Dropping them ends what they started.
#[derive(Debug)]
pub(crate) struct DetachedHosts(Vec<Box<dyn Attached>>);

impl DetachedHosts {
    /// Ends the extensions of the hosts.
    pub async fn stop(&self) {
        join_all(self.0.iter().map(|attached| attached.stop())).await;
    }
}
