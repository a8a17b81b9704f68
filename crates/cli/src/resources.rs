//! What the command line and the settings say about skills, prompt templates and trust.

use bowline_extension::{ResourceOptions, Resources, Wanted};
use bowline_extension_host::Named;

use crate::arguments::Arguments;
use crate::environment::Environment;
use crate::pi_folder;
use crate::settings::SettingsFile;
use crate::terminal::note;

/// Returns where skills and templates are searched. Nothing is read before it is needed.
pub(crate) fn choose(arguments: &Arguments, environment: &Environment, file: &SettingsFile) -> Resources {
    let options = options(arguments, environment, file);
    Resources::new(options, |message| note(format_args!("bowline: {message}")))
}

/// Returns what the user chose about skills, templates and trust.
pub(crate) fn options(
    arguments: &Arguments,
    environment: &Environment,
    file: &SettingsFile,
) -> ResourceOptions {
    let named = pi_folder::named(arguments, environment, file);
    let root = |named: Named| match named {
        Named::Path(path) => Some(path),
        Named::Package { root, .. } => root.ok(),
    };
    let expand = |path: &String| environment.expand(path);
    ResourceOptions {
        own_folder: environment.home.clone(),
        home: environment.user_home.clone(),
        skills: Wanted {
            paths: arguments.skill_paths.iter().map(expand).collect(),
            entries: file.skills.clone(),
            is_off: arguments.no_skills,
        },
        prompts: Wanted {
            paths: arguments.template_paths.iter().map(expand).collect(),
            entries: file.prompts.clone(),
            is_off: arguments.no_templates,
        },
        packages: pi_folder::packages(file),
        named_packages: named.into_iter().filter_map(root).collect(),
        skill_names: arguments.skill_names.clone(),
        without_skill_commands: file.skill_commands == Some(false),
        approval: arguments.approval,
        default_trust: file.default_trust,
        imports_claude_hooks: file.imports_claude_hooks,
    }
}
