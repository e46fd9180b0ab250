// The command line in the process of the test: exit code, and what it wrote. A real terminal and signals want a process
// of its own.
import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { runCli, type CliContext } from '../../src/cli/program.js';

export interface Ran {
  code: number;
  stdout: string;
  stderr: string;
}

/** `args` behind `sheaf`. `serve` stands for the command that would start a server. */
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
