// The CPU time of a thread, and sockets that pass from one thread of the process to another, by a small native addon.
// Any thread.
import { createRequire } from 'node:module';

interface Addon {
  cpuMs(): number;
  closeSocketsAtExit(): void;
  stopSockets(): void;
  duplicate(descriptor: number): number;
}

/** Built by scripts/build.mjs if there is a compiler. Without it, sockets stay with the thread that accepts them. */
const addon = loadAddon();

/** The CPU time that this thread has used, in milliseconds; without the addon, elapsed time. */
export function threadCpuMs(): number {
  const ms = addon?.cpuMs() ?? -1;
  return ms < 0 ? performance.now() : ms;
}

/** Whether sockets can be passed to other threads. */
export const canPassSockets = addon !== undefined && process.platform !== 'win32';

/**
 * Another descriptor of the same open socket, which stays open when the first one is closed. Returns -1 if the process
 * has too many descriptors.
 */
export const duplicateSocket = (descriptor: number): number => addon?.duplicate(descriptor) ?? -1;

/**
 * Makes this thread close its sockets when it ends, however it ends. A thread must call it before it loads
 * uWebSockets.js, whose own cleanup leaves them open.
 */
export function closeSocketsAtExit(): void {
  addon?.closeSocketsAtExit();
  // From the exit on the thread cannot call JavaScript. A request that is read in the same turn would find no handler,
  // upon which uWebSockets.js aborts the process.
  process.on('exit', () => addon?.stopSockets());
}

function loadAddon(): Addon | undefined {
  try {
    return createRequire(import.meta.url)('./native/threads.node') as Addon;
  } catch {
    return undefined;
  }
}
