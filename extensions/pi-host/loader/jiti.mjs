// The loader that pi uses, for modules that Node itself cannot load. It is installed when it is needed for the first time.

import { execFile } from "node:child_process";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { messageOf } from "../host/errors.mjs";
import { COMPOSED, allSpecifiers, moduleOf } from "./specifiers.mjs";

const PACKAGE = "jiti";
const VERSION = "2";
const INSTALL_LIMIT_MS = 60_000;
/** Without a network, npm would try for half a minute. */
const IMPATIENT = ["--fetch-retries=1", "--fetch-retry-mintimeout=1000"];

let loader;
let installing = 0;

/** Tells whether the loader is being installed, which takes as long as the network does. */
export function isInstalling() {
  return installing > 0;
}

/** Loads the module of an extension that failed to load with `cause`. */
export async function loadWithJiti(path, cause) {
  let jiti;
  try {
    loader ??= createLoader();
    jiti = await loader;
  } catch (error) {
    loader = undefined;
    throw new Error(
      `${messageOf(cause)} (another loader, ${PACKAGE}, may be able to load it, but could not be installed: ${messageOf(error)})`,
      { cause },
    );
  }
  return jiti.import(path);
}

async function createLoader() {
  const folder = join(process.env.BOWLINE_PI_CACHE ?? defaultCache(), PACKAGE);
  const found = join(folder, "node_modules", PACKAGE);
  if (!existsSync(join(found, "package.json"))) await install(folder);
  const { createJiti } = await import(pathToFileURL(createRequire(join(folder, "package.json")).resolve(PACKAGE)).href);
  const virtualModules = {};
  for (const specifier of allSpecifiers()) {
    virtualModules[specifier] = await import(process.versions.bun ? specifier : COMPOSED + moduleOf(specifier));
  }
  return createJiti(import.meta.url, { moduleCache: false, virtualModules, tryNative: false, fsCache: join(folder, "sources") });
}

function defaultCache() {
  throw new Error("there is no folder for it: BOWLINE_PI_CACHE is not set");
}

async function install(folder) {
  if (process.env.PI_OFFLINE) throw new Error("PI_OFFLINE is set");
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  writeFileSync(join(folder, "package.json"), '{"private":true}\n');
  const quietly = ["--ignore-scripts", "--no-audit", "--no-fund", "--no-save", "--loglevel=error"];
  const parameters = ["install", `${PACKAGE}@${VERSION}`, ...quietly, ...IMPATIENT];
  const options = { cwd: folder, timeout: INSTALL_LIMIT_MS, shell: process.platform === "win32" };
  installing += 1;
  try {
    await promisify(execFile)("npm", parameters, options);
  } catch (error) {
    const reason = String(error.stderr ?? "").trim().split("\n").slice(0, 2).join(" ");
    throw new Error(error.code === "ENOENT" ? "npm was not found" : reason || messageOf(error));
  } finally {
    installing -= 1;
  }
}
