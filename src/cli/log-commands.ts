// The commands about logged searches, with their options: log, replay.
// Called by program.ts, which runs them.
import { QUERIES_PAGE_MAX } from '../contract/limits.js';
import { examples, integerBetween, numberBetween, type CommandLine } from './command-line.js';
import { log, logEntry } from './log.js';
import { replay, type ReplayOptions } from './replay.js';
import { targetOf, withTarget, type TargetFlags } from './target.js';

interface LogFlags extends TargetFlags {
  limit: number;
  json?: true;
}

export function addLogCommands({ program, env, output, ended }: CommandLine): void {
  withTarget(program.command('log'))
    .description('show the latest searches of a collection, or one of them')
    .argument('[query_id]', 'a logged search')
    .option('-n, --limit <n>', 'how many', integerBetween(1, QUERIES_PAGE_MAX), 20)
    .option('--json', 'print JSON, a search a line')
    .addHelpText(
      'after',
      examples('sheaf log -c notes -n 50', "sheaf log -c notes --json | jq -r 'select(.result_count == 0).query_text'"),
    )
    .action(async (queryId: string | undefined, flags: LogFlags) => {
      const target = targetOf(flags, env);
      if (queryId === undefined) await log(target, flags.limit, flags.json === true, output);
      else await logEntry(target, queryId, output);
    });
  withTarget(program.command('replay'))
    .description('run logged searches again on the documents of now, and compare the hits')
    .argument('[query_id]', 'a logged search; default: the latest ones')
    .option('-n, --last <n>', 'how many of the latest', integerBetween(1, QUERIES_PAGE_MAX), 20)
    .option(
      '--min-overlap <share>',
      'fail where fewer of the hits are found again, on average, from 0 to 1, or nothing is logged',
      numberBetween(0, 1),
    )
    .option('--json', 'print JSON, a search a line')
    .addHelpText(
      'after',
      examples(
        'sheaf replay -c notes 0198c2f1-6a07-7b52-8c11-90d3f3f5a1b2',
        'sheaf replay -c notes --last 100 --min-overlap 0.9',
      ),
    )
    .action(async (queryId: string | undefined, flags: TargetFlags & ReplayOptions) =>
      ended(await replay(targetOf(flags, env), queryId, flags, output)),
    );
}
