// Look-ups over the entries of a session, kept current as entries are added.

import { pathTo } from "./context.mjs";

/** The entries of a session by id, their children, labels and the session's name. */
export class EntryIndex {
  entries = [];
  byId = new Map();
  #children = new Map();
  #labels = new Map();
  #name;

  /** Adds an entry at the end. */
  add(entry) {
    this.entries.push(entry);
    this.byId.set(entry.id, entry);
    const parent = entry.parentId ?? null;
    const siblings = this.#children.get(parent);
    if (siblings) siblings.push(entry);
    else this.#children.set(parent, [entry]);
    if (entry.type === "label") this.#label(entry);
    else if (entry.type === "session_info") this.#name = entry.name?.trim() || undefined;
  }

  #label({ targetId, label, timestamp }) {
    if (label) this.#labels.set(targetId, { label, timestamp });
    else this.#labels.delete(targetId);
  }

  /** Returns the name that the session was given last. */
  get name() {
    return this.#name;
  }

  /** Returns the labels that are set: pairs of an entry's id and `{ label, timestamp }`. */
  get labels() {
    return [...this.#labels];
  }

  label(id) {
    return this.#labels.get(id)?.label;
  }

  children(parentId) {
    return [...(this.#children.get(parentId) ?? [])];
  }

  /** Returns the entries from the root to the one with this id. */
  branch(id) {
    const start = id ? this.byId.get(id) : undefined;
    return start ? pathTo(start, this.byId) : [];
  }

  /** Returns all entries as trees. An entry whose parent is missing is a root. */
  tree() {
    const nodes = new Map();
    for (const entry of this.entries) {
      const label = this.#labels.get(entry.id);
      nodes.set(entry.id, { entry, children: [], label: label?.label, labelTimestamp: label?.timestamp });
    }
    const roots = [];
    for (const entry of this.entries) {
      const node = nodes.get(entry.id);
      const parent = entry.parentId === entry.id ? undefined : nodes.get(entry.parentId);
      (parent ? parent.children : roots).push(node);
    }
    for (const node of nodes.values()) {
      if (node.children.length > 1) node.children.sort(byTime);
    }
    return roots;
  }
}

function byTime(left, right) {
  return Date.parse(left.entry.timestamp) - Date.parse(right.entry.timestamp);
}
