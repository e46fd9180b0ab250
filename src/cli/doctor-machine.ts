// The checks of `sheaf doctor` on Node, the native parts, limits and memory.
// Called by doctor.ts.
import { existsSync } from 'node:fs';
import { availableParallelism, freemem, totalmem } from 'node:os';
import { GB, gigabytes, kernelFile, type Finding } from './doctor-findings.js';

/** Connections and files of a busy server. */
const OPEN_FILES_WANTED = 4096;
const MEMORY_WANTED_BYTES = 1 * GB;

export async function runtimeFindings(): Promise<Finding[]> {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
  const isFit = (major === 20 && minor >= 16) || (major === 22 && minor >= 3);
  const kernel = existsSync(new URL('../../workers/shard/kernel.wasm', import.meta.url));
  const store = await import('../store/lmdb.js').then(() => '', (error: Error) => error.message.split('\n')[0] ?? '');
  return [
    { name: 'Node', state: isFit ? 'ok' : 'fail', found: process.versions.node, ...(!isFit && { remedy: 'Sheaf runs on Node 20 from 20.16, and on Node 22.' }) },
    { name: 'vector kernel', state: kernel ? 'ok' : 'fail', found: kernel ? 'built' : 'missing', ...(!kernel && { remedy: 'Run npm run build in the project.' }) },
    { name: 'store', state: store === '' ? 'ok' : 'fail', found: store === '' ? 'node-lmdb loads' : store, ...(store !== '' && { remedy: 'Install a C++ compiler (apt-get install g++) and start the server once: it compiles the store.' }) },
    { name: 'cores', state: availableParallelism() > 1 ? 'ok' : 'warn', found: String(availableParallelism()), ...(availableParallelism() < 2 && { remedy: 'Searches and writes share the one core.' }) },
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
  return [
    { name: 'open files', state: files >= OPEN_FILES_WANTED ? 'ok' : 'warn', found: String(files), ...(files < OPEN_FILES_WANTED && { remedy: `Each connection takes one: ulimit -n 65536, or LimitNOFILE=65536 in the systemd unit.` }) },
    { name: 'address space', state: space === Infinity ? 'ok' : 'fail', found: space === Infinity ? 'unlimited' : gigabytes(space), ...(space !== Infinity && { remedy: 'Shards reserve more than they use: ulimit -v unlimited.' }) },
    { name: 'memory locking', state: swap ? 'warn' : 'ok', found: `limit ${locked === Infinity ? 'none' : `${locked / 1024} KiB`}; ${swap ? 'swap is on' : 'no swap, so nothing needs to be locked'}`, ...(swap && { remedy: 'What is swapped out is searched slowly: swapoff -a, or MemorySwapMax=0 in the systemd unit.' }) },
  ];
}

export function memoryFindings(): Finding[] {
  const available = Number(/^MemAvailable: +(\d+)/m.exec(kernelFile('/proc/meminfo'))?.[1] ?? freemem() / 1024) * 1024;
  const group = Number(kernelFile('/sys/fs/cgroup/memory.max') || NaN);
  const total = Number.isFinite(group) ? Math.min(group, totalmem()) : totalmem();
  const usable = Math.min(available, total);
  const strict = kernelFile('/proc/sys/vm/overcommit_memory') === '2';
  const pages = kernelFile('/sys/kernel/mm/transparent_hugepage/enabled');
  const never = pages.includes('[never]');
  return [
    { name: 'memory', state: usable >= MEMORY_WANTED_BYTES ? 'ok' : 'warn', found: `${gigabytes(usable)} available of ${gigabytes(total)}${Number.isFinite(group) ? ' (limit of the container)' : ''}`, ...(usable < MEMORY_WANTED_BYTES && { remedy: 'A vector of 384 numbers takes about 1 KB, with its graph: 1 GB holds less than a million chunks.' }) },
    { name: 'overcommit', state: strict ? 'warn' : 'ok', found: strict ? 'strict (vm.overcommit_memory = 2)' : 'as usual', ...(strict && { remedy: 'Shards reserve more than they use: sysctl vm.overcommit_memory=0.' }) },
    { name: 'huge pages', state: pages === '' || never ? 'warn' : 'ok', found: /\[(\w+)\]/.exec(pages)?.[1] ?? 'not told', ...(never && { remedy: 'Graphs build a third faster with them: echo madvise > /sys/kernel/mm/transparent_hugepage/enabled' }) },
  ];
}
