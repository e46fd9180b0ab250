// Rules of the fault layer, changed while a process runs over it: which calls fail, and how. The layout is `struct
// rule` of shim.c.
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

// Compiles the fault layer (shim.c beside the source of this file) and says by which environment a server runs over it.

const SOURCE = fileURLToPath(new URL('../../../load/fault/shim.c', import.meta.url));

interface FaultLayer {
  /** All that lies below it is seen. */
  root: string;
  journal?: string;
  control?: string;
}

/** The library; undefined where there is no C compiler, or no Linux. Compiled once for each version of the source. */
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

/** Variables for a process that is to run over the layer. */
export function faultEnvironment(library: string, { root, journal, control }: FaultLayer): Record<string, string> {
  return {
    LD_PRELOAD: library,
    FAULT_LAYER_ROOT: root,
    // File operations of Node would go past the C library.
    UV_USE_IO_URING: '0',
    ...(journal !== undefined && { FAULT_LAYER_JOURNAL: journal }),
    ...(control !== undefined && { FAULT_LAYER_CONTROL: control }),
  };
}
