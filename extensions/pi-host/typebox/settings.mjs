// What an extension can set for all of TypeBox, and the registries of formats and kinds.

const DEFAULTS = {
  immutableTypes: false,
  maxErrors: 8,
  maxInstantiationCount: 128,
  useAcceleration: true,
  exactOptionalPropertyTypes: false,
  enumerableKind: false,
  correctiveParse: false,
  unionPrioritySort: true,
};

/** The settings in force. */
export const settings = { ...DEFAULTS };

export const Settings = {
  Get: () => settings,
  Set(options) {
    for (const key of Object.keys(options)) {
      if (key in DEFAULTS && options[key] !== undefined) settings[key] = options[key];
    }
  },
  Reset() {
    Object.assign(settings, DEFAULTS);
  },
};

function registry(entries) {
  return {
    Entries: () => new Map(entries),
    Clear: () => entries.clear(),
    Delete: (name) => entries.delete(name),
    Has: (name) => entries.has(name),
    Get: (name) => entries.get(name),
    Set: (name, check) => void entries.set(name, check),
  };
}

/** Formats that extensions registered; they take precedence over the built-in ones. */
export const customFormats = new Map();
const customKinds = new Map();

export const FormatRegistry = registry(customFormats);
export const TypeRegistry = registry(customKinds);
