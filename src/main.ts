#!/usr/bin/env node
// The entry point of the process: hands the command line and the environment to the CLI. The program is loaded once it is
// known that it can be. Nothing else reads process.argv, and nothing but this reads process.env.
import { LOADING_DESCRIPTORS, descriptorLimit, tooFew } from './cli/open-files.js';

const limit = descriptorLimit();
if (limit >= LOADING_DESCRIPTORS) {
  const { runCli } = await import('./cli/program.js');
  process.exitCode = await runCli(process.argv, { env: process.env });
} else {
  process.stderr.write(`${tooFew(limit, LOADING_DESCRIPTORS)}\n`);
  process.exitCode = 1;
}
