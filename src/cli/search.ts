// `sheaf search`, `sheaf bench`, `sheaf eval` and `sheaf judgements`: the search commands, and hits as text.
import { Option } from 'commander';
import { SEARCH_MODES } from '../api/choices.js';
import { CONTEXT_MAX, EF_MAX, K_MAX, REACH_MAX, SEARCHES_MAX } from '../api/limits.js';
import type { ContentFilter, Highlight, SearchBody, SearchHit } from '../api/search.js';
import { BENCH_ENCODINGS } from './bench-run.js';
import { type BenchOptions, bench } from './bench.js';
import {
  type CommandLine,
  type Filters,
  type Target,
  type TargetFlags,
  examples,
  filterWord,
  gathered,
  integerBetween,
  jsonObject,
  numberBetween,
  targetOf,
  tellMissing,
  withTarget,
} from './command-line.js';
import { type EvaluationOptions, evaluate, readJudged, settingOf } from './evaluate.js';
import { DEPTH_DEFAULT, SEED_DEFAULT, SETTINGS_DEFAULT } from '../ranking/side-by-side.js';
import { UsageError } from './errors.js';
import { type Output, PLAIN, type Style, count, line, oneLine, styleOf, table } from './output.js';

interface SearchFlags extends TargetFlags {
  k: number;
  json?: true;
  mode?: string;
  filter?: Filters;
  filters?: Filters;
  phrase?: string;
  contains?: string;
  rerank?: string;
  also?: string[];
  common?: true;
  ef?: number;
  exact?: true;
  explain?: true;
  offset?: number;
  minScore?: number;
  groupBy?: string;
  groupSize?: number;
  context?: number;
  diversity?: number;
  boostBy?: Filters;
  fuzzy?: true;
  prefix?: true;
  synonyms: boolean;
  syntax?: true;
}

/** No score of any mode or reranker is greater. */
const SCORE_MAX = 1e9;
const SECONDS_MAX = 3600;
const CONNECTIONS_MAX = 1024;
const THREADS_MAX = 64;

export function addSearchCommands(cli: CommandLine): void {
  addSearch(cli);
  addBench(cli);
  addEvaluation(cli);
  addJudgements(cli);
}

function addSearch({ program, env, output }: CommandLine): void {
  withTarget(program.command('search'))
    .description('search a collection')
    .argument('<query>', 'the text to search for')
    .option('-k, --k <n>', 'hits to show', integerBetween(1, K_MAX), 5)
    .option('--json', 'print the whole answer as JSON')
    .addOption(modeOption())
    .option(
      '--filter <field=value>',
      'only chunks whose metadata match; also >=, <=, >, <, !=; repeated with = for any of the values',
      filterWord,
    )
    .option('--filters <json>', 'filters as in a request body', jsonObject)
    .addOption(
      new Option('--phrase <text>', 'only chunks with these words, in order and adjacent').conflicts('contains'),
    )
    .option('--contains <text>', 'only chunks that contain this text')
    .option('--rerank <instance>', 'rerank the hits with this configured reranker')
    .option('--also <name>', 'also search this collection, and merge the hits; may be repeated', gathered)
    .option('--common', 'also search the common collection, if the server has one')
    .option(
      '--ef <n>',
      'number of candidates that the graph search keeps; a larger one finds more and takes longer',
      integerBetween(1, EF_MAX),
    )
    .option('--exact', 'compare with every vector instead of searching the graph')
    .option('--explain', 'show the parts of each score')
    .option('--offset <n>', 'hits to leave out at the beginning', integerBetween(0, REACH_MAX))
    .option('--min-score <x>', 'only hits with at least this score', numberBetween(-SCORE_MAX, SCORE_MAX))
    .option('--group-by <field>', 'group hits by docid or by a metadata field; -k then counts groups')
    .option('--group-size <n>', 'hits of each group', integerBetween(1, K_MAX))
    .option('--context <n>', 'show each hit with so many chunks before and after it', integerBetween(0, CONTEXT_MAX))
    .option(
      '--diversity <lambda>',
      'hits unlike each other: 1 ranks by relevance only, 0 by dissimilarity only',
      numberBetween(0, 1),
    )
    .option('--boost-by <json>', 'boost hits by their metadata, as `boost_by` in a request body', jsonObject)
    .option('--fuzzy', 'find words in spite of typing errors (modes boost and hybrid)')
    .option('--prefix', 'take the last word for the beginning of one (modes boost and hybrid)')
    .option('--syntax', 'read "a phrase", -word and OR in the query')
    .option('--no-synonyms', 'leave the synonyms of the collection out')
    .addHelpText(
      'after',
      examples(
        "sheaf search 'what did we decide about backups' -c notes -k 3",
        'sheaf search nautilus --mode hybrid --filter lang=en --filter "year>=1870"',
        `sheaf search '"captain nemo" -whale natilus' --mode hybrid --fuzzy --syntax`,
        'sheaf search nautilus -c notes --also books --also letters',
        "sheaf search nemo --json | jq -r '.matches[].id'",
      ),
    )
    .action(async (query: string, flags: SearchFlags) => {
      await search(
        targetOf(flags, env),
        query,
        { body: bodyOf(flags), also: flags.also, json: flags.json === true, style: styleOf(output.stdout, env) },
        output,
      );
    });
}

