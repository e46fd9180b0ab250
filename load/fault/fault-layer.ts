// Rules of the fault layer, changed while a process runs over it: which calls fail, and how. The layout is `struct
// rule` of shim.c. Used by test/fault.
import { closeSync, openSync, readSync, writeFileSync, writeSync } from 'node:fs';
import { constants } from 'node:os';

const KINDS = ['write', 'sync', 'read'] as const;
const RULE_BYTES = 64;
const FIRED_AT = 16;
const DIES_AT = 20;
const NAME_AT = 32;

export type FaultKind = (typeof KINDS)[number];

export interface Fault {
  /** Such as `EIO`; not together with `bytes`. */
  error?: keyof typeof constants.errno;
  /**
   * In place of an error the process is killed: before a file is synced, or behind a write that is durable by itself.
   * Syncs only.
   */
  dies?: boolean;
  /** So many bytes of a call are read or written, and no more. */
  bytes?: number;
  /** Calls that pass before. */
  skip?: number;
  /** How often it happens; for ever where it is absent. */
  times?: number;
  /** Only for paths with this in them. */
  name?: string;
}

export class Faults {
  private readonly handle: number;

  constructor(readonly path: string) {
    writeFileSync(path, Buffer.alloc(KINDS.length * RULE_BYTES));
    this.handle = openSync(path, 'r+');
  }

  /** In place of what was set for this kind of call before. */
  set(kind: FaultKind, { error, dies = false, bytes = 0, skip = 0, times = 0, name = '' }: Fault): void {
    const rule = Buffer.alloc(RULE_BYTES);
    [0, bytes, skip, times].forEach((value, i) => rule.writeUInt32LE(value, i * 4));
    rule.writeUInt32LE(Number(dies), DIES_AT);
    rule.write(name, NAME_AT, RULE_BYTES - NAME_AT - 1);
    // The error makes the rule hold, and so it comes last.
    writeSync(this.handle, rule, 0, RULE_BYTES, KINDS.indexOf(kind) * RULE_BYTES);
    if (error === undefined && !dies) return;
    rule.writeUInt32LE(constants.errno[error ?? 'EIO']);
    writeSync(this.handle, rule, 0, 4, KINDS.indexOf(kind) * RULE_BYTES);
  }

  clear(kind: FaultKind): void {
    this.set(kind, {});
  }

  /** How often it has happened since it was set. */
  fired(kind: FaultKind): number {
    const bytes = Buffer.alloc(4);
    readSync(this.handle, bytes, 0, 4, KINDS.indexOf(kind) * RULE_BYTES + FIRED_AT);
    return bytes.readUInt32LE();
  }

  close(): void {
    closeSync(this.handle);
  }
}
