// Where the load programs find real data: the folder beside the project, which is not part of it.
// A program that misses it says so and measures nothing.
import { existsSync } from 'node:fs';

/** The folder of a data set, or undefined, said once on standard output, where it is absent. */
export function dataFolder(name: string): string | undefined {
  const folder = `../shared/data/${name}`;
  if (existsSync(folder)) return folder;
  console.log(`skipped: ${folder} is not there`);
  return undefined;
}