const modeOption = (): Option =>
  new Option('--mode <mode>', 'ranking mode; default: the one of the collection').choices([...SEARCH_MODES]);

/** The search body. Undefined fields are not sent. */
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
  offset,
  minScore,
  groupBy,
  groupSize,
  context,
  diversity,
  boostBy,
  fuzzy,
  prefix,
  synonyms,
  syntax,
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
    offset,
    min_score: minScore,
    group_by: groupBy,
    group_size: groupSize,
    context,
    diversity: diversity === undefined ? undefined : { lambda: diversity },
    boost_by: boostBy as SearchBody['boost_by'],
    fuzzy,
    prefix,
    synonyms: synonyms ? undefined : false,
    syntax,
  };
}

function addBench({ program, env, output, ended }: CommandLine): void {
  withTarget(program.command('bench'))
    .description('measure how fast a collection is searched')
    .option('--seconds <n>', 'duration in seconds', numberBetween(0.1, SECONDS_MAX), 10)
    .option('--connections <n>', 'concurrent searches', integerBetween(1, CONNECTIONS_MAX), 16)
    .option('--threads <n>', 'threads that share the connections', integerBetween(1, THREADS_MAX), 1)
    .option(
      '--rate <n>',
      'searches per second, on a fixed schedule; latency then counts from when a search was due',
      numberBetween(0.1, 100_000),
    )
    .option('--queries <file>', 'file with one query per line; default: logged searches, else words of the documents')
    .addOption(
      new Option(
        '--encoding <how>',
        'search by vectors of the collection, sent as numbers in JSON, base64 in JSON, or MessagePack',
      )
        .choices([...BENCH_ENCODINGS])
        .conflicts(['queries', 'mode']),
    )
    .option(
      '--batch <n>',
      'searches per request; latency then is that of a request',
      integerBetween(1, SEARCHES_MAX),
      1,
    )
    .option('-k, --k <n>', 'hits per search', integerBetween(1, K_MAX), 10)
    .addOption(modeOption())
    .option('--json', 'print the figures as JSON')
    .addHelpText(
      'after',
      examples(
        'sheaf bench -c notes',
        'sheaf bench -c notes --rate 200 --seconds 30 --json',
        'sheaf bench -c notes --connections 256 --threads 4',
        'sheaf bench -c notes --queries questions.txt --mode hybrid',
        'sheaf bench -c notes --encoding msgpack --batch 32',
      ),
    )
    .addHelpText(
      'after',
      '\nOn the same machine, this program and the server share the CPU. The searches are logged like all others.',
    )
    .action(async (flags: TargetFlags & BenchOptions) => ended(await bench(targetOf(flags, env), flags, output)));
}

interface EvaluationFlags extends TargetFlags {
  depth: number;
  connections: number;
  setting?: string[];
  fit?: true;
  seed: number;
  json?: true;
  judgements?: string;
}

function judgedOf(queries?: string, judgements?: string, set?: string): EvaluationOptions['judged'] {
  if (set !== undefined && queries === undefined) return set;
  if (set !== undefined || queries === undefined || judgements === undefined)
    throw new UsageError('Give the file of queries and that of judgements, or a stored set with --judgements.');
  return { queries, judgements };
}

