/** The package that contains the program for this system, if it is installed. */
export declare const PLATFORM_PACKAGE: string;
/**
 * Returns the path of the program: the one that is named, or that of the variable `BOWLINE`, or that of the package for
 * this system, or the first on the `PATH`. A program that is named and does not exist is an error: no other one is taken.
 */
export declare function locate(named?: string, environment?: Record<string, string | undefined>): string;
/** Returns the program of the package for this system, if it is installed. */
export declare function bundled(): string | undefined;
