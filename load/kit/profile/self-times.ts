// Analysis of a thread's samples: idle samples, and samples per function. Pure.
import type { Profiler } from 'node:inspector';

export interface SelfTimes {
  samples: number;
  idle: number;
  /**
   * Samples by function and file, most first. WebAssembly counts as one, because the kernel's functions have no names.
   */
  within: readonly (readonly [string, number])[];
}

export interface ThreadProfile extends SelfTimes {
  tid: number;
  role: string;
}

const WORDS: Readonly<Record<string, string>> = {
  '(garbage collector)': 'garbage collection',
  '(program)': 'native code',
};

export function selfTimes({ nodes, samples = [] }: Pick<Profiler.Profile, 'nodes' | 'samples'>): SelfTimes {
  const frames = new Map(nodes.map(({ id, callFrame }) => [id, callFrame]));
  const within = new Map<string, number>();
  let idle = 0;
  for (const id of samples) {
    const { functionName, url } = frames.get(id) as Profiler.ProfileNode['callFrame'];
    if (functionName === '(idle)') idle++;
    else within.set(labelOf(functionName, url), (within.get(labelOf(functionName, url)) ?? 0) + 1);
  }
  return { samples: samples.length, idle, within: [...within].sort(([, a], [, b]) => b - a) };
}

/** The name of a function with its file; a bundle is named without its digest. */
function labelOf(functionName: string, url: string): string {
  if (url.startsWith('wasm:')) return 'kernel (WebAssembly)';
  const file = url.replace(/^.*\/(dist|node_modules)\//, '').replace(/(-[A-Z0-9]{8})?\.js$/, '');
  return WORDS[functionName] ?? `${functionName || 'a function'} (${file || 'native'})`;
}
