// Runs the command line within the test's process, and returns its exit code and output. Tests of a real terminal or of
// signals need a separate process instead.
import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { runCli, type CliContext } from '../../src/cli/program.js';

export interface Ran {
  code: number;
  stdout: string;
  stderr: string;
}

/** Runs `sheaf` with `args`. `serve` replaces the function that would start a server. */
export async function runInProcess(
  args: readonly string[],
  { env = {}, serve = () => Promise.resolve(0), stdin }: Partial<Pick<CliContext, 'env' | 'serve' | 'stdin'>> = {},
): Promise<Ran> {
  const [stdout, stderr] = [new PassThrough(), new PassThrough()];
  const read = Promise.all([text(stdout), text(stderr)]);
  const code = await runCli(['node', 'sheaf', ...args], { env, serve, stdout, stderr, ...(stdin && { stdin }) });
  stdout.end();
  stderr.end();
  const [out, error] = await read;
  return { code, stdout: out, stderr: error };
}
