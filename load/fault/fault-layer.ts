// Rules of the fault layer, changed while a process runs on it: which calls fail, and how. The layout is `struct rule`
// of shim.c.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { closeSync, existsSync, openSync, readFileSync, readSync, renameSync, writeFileSync, writeSync } from 'node:fs';
import { constants, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const KINDS = ['write', 'sync', 'read'] as const;
const RULE_BYTES = 64;
const FIRED_AT = 16;
const DIES_AT = 20;
const DELAY_AT = 24;
const NAME_AT = 32;

export type FaultKind = (typeof KINDS)[number];

export interface Fault {
  /** The error that a call fails with, such as `EIO`; excludes `bytes`. */
  error?: keyof typeof constants.errno;
  /**
   * Kills the process instead of failing: before a file is synced, or after a write that is durable by itself. Syncs
   * only.
   */
  dies?: boolean;
  /** How much longer each sync takes, in milliseconds. */
  delayMs?: number;
  /** Short read or write: at most this many bytes of a call are transferred. */
  bytes?: number;
  /** Number of calls that pass first. */
  skip?: number;
  /** Number of times the fault occurs; default: for ever. */
  times?: number;
  /** Restricts the fault to paths that contain this text. */
  name?: string;
}

export class Faults {
  private readonly handle: number;

  constructor(readonly path: string) {
    writeFileSync(path, Buffer.alloc(KINDS.length * RULE_BYTES));
    this.handle = openSync(path, 'r+');
  }

  /** Replaces the fault of this kind of call. */
  set(kind: FaultKind, { error, dies = false, delayMs = 0, bytes = 0, skip = 0, times = 0, name = '' }: Fault): void {
    const rule = Buffer.alloc(RULE_BYTES);
    [0, bytes, skip, times].forEach((value, i) => rule.writeUInt32LE(value, i * 4));
    rule.writeUInt32LE(Number(dies), DIES_AT);
    rule.writeUInt32LE(1000 * delayMs, DELAY_AT);
    rule.write(name, NAME_AT, RULE_BYTES - NAME_AT - 1);
    // The error activates the rule, so it is written last.
    writeSync(this.handle, rule, 0, RULE_BYTES, KINDS.indexOf(kind) * RULE_BYTES);
    if (error === undefined && !dies) return;
    rule.writeUInt32LE(constants.errno[error ?? 'EIO']);
    writeSync(this.handle, rule, 0, 4, KINDS.indexOf(kind) * RULE_BYTES);
  }

  clear(kind: FaultKind): void {
    this.set(kind, {});
  }

  /** Number of occurrences since the fault was set. */
  fired(kind: FaultKind): number {
    const bytes = Buffer.alloc(4);
    readSync(this.handle, bytes, 0, 4, KINDS.indexOf(kind) * RULE_BYTES + FIRED_AT);
    return bytes.readUInt32LE();
  }

  close(): void {
    closeSync(this.handle);
  }
}

// Compiles the fault layer (shim.c beside this source file) and provides the environment that loads it into a server.

const SOURCE = fileURLToPath(new URL('../../../load/fault/shim.c', import.meta.url));

interface FaultLayer {
  /** The layer observes everything below this folder. */
  root: string;
  journal?: string;
  control?: string;
}

/** The compiled library; undefined without a C compiler or outside Linux. Compiled once per version of the source. */
export function compileShim(): string | undefined {
  if (process.platform !== 'linux') return undefined;
  const library = join(
    tmpdir(),
    `sheaf-fault-${createHash('sha256').update(readFileSync(SOURCE)).digest('hex').slice(0, 16)}.so`,
  );
  if (existsSync(library)) return library;
  const made = `${library}.${process.pid}`;
  const { status, error, stderr } = spawnSync(
    'cc',
    ['-shared', '-fPIC', '-O2', '-Wall', SOURCE, '-o', made, '-ldl', '-pthread'],
    { encoding: 'utf8' },
  );
  if (error) return undefined;
  if (status !== 0) throw new Error(`The fault layer does not compile:\n${stderr}`);
  renameSync(made, library);
  return library;
}

/** Environment variables for a process that runs on the layer. */
export function faultEnvironment(library: string, { root, journal, control }: FaultLayer): Record<string, string> {
  return {
    LD_PRELOAD: library,
    FAULT_LAYER_ROOT: root,
    // Node's file operations would otherwise bypass the C library.
    UV_USE_IO_URING: '0',
    ...(journal !== undefined && { FAULT_LAYER_JOURNAL: journal }),
    ...(control !== undefined && { FAULT_LAYER_CONTROL: control }),
  };
}
