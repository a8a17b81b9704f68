// pi-tui for extensions: everything that works without a terminal of one's own.
//
// Not here, so that using them says so: ProcessTerminal, TuiMainScreen and TuiAltScreen, which drive a
// real terminal, and Marked, a parser of another package.

export { CombinedAutocompleteProvider } from "../tui/autocomplete.mjs";
export { Box, Container, CURSOR_MARKER, isFocusable, MouseRegion } from "../tui/container.mjs";
export { compositeTuiLine, getOsc8LinkAtColumn, sliceByColumn, truncateToWidth } from "../tui/cut.mjs";
export { Editor } from "../tui/editor.mjs";
export { hyperlink, stripTerminalSequences } from "../tui/escapes.mjs";
export { fuzzyFilter, fuzzyMatch } from "../tui/fuzzy.mjs";
export {
  allocateImageId,
  calculateImageRows,
  deleteAllKittyImages,
  deleteKittyImage,
  detectCapabilities,
  encodeITerm2,
  encodeKitty,
  getCapabilities,
  getCellDimensions,
  getGifDimensions,
  getImageDimensions,
  getJpegDimensions,
  getPngDimensions,
  getWebpDimensions,
  Image,
  imageFallback,
  renderImage,
  resetCapabilitiesCache,
  setCapabilities,
  setCapabilityOverrides,
  setCellDimensions,
} from "../tui/image.mjs";
export { Input } from "../tui/input.mjs";
export { StdinBuffer } from "../tui/input_chunks.mjs";
export { getKeybindings, KeybindingsManager, setKeybindings, TUI_KEYBINDINGS } from "../tui/keybindings.mjs";
export {
  decodeKittyPrintable,
  isKeyRelease,
  isKeyRepeat,
  isKittyProtocolActive,
  Key,
  matchesKey,
  parseKey,
  setKittyProtocolActive,
} from "../tui/keys.mjs";
export { CancellableLoader, Loader } from "../tui/loader.mjs";
export { Markdown } from "../tui/markdown.mjs";
export { ScrollView } from "../tui/scroll_view.mjs";
export { SelectList } from "../tui/select_list.mjs";
export { SettingsList } from "../tui/settings_list.mjs";
export { HStack, VStack } from "../tui/stack.mjs";
export { parseOsc11BackgroundColor, parseTerminalColorSchemeReport } from "../tui/terminal_colors.mjs";
export { Spacer, Text, TruncatedText } from "../tui/text.mjs";
export { visibleWidth } from "../tui/width.mjs";
export { wrapTextWithAnsi } from "../tui/wrap.mjs";

// Names of older releases, for packages that still import them.
export {
  getKeybindings as getEditorKeybindings,
  KeybindingsManager as EditorKeybindingsManager,
  setKeybindings as setEditorKeybindings,
  TUI_KEYBINDINGS as DEFAULT_EDITOR_KEYBINDINGS,
} from "../tui/keybindings.mjs";

/** Returns whether the tui lays out a whole screen: that of a client never does. */
export function isViewportTUI(tui) {
  return tui?.[Symbol.for("@earendil-works/pi-tui/viewport")] === true;
}

/** Returns undefined, which means that there is no clipboard. */
export function getNativeClipboard() {
  return undefined;
}

/** Returns undefined, which means that the formula is not rendered and its source is shown. */
export function renderLatex() {
  return undefined;
}
