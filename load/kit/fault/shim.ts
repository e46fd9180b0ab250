// Compiles the fault layer (shim.c beside the source of this file) and says by which environment a server runs over it.
// Used by the torture program and by test/fault.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, renameSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const SOURCE = fileURLToPath(new URL('../../../../load/kit/fault/shim.c', import.meta.url));

export interface FaultLayer {
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
