// The commands that search, with their options: search, bench.
// Called by program.ts, which runs them.
import { Option } from 'commander';
import type { ContentFilter, SearchBody } from '../contract/api/search.js';
import { EF_MAX, K_MAX } from '../contract/limits.js';
import { SEARCH_MODES } from '../contract/resources.js';
import { bench, type BenchOptions } from './bench.js';
import { examples, integerBetween, jsonObject, numberBetween, type CommandLine } from './command-line.js';
import { filterWord, type Filters } from './filter-words.js';
import { search } from './search.js';
import { styleOf } from './style.js';
import { targetOf, withTarget, type TargetFlags } from './target.js';

interface SearchFlags extends TargetFlags {
  k: number;
  json?: true;
  mode?: string;
  filter?: Filters;
  filters?: Filters;
  phrase?: string;
  contains?: string;
  rerank?: string;
  common?: true;
  ef?: number;
  exact?: true;
  explain?: true;
}

const SECONDS_MAX = 3600;
const CONNECTIONS_MAX = 1024;

export function addSearchCommands(cli: CommandLine): void {
  addSearch(cli);
  addBench(cli);
}

function addSearch({ program, env, output }: CommandLine): void {
  withTarget(program.command('search'))
    .description('search a collection')
    .argument('<query>', 'what to look for')
    .option('-k, --k <n>', 'hits to show', integerBetween(1, K_MAX), 5)
    .option('--json', 'print the whole answer as JSON')
    .addOption(modeOption())
    .option(
      '--filter <field=value>',
      'only chunks whose metadata fit; also >=, <=, >, <, !=; repeated with = it means any of the values',
      filterWord,
    )
    .option('--filters <json>', 'filters as in a request body', jsonObject)
    .addOption(
      new Option('--phrase <text>', 'only chunks with these words, in order and adjacent').conflicts('contains'),
    )
    .option('--contains <text>', 'only chunks with this text in them')
    .option('--rerank <instance>', 'let a configured reranker order the hits')
    .option('--common', 'the common collection too, where the server has one')
    .option('--ef <n>', 'breadth of the search: more finds more, and takes longer', integerBetween(1, EF_MAX))
    .option('--exact', 'compare with every vector')
    .option('--explain', 'tell what each score is made of')
    .addHelpText(
      'after',
      examples(
        "sheaf search 'what did we decide about backups' -c notes -k 3",
        'sheaf search nautilus --mode hybrid --filter lang=en --filter "year>=1870"',
        "sheaf search nemo --json | jq -r '.matches[].id'",
      ),
    )
    .action(async (query: string, flags: SearchFlags) => {
      await search(
        targetOf(flags, env),
        query,
        { body: bodyOf(flags), json: flags.json === true, style: styleOf(output.stdout, env) },
        output,
      );
    });
}

const modeOption = (): Option =>
  new Option('--mode <mode>', 'ranking mode; default: the one of the collection').choices([...SEARCH_MODES]);

/** What is undefined is not sent. */
function bodyOf({
  k,
  mode,
  filter,
  filters,
  phrase,
  contains,
  rerank,
  common,
  ef,
  exact,
  explain,
}: SearchFlags): Omit<SearchBody, 'q'> {
  const contentFilter: ContentFilter | undefined =
    phrase !== undefined
      ? { op: 'phrase', value: phrase }
      : contains !== undefined
        ? { op: 'contains', value: contains }
        : undefined;
  const both = filter && filters ? { $and: [filter, filters] } : (filter ?? filters);
  return {
    k,
    mode,
    filters: both,
    content_filter: contentFilter,
    rerank: rerank === undefined ? undefined : { instance: rerank },
    include_common: common,
    ef,
    exact,
    explain,
    highlight: true,
  };
}

function addBench({ program, env, output, ended }: CommandLine): void {
  withTarget(program.command('bench'))
    .description('search a collection for a while, and say how fast it answers')
    .option('--seconds <n>', 'how long', numberBetween(0.1, SECONDS_MAX), 10)
    .option('--connections <n>', 'searches under way at a time', integerBetween(1, CONNECTIONS_MAX), 16)
    .option(
      '--rate <n>',
      'searches a second, on a fixed schedule: the latency then counts from when a search was due',
      numberBetween(0.1, 100_000),
    )
    .option('--queries <file>', 'a query a line; default: logged searches, else words of its documents')
    .option('-k, --k <n>', 'hits of a search', integerBetween(1, K_MAX), 10)
    .addOption(modeOption())
    .option('--json', 'print the figures as JSON')
    .addHelpText(
      'after',
      examples(
        'sheaf bench -c notes',
        'sheaf bench -c notes --rate 200 --seconds 30 --json',
        'sheaf bench -c notes --queries questions.txt --mode hybrid',
      ),
    )
    .addHelpText(
      'after',
      '\nThis program shares the machine with the server where they run side by side. The searches are logged like all others.',
    )
    .action(async (flags: TargetFlags & BenchOptions) => ended(await bench(targetOf(flags, env), flags, output)));
}
