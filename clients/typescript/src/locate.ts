/** Finds the program `bowline`. */
import { realpathSync, statSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import process from "node:process";
import { BinaryNotFound } from "./errors.js";

const FILE = process.platform === "win32" ? "bowline.exe" : "bowline";

/** The package that contains the program for this system, if it is installed. */
export const PLATFORM_PACKAGE = `bowline-agent-${process.platform}-${process.arch}`;

/**
 * Returns the path of the program: the one that is named, or that of the variable `BOWLINE`, or that of the package for
 * this system, or the first on the `PATH`. A program that is named and does not exist is an error: no other one is taken.
 */
export function locate(named?: string, environment: Record<string, string | undefined> = process.env): string {
  if (named !== undefined) return checked(named, 'the option "binary"', environment);
  const variable = environment["BOWLINE"];
  if (variable !== undefined && variable !== "") return checked(variable, "the variable BOWLINE", environment);
  const found = bundled() ?? onPath(FILE, environment);
  if (found !== undefined) return found;
  throw new BinaryNotFound(
    `There is no bowline on this system: no package ${PLATFORM_PACKAGE}, and none in a folder of PATH. ` +
      `Install bowline, or name the program with the option "binary" or the variable BOWLINE.`,
  );
}

function checked(named: string, by: string, environment: Record<string, string | undefined>): string {
  // As a shell does: a name without a separator is looked for on the PATH.
  const isName = !named.includes("/") && !named.includes(path.sep);
  const found = isName ? onPath(named, environment) : isProgram(named) ? path.resolve(named) : undefined;
  if (found !== undefined) return found;
  throw new BinaryNotFound(
    `${named}, which ${by} names, is not a program that can be run. Correct the path, or leave it out to use the ` +
      `bowline of the package ${PLATFORM_PACKAGE} or of the PATH.`,
  );
}

/** Returns the program of the package for this system, if it is installed. */
export function bundled(): string | undefined {
  try {
    const description = createRequire(import.meta.url).resolve(`${PLATFORM_PACKAGE}/package.json`);
    const program = path.join(path.dirname(description), "bin", FILE);
    return isProgram(program) ? realpathSync(program) : undefined;
  } catch {
    return undefined; // The package is optional.
  }
}

function onPath(name: string, environment: Record<string, string | undefined>): string | undefined {
  const folders = (environment["PATH"] ?? "").split(path.delimiter).filter((folder) => folder !== "");
  return folders.map((folder) => path.resolve(folder, name)).find(isProgram);
}

function isProgram(file: string): boolean {
  try {
    // Not access(), for which Deno wants to know who the user is.
    const status = statSync(file);
    return status.isFile() && (process.platform === "win32" || (status.mode & 0o111) !== 0);
  } catch {
    return false;
  }
}
