// `sheaf bench`: a quick look at how fast a running server answers searches, through the client that programs use.
// Called by search-commands.ts. For reports and comparisons there are the programs of load/.
import { readFile } from 'node:fs/promises';
import { runSearches, type Load, type Measured } from './bench-run.js';
import { EXIT } from './command-line.js';
import { UsageError } from './explain-error.js';
import { reasonOf } from './find-files.js';
import { INTERRUPTED, withInterrupt } from './interrupt.js';
import { count, duration, line, type Output } from './output.js';
import type { Target } from './target.js';

export interface BenchOptions extends Load {
  queries?: string;
  json?: true;
}

const QUERIES_MAX = 500;
const QUERY_WORDS = 6;
const DOCUMENTS_ASKED = 50;

/**
 * Exit code: 1 where a search failed, 130 after Ctrl-C, which ends it early. Throws UsageError where there is nothing
 * to search for.
 */
export async function bench(target: Target, options: BenchOptions, { stdout, stderr }: Output): Promise<number> {
  const [queries, source] = await queriesFor(target, options.queries);
  if (queries.length === 0)
    throw new UsageError(
      `${target.tenant}/${target.collection} has no logged searches and no texts: name a file of queries with --queries.`,
    );
  line(
    stderr,
    `${count(queries.length, 'query')} from ${source}, ${options.rate ? `${options.rate} searches/s` : count(options.connections, 'connection')}, ${duration(options.seconds)}`,
  );
  return withInterrupt(async (signal) => {
    const measured = await runSearches(target, queries, options, signal);
    line(stdout, options.json ? JSON.stringify(measured, null, 2) : told(measured));
    if (signal.aborted) return INTERRUPTED;
    return measured.failed > 0 || measured.searches === 0 ? EXIT.failed : EXIT.done;
  });
}

async function queriesFor(target: Target, file: string | undefined): Promise<[string[], string]> {
  if (file !== undefined) {
    const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
      throw new UsageError(`${file}: ${reasonOf(error)}. Name a file with a query a line.`);
    });
    return [
      text
        .split('\n')
        .map((each) => each.trim())
        .filter(Boolean),
      file,
    ];
  }
  const { client, tenant, collection } = target;
  const { queries } = await client.queries.list(tenant, collection, { limit: QUERIES_MAX });
  const logged = [...new Set(queries.map(({ query_text: text }) => text).filter((text) => text.trim() !== ''))];
  return logged.length > 0 ? [logged, 'the query log'] : [await wordsOfDocuments(target), 'its documents'];
}

async function wordsOfDocuments({ client, tenant, collection }: Target): Promise<string[]> {
  const { documents } = await client.listDocuments(tenant, collection, { limit: DOCUMENTS_ASKED });
  const texts = await Promise.all(
    documents.map(async ({ docid }) => {
      const { chunks } = await client.listChunks(tenant, collection, docid, { limit: 1 });
      return chunks[0] ? client.chunkContent(tenant, collection, chunks[0].rid).catch(() => '') : '';
    }),
  );
  return texts.map((text) => text.split(/\s+/).slice(0, QUERY_WORDS).join(' ').trim()).filter(Boolean);
}

function told({
  searches,
  failed,
  seconds,
  per_second: rate,
  latency_ms: latency,
  server_ms: server,
  errors,
}: Measured): string {
  const phases = Object.entries(server)
    .map(([phase, ms]) => `${phase} ${ms.toFixed(2)}`)
    .join(', ');
  const lines = [
    `${count(searches, 'search')} in ${duration(seconds)}: ${rate.toFixed(0)} searches/s`,
    `latency   p50 ${ms(latency.p50)}  p90 ${ms(latency.p90)}  p99 ${ms(latency.p99)}  longest ${ms(latency.max)}`,
    `of it in the server, mean ms: ${phases || 'not told'}`,
  ];
  return [
    ...lines,
    ...(failed > 0
      ? [
          `${failed} failed: ${Object.entries(errors)
            .map(([code, n]) => `${n} ${code}`)
            .join(', ')}`,
        ]
      : []),
  ].join('\n');
}

const ms = (value: number): string => `${value.toFixed(value < 10 ? 2 : 0)} ms`;
