// The errors of pi-agent-core, so that `instanceof` and `catch` of extensions work.

import { TaggedError } from "./results.mjs";

export class Closed extends TaggedError("Closed") {}
export class InvalidLane extends TaggedError("InvalidLane") {}
export class InvalidMessage extends TaggedError("InvalidMessage") {}
export class InvalidNavigation extends TaggedError("InvalidNavigation") {}
export class LaneBusy extends TaggedError("LaneBusy") {}
export class NoActiveOperation extends TaggedError("NoActiveOperation") {}
export class NoActiveRun extends TaggedError("NoActiveRun") {}
export class NothingToCompact extends TaggedError("NothingToCompact") {}
export class NothingToResume extends TaggedError("NothingToResume") {}
export class OperationMismatch extends TaggedError("OperationMismatch") {}
export class UnknownSkill extends TaggedError("UnknownSkill") {}
export class UnknownTarget extends TaggedError("UnknownTarget") {}
export class UnknownTemplate extends TaggedError("UnknownTemplate") {}

function withCode(name) {
  return class extends Error {
    constructor(code, message, cause) {
      super(message, cause === undefined ? undefined : { cause });
      Object.assign(this, { name, code });
    }
  };
}

export class BranchSummaryError extends withCode("BranchSummaryError") {}
export class CompactionError extends withCode("CompactionError") {}
export class ExecutionError extends withCode("ExecutionError") {}

export class FileError extends withCode("FileError") {
  constructor(code, message, path, cause) {
    super(code, message, cause);
    this.path = path;
  }
}
