// What the checks of `sheaf doctor` say, and how files of /proc and /sys are read for them.
// Used by doctor.ts and the files beside it.
import { readFileSync } from 'node:fs';

export interface Finding {
  name: string;
  /** `fail`: a server could not run; `warn`: it runs, but could do better. */
  state: 'ok' | 'warn' | 'fail';
  found: string;
  remedy?: string;
}

/** `remedy` is told where it is not well. */
export function finding(
  name: string,
  found: string,
  isWell: boolean,
  otherwise: 'warn' | 'fail',
  remedy: string,
): Finding {
  return isWell ? { name, state: 'ok', found } : { name, state: otherwise, found, remedy };
}

/** A small file of the kernel's, without the line end; '' where there is none. */
export function kernelFile(path: string): string {
  try {
    return readFileSync(path, 'utf8').trim();
  } catch {
    return '';
  }
}

export const GB = 1e9;
export const gigabytes = (bytes: number): string => `${(bytes / GB).toFixed(1)} GB`;
