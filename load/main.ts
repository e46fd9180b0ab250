// The load suite: workloads that are data, run one behind the other with throughput, latencies on schedule, what a
// request costs and where its time goes; reports of it, and the comparison of two. README.md here tells the form of a
// workload. npm run load -- [NAME…] [--tiny] | peers | list | compare A B | render A… --report FILE; npm run load --
// --help
import { Command } from 'commander';
import { compareCommand, listCommand, peersCommand, renderCommand, runCommand } from './suite/commands.js';
import { UsageError } from './suite/workload.js';

const COMMANDS = [peersCommand, listCommand, compareCommand, renderCommand];

const program = new Command('npm run load --')
  .description('Workloads for a server, measured and reported')
  .addCommand(runCommand(), { isDefault: true });
for (const command of COMMANDS) program.addCommand(command());
try {
  await program.parseAsync();
} catch (error) {
  // What its user can mend, in a line or two, and the rest as it is.
  console.error(error instanceof UsageError ? error.message : error);
  process.exitCode = 1;
}
