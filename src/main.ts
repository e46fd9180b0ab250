#!/usr/bin/env -S node --v8-pool-size=0
// The entry point of the process: hands the command line and the environment to the CLI. The program is loaded once it is
// known that it can be. Nothing else reads process.argv, and nothing but this reads process.env. The flag above gives V8
// as many helper threads as there are cores, less one. Node takes it only when it starts, so whatever starts the server
// names it.
import { LOADING_DESCRIPTORS, descriptorLimit, tooFew } from './cli/open-files.js';

/** How long after its work is done the process waits for what still keeps it alive. */
const LEAVE_MS = 2000;

const limit = descriptorLimit();
if (limit >= LOADING_DESCRIPTORS) {
  const { runCli } = await import('./cli/program.js');
  process.exitCode = await runCli(process.argv, { env: process.env });
  // The client of NATS leaves a connection open that it is making when it is closed, and a node may be beginning anew.
  setTimeout(() => process.exit(), LEAVE_MS).unref();
} else {
  process.stderr.write(`${tooFew(limit, LOADING_DESCRIPTORS)}\n`);
  process.exitCode = 1;
}