/** `sheaf judgements` */
function addJudgements({ program, env, output: { stdout } }: CommandLine): void {
  const judgements = program
    .command('judgements')
    .description('store, list, show and delete judgement sets, which sheaf eval takes by their names')
    .addHelpText(
      'after',
      examples(
        'sheaf judgements put support queries.jsonl qrels.tsv -c docs',
        'sheaf judgements list -c docs',
        'sheaf eval --judgements support -c docs',
      ),
    );
  withTarget(judgements.command('list', { isDefault: true }))
    .description('list the judgement sets of a collection')
    .option('--json', 'print one set per line, as JSON')
    .action(async (flags: TargetFlags & { json?: true }) => {
      const { client, tenant, collection } = targetOf(flags, env);
      const { sets } = await client.listJudgements(tenant, collection);
      if (flags.json) for (const set of sets) line(stdout, JSON.stringify(set));
      else if (sets.length === 0) line(stdout, `${tenant}/${collection} has no judgement sets.`);
      else
        line(
          stdout,
          table(
            ['set', 'queries', 'judgements', 'stored'],
            sets.map((set) => [set.set, String(set.query_count), String(set.judgement_count), set.updated_at]),
          ),
        );
    });
  withTarget(judgements.command('put').argument('<set>').argument('<queries>').argument('<judgements>'))
    .description('store the judged queries of two files, as sheaf eval takes them, in place of the set of this name')
    .action(async (set: string, queries: string, file: string, flags: TargetFlags) => {
      const { client, tenant, collection } = targetOf(flags, env);
      const judged = readJudged({ queries, judgements: file });
      const stored = await client.putJudgements(tenant, collection, set, judged);
      const [of, all] = [count(stored.query_count, 'query'), count(stored.judgement_count, 'judgement')];
      line(stdout, `${tenant}/${collection} has ${set} now: ${of}, ${all}.`);
    });
  withTarget(judgements.command('get').argument('<set>'))
    .description('print a judgement set as JSON')
    .action(async (set: string, flags: TargetFlags) => {
      const { client, tenant, collection } = targetOf(flags, env);
      line(stdout, JSON.stringify(await client.getJudgements(tenant, collection, set), null, 2));
    });
  withTarget(judgements.command('delete').argument('<set>'))
    .description('delete a judgement set')
    .action(async (set: string, flags: TargetFlags) => {
      const { client, tenant, collection } = targetOf(flags, env);
      await client.deleteJudgements(tenant, collection, set);
      line(stdout, `${set} is deleted.`);
    });
}

function addEvaluation({ program, env, output }: CommandLine): void {
  withTarget(program.command('eval'))
    .description('measure the quality of searches by judged queries, for settings side by side')
    .argument('[queries]', 'file of JSON lines with "_id" and "text"')
    .argument('[judgements]', 'file of query, document id and grade, with tabs between; or in the form of TREC')
    .option('--judgements <set>', 'in place of the files: a judgement set of the collection')
    .option(
      '--setting <name=json>',
      'fields of a search to compare under a name; may be repeated; default: the modes vector, boost and hybrid',
      gathered,
    )
    .option('--fit', 'also choose the fusion weights on half of the queries and test them on the other half')
    .option('--depth <n>', 'hits per search', integerBetween(10, K_MAX), DEPTH_DEFAULT)
    .option('--connections <n>', 'concurrent searches', integerBetween(1, CONNECTIONS_MAX), 4)
    .option('--seed <n>', 'seed of the halves and of the intervals', integerBetween(0, 2 ** 31 - 1), SEED_DEFAULT)
    .option('--json', 'print the figures as JSON')
    .addHelpText(
      'after',
      examples(
        'sheaf eval queries.jsonl qrels.tsv -c docs',
        'sheaf eval queries.jsonl qrels.tsv -c docs --fit',
        'sheaf eval --judgements support -c docs',
        `sheaf eval queries.jsonl qrels.tsv --setting 'plain={"mode":"vector"}' --setting 'reranked={"rerank":{"instance":"ce"}}'`,
      ),
    )
    .action(async (queries: string | undefined, file: string | undefined, given: EvaluationFlags) => {
      const { setting, fit, json, judgements: set, ...flags } = given;
      const settings = setting ? Object.fromEntries(setting.map(settingOf)) : SETTINGS_DEFAULT;
      const { depth, connections, seed } = flags;
      const options = {
        judged: judgedOf(queries, file, set),
        settings,
        depth,
        connections,
        seed,
        fit: fit === true,
        json: json === true,
      };
      await evaluate(targetOf(flags, env), options, output);
    });
}

interface SearchOptions {
  body: Omit<SearchBody, 'q'>;
  /** Further collections. */
  also?: readonly string[] | undefined;
  json: boolean;
  style?: Style;
}

