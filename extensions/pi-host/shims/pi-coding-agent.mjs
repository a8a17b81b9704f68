// What extensions import from the package `pi-coding-agent`. Names that are missing here are not served.

import { lazily, lazyClass } from "../coding/lazy.mjs";

export { CONFIG_DIR_NAME, getAgentDir } from "../paths.mjs";
export * from "../coding/package.mjs";
export * from "../coding/events.mjs";
export {
  DEFAULT_MAX_BYTES,
  DEFAULT_MAX_LINES,
  formatSize,
  truncateHead,
  truncateLine,
  truncateTail,
} from "../coding/truncate.mjs";
export { withFileMutationQueue } from "../coding/file_queue.mjs";
export {
  DEFAULT_COMPACTION_SETTINGS,
  calculateContextTokens,
  estimateTokens,
  getLastAssistantUsage,
  shouldCompact,
} from "../coding/tokens.mjs";
export * from "../coding/tools.mjs";

export const CURRENT_SESSION_VERSION = 3;
export const SessionManager = lazyClass("../session_manager.mjs", "SessionManager");
export const buildContextEntries = lazily("../session/context.mjs", "buildContextEntries");
export const buildSessionContext = lazily("../session/context.mjs", "buildSessionContext");
export const buildSessionProjection = lazily("../session/context.mjs", "buildSessionProjection");
export const getLatestCompactionEntry = lazily("../session/context.mjs", "getLatestCompactionEntry");
export const sessionEntryToContextMessages = lazily("../session/context.mjs", "sessionEntryToContextMessages");
export const migrateSessionEntries = lazily("../session/file.mjs", "migrateSessionEntries");
export const parseSessionEntries = lazily("../session/file.mjs", "parseSessionEntries");
export const convertToLlm = lazily("../session/messages.mjs", "convertToLlm");
export const serializeConversation = lazily("./conversation.mjs", "serializeConversation");

export const parseFrontmatter = lazily("./front_matter.mjs", "parseFrontmatter");
export const stripFrontmatter = lazily("./front_matter.mjs", "stripFrontmatter");

export const createLocalBashOperations = lazily("./shell.mjs", "createLocalBashOperations");
export const createLocalPowerShellOperations = lazily("./shell.mjs", "createLocalPowerShellOperations");
export const getShellConfig = lazily("./shell.mjs", "getShellConfig");
export const getPowerShellConfig = lazily("./shell.mjs", "getPowerShellConfig");
export const copyToClipboard = lazily("./clipboard.mjs", "copyToClipboard");
export const parseArgs = lazily("./arguments.mjs", "parseArgs");

export const generateDiffString = lazily("./line_diff.mjs", "generateDiffString");
export const generateUnifiedPatch = lazily("./line_diff.mjs", "generateUnifiedPatch");

export const findCutPoint = lazily("./compaction.mjs", "findCutPoint");
export const findTurnStartIndex = lazily("./compaction.mjs", "findTurnStartIndex");
export const prepareCompaction = lazily("./compaction.mjs", "prepareCompaction");
export const compact = lazily("./compaction.mjs", "compact");
export const generateSummary = lazily("./compaction.mjs", "generateSummary");
export const generateSummaryWithUsage = lazily("./compaction.mjs", "generateSummaryWithUsage");
export const generateBranchSummary = lazily("./compaction.mjs", "generateBranchSummary");
export const prepareBranchEntries = lazily("./compaction.mjs", "prepareBranchEntries");
export const collectEntriesForBranchSummary = lazily("./compaction.mjs", "collectEntriesForBranchSummary");

export const loadSkills = lazily("./skills.mjs", "loadSkills");
export const loadSkillsFromDir = lazily("./skills.mjs", "loadSkillsFromDir");
export const formatSkillsForPrompt = lazily("./skills.mjs", "formatSkillsForPrompt");
export const loadProjectContextFiles = lazily("./project_files.mjs", "loadProjectContextFiles");
export const hasTrustRequiringProjectResources = lazily("./project_files.mjs", "hasTrustRequiringProjectResources");
export const ProjectTrustStore = lazyClass("./project_files.mjs", "ProjectTrustStore");

