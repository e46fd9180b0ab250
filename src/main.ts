#!/usr/bin/env node
// The entry point of the process: hands the command line, the environment and the serve command to the CLI. The program
// is loaded once it is known that it can be.
// Nothing else reads process.argv, and only it and config.ts read process.env.
import { descriptorLimit, LOADING_DESCRIPTORS, tooFew } from './cli/open-files.js';

async function run(): Promise<number> {
  const { runCli } = await import('./cli/program.js');
  return runCli(process.argv, {
    env: process.env,
    serve: async (variables) => {
      const { compileMissingStore } = await import('./storage/lmdb-binding.js');
      if (!compileMissingStore()) return 1;
      // The server is loaded when it is wanted: other commands start faster without.
      const { serve } = await import('./cli/serve.js');
      return serve({ ...process.env, ...variables }, (line) => process.stdout.write(`${line}\n`));
    },
  });
}

const limit = descriptorLimit();
if (limit >= LOADING_DESCRIPTORS) process.exitCode = await run();
else {
  process.stderr.write(`${tooFew(limit, LOADING_DESCRIPTORS)}\n`);
  process.exitCode = 1;
}
