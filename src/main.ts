#!/usr/bin/env node
// The entry point of the process: hands the command line, the environment and the serve command to the CLI.
// Nothing else reads process.argv, and only it and config.ts read process.env.
import { runCli } from './cli/program.js';
import { serve } from './serve.js';

process.exitCode = await runCli(process.argv, {
  env: process.env,
  serve: () => serve(process.env, (line) => process.stdout.write(`${line}\n`)),
});
