#!/usr/bin/env node
// The entry point of the process: hands the command line, the environment and the serve command to the CLI.
// Nothing else reads process.argv, and only it and config.ts read process.env.
import { runCli } from './cli/program.js';
import { compileMissingStore } from './store/missing-store.js';

process.exitCode = await runCli(process.argv, {
  env: process.env,
  serve: async (variables) => {
    if (!compileMissingStore()) return 1;
    // The server is loaded when it is wanted: other commands start faster without.
    const { serve } = await import('./serve.js');
    return serve({ ...process.env, ...variables }, (line) => process.stdout.write(`${line}\n`));
  },
});
