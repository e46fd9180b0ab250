// How a server is started so that its threads can be sampled: with a module that each of them imports first.
// Used by ../server.ts; told to begin and to end by profiled.ts.

export interface Profiling {
  /** Where its threads leave what they found. */
  folder: string;
  /** Begin with the process, without being told to. */
  fromStart?: boolean;
}

const THREAD = new URL('./thread.js', import.meta.url);

/** Arguments of Node; worker threads take them over. */
export function samplerArguments(profiling: Profiling | undefined): string[] {
  return profiling
    ? [
        '--import',
        `${THREAD.href}?folder=${encodeURIComponent(profiling.folder)}${profiling.fromStart ? '&from_start' : ''}`,
      ]
    : [];
}
