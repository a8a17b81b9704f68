// Keeps `extensions/pi-host/shims/names.json`, the list of names that the packages served to pi extensions export.
//
//   node export_names.mjs [--check | --update] FOLDER...
//   node export_names.mjs --published FOLDER
//
// A FOLDER is an installed package (it has a package.json) or holds several: directly, in scope folders, or in node_modules.
// Several versions of one package are united, because an extension may be written for any of them.
// `values` and `types` are of the releases from OLDEST_CURRENT on. `old` are names that only earlier releases had: pi itself
// answers an import of them with undefined, but Node refuses a module that imports a missing name, so the shims export them.
// --update  rewrites names.json.
// --check   fails with a list if the published packages export a name that names.json lacks, and tells how many of the names
//           our shim files serve; the host makes functions of the others that say so. Without a FOLDER only the latter.
// --published  downloads the packages of the RELEASES into FOLDER and checks them.
// Without any: prints the JSON.

import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { exportsOf } from "./declared_exports.mjs";

const SHIMS = resolve(dirname(fileURLToPath(import.meta.url)), "../../extensions/pi-host/shims");
const NAMES = join(SHIMS, "names.json");
const OLDEST_CURRENT = [0, 87];
const SCOPE = "@earendil-works";
const RELEASES = {
  // npm has no pi-tui 1.5.0.
  "pi-tui": ["0.87.1"],
  "pi-ai": ["0.87.1", "1.5.0"],
  "pi-agent-core": ["0.87.1", "1.5.0"],
  "pi-coding-agent": ["0.87.1", "1.5.0"],
};

/**
 * What is read of each package. Key: the specifier under which names.json lists the names, without scope.
 * `from`: entries of the package's `exports` (a `*` unites all files that match). `shim`: the file that serves them.
 */
const SERVED = {
  "pi-tui": { from: ["."], shim: "pi-tui.mjs" },
  // pi resolves the bare specifier to the compat entry, which re-exports the main one.
  "pi-ai": { from: [".", "./compat"], shim: "pi-ai.mjs" },
  "pi-ai/oauth": { from: ["./oauth", "./bun-oauth"], shim: "pi-ai.mjs" },
  "pi-ai/models": { from: ["./models"], shim: "pi-ai.mjs" },
  "pi-ai/bedrock-provider": { from: ["./bedrock-provider"], shim: "pi-ai.mjs" },
  "pi-ai/providers": { from: ["./providers/*"], shim: "pi-ai.mjs" },
  "pi-ai/api": { from: ["./api/*"], shim: "pi-ai.mjs" },
  "pi-ai/utils": { from: ["./utils/*"], shim: "pi-ai.mjs" },
  "pi-agent-core": { from: ["."], shim: "pi-agent-core.mjs" },
  "pi-agent-core/node": { from: ["./node"], shim: "pi-agent-core.mjs" },
  "pi-coding-agent": { from: ["."], shim: "pi-coding-agent.mjs" },
  typebox: { from: [".", "./type"], shim: "typebox.mjs" },
  "typebox/value": { from: ["./value"], shim: "typebox-value.mjs" },
  "typebox/compile": { from: ["./compile", "./compiler"], shim: "typebox-compile.mjs" },
  "typebox/error": { from: ["./error", "./errors"], shim: "typebox-error.mjs" },
  "typebox/format": { from: ["./format"], shim: "typebox-format.mjs" },
  "typebox/guard": { from: ["./guard"], shim: "typebox-guard.mjs" },
  "typebox/schema": { from: ["./schema"], shim: "typebox-schema.mjs" },
  "typebox/system": { from: ["./system"], shim: "typebox-system.mjs" },
};

async function main(args) {
  const mode = args.find((argument) => argument.startsWith("--"));
  const folders = args.filter((argument) => !argument.startsWith("--"));
  if (mode !== undefined && !["--check", "--update", "--published"].includes(mode)) throw new Error(`unknown option ${mode}`);
  if (folders.length === 0 && mode !== "--check") throw new Error("give the folders of the installed packages");

  if (mode === "--published") download(resolve(folders[0]));
  const published = namesOf(folders.flatMap((folder) => packagesIn(resolve(folder))));
  const text = `${JSON.stringify(published, null, 1)}\n`;
  if (mode === "--update") writeFileSync(NAMES, text);
  else if (mode !== undefined) process.exitCode = (await check(published)) ? 0 : 1;
  else process.stdout.write(text);
}

/** Downloads the packages of pi, and the TypeBox that they use, unless they are there. */
function download(folder) {
  for (const [name, releases] of Object.entries(RELEASES)) {
    for (const release of releases) {
      const manifest = unpack(`${SCOPE}/${name}`, release, folder);
      if (manifest.dependencies?.typebox !== undefined) unpack("typebox", manifest.dependencies.typebox, folder);
    }
  }
}

