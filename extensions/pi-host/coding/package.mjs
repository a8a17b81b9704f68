// Facts about the package that extensions see.

import { join } from "node:path";
import { getAgentDir, normalizePath } from "../paths.mjs";

/** The version of pi whose API extensions get. */
export const VERSION = "1.5.0";
/** The type of the entries in which pi notes what a virtual model has chosen. */
export const VIRTUAL_MODEL_STATE_ENTRY = "pi.virtual-model-state";

/** Returns where the files of the package would be. There are none: bowline is one program. */
export function getPackageDir() {
  const { PI_PACKAGE_DIR } = process.env;
  return PI_PACKAGE_DIR ? normalizePath(PI_PACKAGE_DIR) : join(getAgentDir(), "package");
}

export const getReadmePath = () => join(getPackageDir(), "README.md");
export const getDocsPath = () => join(getPackageDir(), "docs");
export const getExamplesPath = () => join(getPackageDir(), "examples");