async function search(
  target: Target,
  query: string,
  { body, also, json, style = PLAIN }: SearchOptions,
  output: Output,
): Promise<void> {
  const { client, tenant, collection } = target;
  const { stdout, stderr } = output;
  const asked = { q: query, ...body };
  const answer = also
    ? await client.searchCollections(tenant, { ...asked, collections: [collection, ...also] })
    : await client.search(tenant, collection, asked);
  const isDegraded = 'searches' in answer ? answer.searches.some(({ degraded }) => degraded) : answer.degraded;
  line(stdout, json ? JSON.stringify(answer, null, 2) : showHits(answer.matches, query, { style, names: !!also }));
  if (isDegraded) line(stderr, 'Ranked by keywords only: the embedder does not answer.');
  if (!json && answer.matches.length === 0) await tellMissing(target, output);
}

const SNIPPET_CHARACTERS_MAX = 220;
/** Characters of the text shown before the first matching word. */
const SNIPPET_LEAD = 60;

/** Hits as text for a terminal: score, source path, chunk, and the best passage with its matches. */
export function showHits(
  hits: readonly SearchHit[],
  query: string,
  { style = PLAIN, names = false }: { style?: Style; names?: boolean } = {},
): string {
  if (hits.length === 0) return 'No hits.';
  return hits
    .map((hit, i) => showHit(hit, `${String(i + 1).padStart(2)}.${names ? ` ${hit.collection}` : ''}`, query, style))
    .join('\n');
}

function showHit(
  { id, score, text, meta, highlight, explain, match_reason, context }: SearchHit,
  label: string,
  query: string,
  style: Style,
): string {
  const separator = id.lastIndexOf('::');
  const path = typeof meta['path'] === 'string' ? meta['path'] : id.slice(0, separator);
  const head = `${label} ${score.toFixed(3)}  ${oneLine(path)}  ${style.weak(oneLine(id.slice(separator + 2)))}`;
  const passage = context
    ? [oneLine(context.text)]
    : highlight
      ? [highlighted(highlight, style)]
      : text === undefined
        ? []
        : [snippet(text, query)];
  const reasons = explain ? [style.weak(oneLine(match_reason)), style.weak(oneLine(JSON.stringify(explain)))] : [];
  return [head, ...[...passage, ...reasons].map((each) => `    ${each}`)].join('\n');
}

/**
 * The passage on one line, cut around its first match. Positions are in code points, so white space is collapsed only
 * after they have been used.
 */
function highlighted({ text, matches, offset }: Highlight, style: Style): string {
  const characters = Array.from(text, (character) => (/[\s\p{Cc}]/u.test(character) ? ' ' : character));
  const first = matches[0]?.[0] ?? 0;
  const start = first > SNIPPET_LEAD && characters.length > SNIPPET_CHARACTERS_MAX ? first - SNIPPET_LEAD : 0;
  const end = Math.min(characters.length, start + SNIPPET_CHARACTERS_MAX);
  let shown = '';
  let at = start;
  for (const [from, to] of matches) {
    if (from < at || to > end) continue;
    shown += characters.slice(at, from).join('') + style.strong(characters.slice(from, to).join(''));
    at = to;
  }
  shown += characters.slice(at, end).join('');
  return `${start + offset > 0 ? '… ' : ''}${shown.replace(/ {2,}/g, ' ').trim()}${end < characters.length ? ' …' : ''}`;
}

/** At most 220 characters of the text on one line, starting a little before the first query word that occurs in it. */
export function snippet(text: string, query: string): string {
  const flat = oneLine(text);
  const lower = flat.toLowerCase();
  const places =
    query
      .toLowerCase()
      .match(/[\p{L}\p{N}]{4,}/gu)
      ?.map((word) => lower.indexOf(word)) ?? [];
  const first = Math.min(...places.filter((place) => place >= 0));
  const start = Number.isFinite(first) && first > SNIPPET_LEAD ? flat.indexOf(' ', first - SNIPPET_LEAD) + 1 : 0;
  const characters = Array.from(flat.slice(start, start + 2 * (SNIPPET_CHARACTERS_MAX + 1)));
  const shown = characters.slice(0, SNIPPET_CHARACTERS_MAX).join('');
  return `${start > 0 ? '… ' : ''}${shown}${characters.length > SNIPPET_CHARACTERS_MAX ? ' …' : ''}`;
}