export const SettingsManager = lazyClass("./settings.mjs", "SettingsManager");
export const ModelRegistry = lazyClass("./model_registry.mjs", "ModelRegistry");
export const AuthStorage = lazyClass("./auth_storage.mjs", "AuthStorage");
export const FileAuthStorageBackend = lazyClass("./auth_storage.mjs", "FileAuthStorageBackend");
export const InMemoryAuthStorageBackend = lazyClass("./auth_storage.mjs", "InMemoryAuthStorageBackend");
export const readStoredCredential = lazily("./auth_storage.mjs", "readStoredCredential");

export const detectSupportedImageMimeTypeFromFile = lazily("./images.mjs", "detectSupportedImageMimeTypeFromFile");
export const formatDimensionNote = lazily("./images.mjs", "formatDimensionNote");
export const resizeImage = lazily("./images.mjs", "resizeImage");
export const convertToPng = lazily("./images.mjs", "convertToPng");

const component = (name) => lazyClass("./components.mjs", name);
export const DynamicBorder = component("DynamicBorder");
export const BorderedLoader = component("BorderedLoader");
export const CustomEditor = component("CustomEditor");
export const ExtensionSelectorComponent = component("ExtensionSelectorComponent");
export const ExtensionInputComponent = component("ExtensionInputComponent");
export const ExtensionEditorComponent = component("ExtensionEditorComponent");
export const ThinkingSelectorComponent = component("ThinkingSelectorComponent");
export const ShowImagesSelectorComponent = component("ShowImagesSelectorComponent");
export const ThemeSelectorComponent = component("ThemeSelectorComponent");
export const UserMessageSelectorComponent = component("UserMessageSelectorComponent");

const messageComponent = (name) => lazyClass("./message_components.mjs", name);
export const UserMessageComponent = messageComponent("UserMessageComponent");
export const AssistantMessageComponent = messageComponent("AssistantMessageComponent");
export const CustomMessageComponent = messageComponent("CustomMessageComponent");
export const BranchSummaryMessageComponent = messageComponent("BranchSummaryMessageComponent");
export const CompactionSummaryMessageComponent = messageComponent("CompactionSummaryMessageComponent");
export const SkillInvocationMessageComponent = messageComponent("SkillInvocationMessageComponent");
export const BashExecutionComponent = messageComponent("BashExecutionComponent");
export const ToolExecutionComponent = messageComponent("ToolExecutionComponent");

export const Theme = lazyClass("../tui/theme.mjs", "PlainTheme");
export const initTheme = lazily("./display.mjs", "initTheme");
export const getMarkdownTheme = lazily("./display.mjs", "getMarkdownTheme");
export const getSelectListTheme = lazily("./display.mjs", "getSelectListTheme");
export const getSettingsListTheme = lazily("./display.mjs", "getSettingsListTheme");
export const getLanguageFromPath = lazily("./display.mjs", "getLanguageFromPath");
export const highlightCode = lazily("./display.mjs", "highlightCode");
export const renderDiff = lazily("./display.mjs", "renderDiff");
export const truncateToVisualLines = lazily("./display.mjs", "truncateToVisualLines");
export const formatReadLineRange = lazily("./display.mjs", "formatReadLineRange");
export const keyHint = lazily("./display.mjs", "keyHint");
export const keyText = lazily("./display.mjs", "keyText");
export const rawKeyHint = lazily("./display.mjs", "rawKeyHint");

// Agents beside the user's session.
export const createAgentSession = lazily("./sdk/create.mjs", "createAgentSession");
export const AgentSession = lazyClass("./sdk/agent_session.mjs", "AgentSession");
export const DefaultResourceLoader = lazyClass("./sdk/resource_loader.mjs", "DefaultResourceLoader");
export const ModelRuntime = lazyClass("./sdk/model_runtime.mjs", "ModelRuntime");
export const createExtensionRuntime = lazily("./sdk/inline_extensions.mjs", "createExtensionRuntime");
export const resolveCliModel = lazily("./sdk/model_names.mjs", "resolveCliModel");
export const resolveModelScopeWithDiagnostics = lazily("./sdk/model_names.mjs", "resolveModelScopeWithDiagnostics");

// Names of old versions for the same functions.
export const appKey = keyText;
export const appKeyHint = keyHint;
export const editorKey = keyText;
