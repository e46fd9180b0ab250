// The checks of `sheaf doctor` on Node, the native parts, limits and memory.
// Called by doctor.ts.
import { existsSync } from 'node:fs';
import { availableParallelism, freemem, totalmem } from 'node:os';
import { finding, GB, gigabytes, kernelFile, type Finding } from './doctor-findings.js';

/** Connections and files of a busy server. */
const OPEN_FILES_WANTED = 4096;
const MEMORY_WANTED_BYTES = 1 * GB;

export async function runtimeFindings(): Promise<Finding[]> {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
  const isFit = (major === 20 && minor >= 16) || (major === 22 && minor >= 3) || major === 24;
  const kernel = existsSync(new URL('../../workers/shard/kernel.wasm', import.meta.url));
  const store = await import('../store/lmdb.js').then(
    () => '',
    (error: Error) => error.message.split('\n')[0] ?? '',
  );
  const { loadUws } = await import('../http/uws.js');
  const http = await loadUws().then(
    () => '',
    (error: Error) => error.message,
  );
  const cores = availableParallelism();
  return [
    finding(
      'Node',
      process.versions.node,
      isFit,
      'fail',
      'Sheaf runs on Node 20 from 20.16, on Node 22 from 22.3, and on Node 24.',
    ),
    finding(
      'HTTP library',
      http === '' ? 'uWebSockets.js loads' : http,
      http === '',
      'fail',
      'Run the server on a Node that the library has a binary for: 20 or 22 on any Linux with glibc, 24 with glibc 2.38.',
    ),
    finding('vector kernel', kernel ? 'built' : 'missing', kernel, 'fail', 'Run npm run build in the project.'),
    finding(
      'store',
      store === '' ? 'node-lmdb loads' : store,
      store === '',
      'fail',
      'Install a C++ compiler (apt-get install g++) and start the server once: it compiles the store.',
    ),
    finding('cores', String(cores), cores > 1, 'warn', 'Searches and writes share the one core.'),
  ];
}

export function limitFindings(): Finding[] {
  const limits = kernelFile('/proc/self/limits');
  if (limits === '') return [];
  const soft = (name: string): number => {
    const text = new RegExp(`^${name} +(\\S+)`, 'm').exec(limits)?.[1] ?? 'unlimited';
    return text === 'unlimited' ? Infinity : Number(text);
  };
  const [files, locked, space] = [soft('Max open files'), soft('Max locked memory'), soft('Max address space')];
  const swap = kernelFile('/proc/swaps').split('\n').length > 1;
  const lockLimit = `limit ${locked === Infinity ? 'none' : `${locked / 1024} KiB`}`;
  return [
    finding(
      'open files',
      String(files),
      files >= OPEN_FILES_WANTED,
      'warn',
      'Each connection takes one: ulimit -n 65536, or LimitNOFILE=65536 in the systemd unit.',
    ),
    finding(
      'address space',
      space === Infinity ? 'unlimited' : gigabytes(space),
      space === Infinity,
      'fail',
      'Shards reserve more than they use: ulimit -v unlimited.',
    ),
    finding(
      'memory locking',
      `${lockLimit}; ${swap ? 'swap is on' : 'no swap, so nothing needs to be locked'}`,
      !swap,
      'warn',
      'What is swapped out is searched slowly: swapoff -a, or MemorySwapMax=0 in the systemd unit.',
    ),
  ];
}

export function memoryFindings(): Finding[] {
  const available = Number(/^MemAvailable: +(\d+)/m.exec(kernelFile('/proc/meminfo'))?.[1] ?? freemem() / 1024) * 1024;
  const group = Number(kernelFile('/sys/fs/cgroup/memory.max') || NaN);
  const total = Number.isFinite(group) ? Math.min(group, totalmem()) : totalmem();
  const usable = Math.min(available, total);
  const strict = kernelFile('/proc/sys/vm/overcommit_memory') === '2';
  const pages = kernelFile('/sys/kernel/mm/transparent_hugepage/enabled');
  const room = `${gigabytes(usable)} available of ${gigabytes(total)}${Number.isFinite(group) ? ' (limit of the container)' : ''}`;
  return [
    finding(
      'memory',
      room,
      usable >= MEMORY_WANTED_BYTES,
      'warn',
      'A vector of 384 numbers takes about 1 KB, with its graph: 1 GB holds less than a million chunks.',
    ),
    finding(
      'overcommit',
      strict ? 'strict (vm.overcommit_memory = 2)' : 'as usual',
      !strict,
      'warn',
      'Shards reserve more than they use: sysctl vm.overcommit_memory=0.',
    ),
    // Where the kernel has none there is nothing to set.
    pages === ''
      ? { name: 'huge pages', state: 'warn', found: 'not told' }
      : finding(
          'huge pages',
          /\[(\w+)\]/.exec(pages)?.[1] ?? 'not told',
          !pages.includes('[never]'),
          'warn',
          'Graphs build a third faster with them: echo madvise > /sys/kernel/mm/transparent_hugepage/enabled',
        ),
  ];
}