/** Downloads a package and returns its manifest. */
function unpack(name, version, folder) {
  const target = join(folder, `${basename(name)}-${version}`);
  const manifestPath = join(target, "package.json");
  if (!existsSync(manifestPath)) {
    mkdirSync(target, { recursive: true });
    const packed = execFileSync("npm", ["pack", `${name}@${version}`, "--silent", "--pack-destination", folder], { encoding: "utf8" });
    execFileSync("tar", ["-xzf", join(folder, packed.trim().split("\n").at(-1)), "-C", target, "--strip-components=1"]);
  }
  return JSON.parse(readFileSync(manifestPath, "utf8"));
}

/** Returns the packages that `folder` is or holds. */
function packagesIn(folder, depth = 0) {
  const manifestPath = join(folder, "package.json");
  const found = [];
  if (existsSync(manifestPath)) {
    const manifest = JSON.parse(readFileSync(manifestPath, "utf8"));
    if (served(manifest.name)) return [{ folder, manifest }];
  }
  if (depth > 3) return found;
  for (const name of readdirSync(folder)) {
    const looksLikeHolder = depth === 0 || name === "node_modules" || basename(folder) === "node_modules" || basename(folder).startsWith("@");
    const path = join(folder, name);
    if (looksLikeHolder && statSync(path).isDirectory()) found.push(...packagesIn(path, depth + 1));
  }
  return found;
}

/** Returns the package's name without scope if it is one that we serve. */
function served(name) {
  const bare = String(name).replace(/^@[^/]+\//, "");
  return Object.keys(SERVED).some((key) => key === bare) ? bare : undefined;
}

/** Returns the united names of the packages in the shape of names.json. */
function namesOf(packages) {
  const result = {};
  for (const [key, { from }] of Object.entries(SERVED)) {
    const kinds = new Map();
    const earlier = new Set();
    for (const { folder, manifest } of packages) {
      if (served(manifest.name) !== key.split("/")[0]) continue;
      for (const file of from.flatMap((entry) => declarationFiles(folder, manifest, entry))) {
        for (const [name, kind] of exportsOf(file)) {
          if (!isCurrent(manifest)) earlier.add(name);
          else if (kind === "value" || !kinds.has(name)) kinds.set(name, kind);
        }
      }
    }
    const pick = (kind) => [...kinds.keys()].filter((name) => kinds.get(name) === kind).sort();
    result[key] = { values: pick("value"), types: pick("type"), old: [...earlier].filter((name) => !kinds.has(name)).sort() };
  }
  return result;
}

function isCurrent(manifest) {
  if (!manifest.name.includes("/pi-")) return true;
  const [major, minor] = manifest.version.split(".").map(Number);
  return major > OLDEST_CURRENT[0] || minor >= OLDEST_CURRENT[1];
}

/** Returns the declaration files behind one entry of the package's `exports`. */
function declarationFiles(folder, manifest, entry) {
  const wholePackage = entry === "." && manifest.exports === undefined;
  const target = wholePackage ? (manifest.types ?? `./${manifest.main}`) : manifest.exports?.[entry];
  if (target === undefined) return [];
  const pattern = declarationPath(target);
  if (pattern === undefined) return [];
  if (!pattern.includes("*")) return [join(folder, pattern)].filter(existsSync);
  const [before, after] = pattern.split("*");
  return readdirSync(join(folder, before))
    .filter((name) => name.endsWith(after))
    .sort()
    .map((name) => join(folder, before, name));
}

function declarationPath(target) {
  if (typeof target === "string") return target.replace(/(?<!\.d)\.(m?)[jt]s$/, ".d.$1ts");
  const found = target.types ?? target.import ?? target.default;
  return found === undefined ? undefined : declarationPath(found);
}

/** Compares published names, names.json and our shim files; prints what is missing. Returns true if nothing is. */
async function check(published) {
  const listed = JSON.parse(readFileSync(NAMES, "utf8"));
  const problems = [];
  for (const [key, { shim }] of Object.entries(SERVED)) {
    const known = new Set(allNames(listed[key]));
    const missing = allNames(published[key]).filter((name) => !known.has(name));
    if (missing.length > 0) problems.push(`names.json, ${key}: missing ${missing.join(", ")}`);

    const path = join(SHIMS, shim);
    const module = existsSync(path) ? await import(pathToFileURL(path)) : {};
    const values = listed[key]?.values ?? [];
    console.log(`${key}: ${values.filter((name) => module[name] !== undefined).length} of ${values.length} values served`);
    for (const name of values) {
      if (name in module && module[name] === undefined) problems.push(`shims/${shim}, ${key}: ${name} is a value, not a type, but is undefined`);
    }
  }
  for (const problem of problems) console.error(problem);
  return problems.length === 0;
}

function allNames({ values = [], types = [], old = [] } = {}) {
  return [...values, ...types, ...old];
}

await main(process.argv.slice(2));
