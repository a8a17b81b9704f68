// The settings that have a getter and a setter of their own: the place in the file, and what it is if it is not set.

const oneOf = (fallback, ...others) => (value) => (others.includes(value) ? value : fallback);
const or = (fallback) => (value) => value ?? fallback;
const list = (value) => [...(value ?? [])];
const optionalList = (value) => (value ? [...value] : undefined);
const between = (least, most) => (value) => Math.max(least, Math.min(most, Math.floor(value)));

/** A setting: `name` as in `get…` and `set…`, the path in the file, how it is read and how it is written. */
function setting(name, path, read = (value) => value, write = (value) => value, options = {}) {
  return { name, path: path.split("."), read, write, ...options };
}

const readOnly = { isReadOnly: true };
const globalOnly = { isGlobal: true };
const inProject = { hasProjectSetter: true };

export const SETTINGS = [
  setting("LastChangelogVersion", "lastChangelogVersion"),
  setting("DefaultProvider", "defaultProvider"),
  setting("DefaultModel", "defaultModel"),
  setting("SteeringMode", "steeringMode", (value) => value || "one-at-a-time"),
  setting("FollowUpMode", "followUpMode", (value) => value || "one-at-a-time"),
  setting("ThemeSetting", "theme", (value) => (typeof value === "string" ? value : undefined), undefined, readOnly),
  // A name with a slash chooses between two themes by the colours of the terminal.
  setting("Theme", "theme", (value) => (typeof value === "string" && !value.includes("/") ? value : undefined)),
  setting("DefaultThinkingLevel", "defaultThinkingLevel"),
  setting("AllModelThinkingLevels", "modelThinkingLevels", (value) => ({ ...value }), undefined, readOnly),
  setting("Transport", "transport", or("auto")),
  setting("CompactionEnabled", "compaction.enabled", or(true)),
  setting("BranchSummarySkipPrompt", "branchSummary.skipPrompt", or(false), undefined, readOnly),
  setting("RetryEnabled", "retry.enabled", or(true)),
  setting("CacheWarmingMode", "cacheWarming", oneOf("streaming", "off", "idle"), undefined, globalOnly),
  setting("HideThinkingBlock", "hideThinkingBlock", or(false)),
  setting("ShowCacheMissNotices", "showCacheMissNotices", or(false)),
  setting("QuietStartup", "quietStartup", or(false)),
  setting("DefaultProjectTrust", "defaultProjectTrust", oneOf("ask", "always", "never"), undefined, globalOnly),
  setting("ShellCommandPrefix", "shellCommandPrefix"),
  setting("NpmCommand", "npmCommand", optionalList, optionalList),
  setting("CollapseChangelog", "collapseChangelog", or(false)),
  setting("EnableInstallTelemetry", "enableInstallTelemetry", or(true)),
  setting("EnableAnalytics", "enableAnalytics", or(false)),
  setting("TrackingId", "trackingId", undefined, undefined, readOnly),
  setting("Packages", "packages", list, undefined, inProject),
  setting("ExtensionPaths", "extensions", list, undefined, inProject),
  setting("SkillPaths", "skills", list, undefined, inProject),
  setting("PromptTemplatePaths", "prompts", list, undefined, inProject),
  setting("ThemePaths", "themes", list, undefined, inProject),
  setting("EnableSkillCommands", "enableSkillCommands", or(true)),
  setting("ThinkingBudgets", "thinkingBudgets", undefined, undefined, readOnly),
  setting("ShowImages", "terminal.showImages", or(true)),
  setting(
    "ImageWidthCells",
    "terminal.imageWidthCells",
    (value) => (Number.isFinite(value) ? Math.max(1, Math.floor(value)) : 60),
    between(1, Infinity),
  ),
  setting("ClearOnShrink", "terminal.clearOnShrink", (value) => value ?? process.env.PI_CLEAR_ON_SHRINK === "1"),
  setting("ShowTerminalProgress", "terminal.showTerminalProgress", or(false)),
  setting("TuiMode", "tuiMode", oneOf("regular", "fullscreen")),
  setting("FullscreenExitOutput", "fullscreenExitOutput", oneOf("transcript", "resume-hint")),
  setting("FullscreenScrollbar", "fullscreenScrollbar", oneOf("auto", "always", "hidden")),
  setting("FullscreenCopyOnSelect", "fullscreenCopyOnSelect", or(true)),
  setting("ImageAutoResize", "images.autoResize", or(true)),
  setting("BlockImages", "images.blockImages", or(false)),
  setting("EnabledModels", "enabledModels"),
  setting("DefaultTools", "defaultTools", optionalList, undefined, readOnly),
  setting("DoubleEscapeAction", "doubleEscapeAction", or("tree")),
  setting("TreeFilterMode", "treeFilterMode", oneOf("default", "no-tools", "user-only", "labeled-only", "all")),
  setting("ShowHardwareCursor", "showHardwareCursor", (value) => value ?? process.env.PI_HARDWARE_CURSOR === "1"),
  setting("EditorPaddingX", "editorPaddingX", or(0), between(0, 3)),
  setting("OutputPad", "outputPad", (value) => (value === 0 ? 0 : 1)),
  setting("AutocompleteMaxVisible", "autocompleteMaxVisible", or(5), between(3, 20)),
  setting("CodeBlockIndent", "markdown.codeBlockIndent", or("  "), undefined, readOnly),
  setting("MermaidRenderingMode", "markdown.mermaid", oneOf("streaming", "off", "final")),
  setting("Warnings", "warnings", (value) => ({ ...value }), (value) => ({ ...value })),
];
