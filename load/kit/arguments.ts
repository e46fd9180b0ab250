// The arguments that load programs share: how small, against which server, and a few numbers. Called first by each of the
// programs beside this folder.
import { parseArgs } from 'node:util';

export interface LoadArguments {
  /** Seconds instead of minutes, small instead of full: so that the suite can run it. */
  tiny: boolean;
  /** A running server to measure instead of one of its own. */
  url?: string;
  /** An option as it was given. */
  text(name: string): string | undefined;
  /** A number by name, or what stands for it. */
  number(name: string, fallback: number): number;
}

/** Reads `--tiny`, `--url URL` and the given options. Exits with a message where another is given. */
export function readArguments(...names: string[]): LoadArguments {
  const options = Object.fromEntries(names.map((name) => [name, { type: 'string' as const }]));
  const { values } = parseArgs({ options: { ...options, tiny: { type: 'boolean' }, url: { type: 'string' } } });
  const all = values as Record<string, string | boolean | undefined>;
  const number = (name: string, fallback: number): number => {
    const value = all[name] === undefined ? fallback : Number(all[name]);
    if (!Number.isInteger(value) || value < 0) throw new TypeError(`--${name} wants a whole number`);
    return value;
  };
  return { tiny: values.tiny === true, url: values.url, number, text: (name) => all[name] as string | undefined };
}
