// The load program: `node dist/load/main.js VERB [KIND] [options]` measures one thing and prints a table. This file has
// the table of verbs and kinds; their modules are imported on demand.
import { Command } from 'commander';
import { type LoadOptions, loadOptions } from './kit/command.js';

interface Kind {
  readonly about: string;
  /** Flags as the user types them, with their meaning. */
  readonly options?: Readonly<Record<string, string>>;
  /** Description of the arguments that the command accepts. */
  readonly names?: string;
  /** Runs for a given time, by a seed. */
  readonly isSeeded?: true;
  readonly run: (options: LoadOptions) => Promise<void>;
}

interface Verb {
  readonly about: string;
  readonly kinds: Readonly<Record<string, Kind>>;
}

const ROWS = { '--rows <n>': 'vectors' };
const VECTORS = { '--vectors <n>': 'vectors' };
const SECONDS = { '--seconds <n>': 'of each measurement' };
const URL = { '--url <url>': 'of a server that runs, in place of one of its own' };
const KEPT = { '--kept <folder>': 'the data directory stays there, and is filled once' };
const RATE = { '--rate <n>': 'searches per second' };
const SETS = { '--sets <a,b>': 'some of the sets of vectors' };
const SEED = { '--seed <n>': 'of the first round' };
const TRACE = { '--trace <0|1>': 'tell what happens' };
const MINUTES = { '--minutes <n>': 'ends after them' };
const JUDGED_NAMES = 'collections (cranfield, scifact, npl-vaswani) and embedders; all where none is named';

const VERBS: Readonly<Record<string, Verb>> = {
  vectors: {
    about: 'the vector index in one thread',
    kinds: {
      peers: {
        about: 'recall, rate, building and bytes beside other libraries, with a chart',
        options: {
          ...SETS,
          '--peers <a,b>': 'some of the libraries',
          ...ROWS,
          '--queries <n>': 'of each set (1000)',
          '--charts <folder>': 'where charts go',
          '--fresh <0|1>': 'build graphs anew',
        },
        run: async (options) => (await import('./vectors/peers.js')).peers(options),
      },
      recall: {
        about: 'graph search against exact scan at several breadths',
        options: ROWS,
        run: async (options) => (await import('./vectors/peers.js')).recall(options),
      },
      partitions: {
        about: 'one thread over the same vectors in 1, 2, 4 and 8 partitions',
        options: ROWS,
        run: async (options) => (await import('./vectors/peers.js')).partitions(options),
      },
      shapes: {
        about: 'seeded collections of every shape, and the worst question of each',
        options: {
          '--shapes <n>': 'how many (100)',
          ...SEED,
          ...ROWS,
          '--peers <0|1>': 'hnswlib-node beside it',
          '--python <0|1>': 'faiss beside it',
        },
        run: async (options) => (await import('./vectors/hard-sets.js')).shapes(options),
      },
      worst: {
        about: 'ten thousand queries of each set, and how many find few of their ten',
        options: {
          ...SETS,
          '--orders <n>': 'of the rows (1)',
          ...ROWS,
          '--efs <64,128>': 'breadths beside the default',
        },
        run: async (options) => (await import('./vectors/hard-sets.js')).worst(options),
      },
      filters: {
        about: 'recall and rate under filters of several kinds and shares',
        options: ROWS,
        run: async (options) => (await import('./vectors/filters.js')).filters(options),
      },
      bytes: {
        about: 'where the bytes of a vector go',
        run: async (options) => (await import('./vectors/memory.js')).bytes(options),
      },
      churn: {
        about: 'recall over rounds of deleting and adding',
        options: { ...ROWS, '--rounds <n>': 'how many (10)' },
        run: async (options) => (await import('./vectors/memory.js')).churn(options),
      },
    },
  },
  text: {
    about: 'ranking by words alone, in one thread',
    kinds: {
      peers: {
        about: 'the text index beside MiniSearch, Orama, tantivy and FTS5',
        options: { '--chunks <n>': 'of 22 words' },
        run: async (options) => (await import('./text.js')).peers(options),
      },
      near: {
        about: 'the time that the terms near a word take',
        options: { '--terms <n>': 'of the index (200,000)' },
        run: async (options) => (await import('./quality/words.js')).near(options),
      },
      languages: {
        about: 'BM25 with and without stems and stop words',
        options: { '--pages <folder>': 'of manual pages in other languages' },
        run: async (options) => (await import('./text.js')).languages(options),
      },
    },
  },
  shard: {
    about: 'one shard in this process, without HTTP',
    kinds: {
      filters: {
        about: 'whole searches with filters, and what making their bitmaps takes',
        options: ROWS,
        run: async (options) => (await import('./shard.js')).filters(options),
      },
      deletes: {
        about: 'memory that nine deletes in ten give back',
        options: ROWS,
        run: async (options) => (await import('./shard.js')).deletes(options),
      },
      drop: {
        about: 'what dropped collections give back of the file',
        options: { '--chunks <n>': 'of each collection', '--rounds <n>': 'how many (10)' },
        run: async (options) => (await import('./shard.js')).drop(options),
      },
    },
  },
  quality: {
    about: 'how good answers are, on judged collections',
    kinds: {
      search: {
        about: 'nDCG@10 and recall@100 of each mode over HTTP',
        names: JUDGED_NAMES,
        run: async (options) => (await import('./quality/search.js')).search(options),
      },
      chunking: {
        about: 'nDCG@10 by chunking strategy and size, with the built-in embedder',
        names: JUDGED_NAMES,
        run: async (options) => (await import('./quality/chunking.js')).chunking(options),
      },
      cutting: {
        about: 'how fast each chunking strategy cuts',
        run: async (options) => (await import('./quality/chunking.js')).cutting(options),
      },
      long: {
        about: 'nDCG@10 where queries are whole abstracts',
        names: JUDGED_NAMES,
        run: async (options) => (await import('./quality/long.js')).long(options),
      },
      words: {
        about: 'nDCG@10 where a word of each query has a typing error, without and with `fuzzy`',
        names: 'collections (cranfield, scifact, npl-vaswani); all where none is named',
        options: { '--seed <n>': 'of the errors (1)' },
        run: async (options) => (await import('./quality/words.js')).words(options),
      },
      embedders: {
        about: 'nDCG@10 of embedders by exact cosine (the model takes an hour)',
        names: JUDGED_NAMES,
        run: async (options) => (await import('./quality/search.js')).embedders(options),
      },
      relevance: {
        about: 'fits the constants of relevance',
        run: async (options) => (await import('./quality/relevance.js')).relevance(options),
      },
    },
  },
  embed: {
    about: 'embedders in this process',
    kinds: {
      model: {
        about: 'the shared model: our workers beside onnxruntime alone',
        options: { '--chunks <n>': 'of Cranfield (160)', '--rounds <n>': 'the best counts (2)' },
        run: async (options) => (await import('./embed.js')).model(options),
      },
      builtin: {
        about: 'the built-in embedder, windows of 25 words a second',
        run: async (options) => (await import('./embed.js')).builtin(options),
      },
    },
  },
  ingest: {
    about: 'ingest over HTTP, each document durable',
    kinds: {
      texts: {
        about: 'Cranfield, a document a request',
        options: { '--concurrency <n>': 'requests under way (32)', ...URL },
        run: async (options) => (await import('./ingest.js')).texts(options),
      },
      vectors: {
        about: "vectors of one's own: one by one, in batches, as a stream",
        options: { ...VECTORS, '--size <n>': 'of a batch (500)', ...URL },
        run: async (options) => (await import('./ingest.js')).vectors(options),
      },
      again: {
        about: 'the same documents again, with one chunk in ten changed',
        run: async (options) => (await import('./ingest.js')).again(options),
      },
      changes: {
        about: 'documents that are stored: patched, deleted by filter',
        options: { ...VECTORS, ...SECONDS, ...URL },
        run: async (options) => (await import('./documents.js')).changes(options),
      },
      files: {
        about: 'text out of files, in one thread without HTTP',
        options: { '--rows <n>': 'of a generated CSV' },
        run: async (options) => (await import('./ingest.js')).files(options),
      },
    },
  },
  search: {
    about: 'searches over HTTP, as fast as connections carry them',
    kinds: {
      texts: {
        about: 'Cranfield: text, vectors, modes, a filter',
        options: { ...SECONDS, ...URL },
        run: async (options) => (await import('./search.js')).texts(options),
      },
      vectors: {
        about: '50,000 vectors, by two clients, with recall and processor time',
        options: { ...VECTORS, ...SECONDS, ...URL },
        run: async (options) => (await import('./search.js')).vectors(options),
      },
      partitions: {
        about: 'one collection on servers with 1, 4 and 16 shards, in turns, with recall',
        options: { ...VECTORS, '--rounds <n>': 'turns of each server (30)' },
        run: async (options) => (await import('./search.js')).partitions(options),
      },
      results: {
        about: 'what pages, groups, fields, contexts, diversity and sorted searches cost beside a plain search',
        options: { ...VECTORS, '--rounds <n>': 'turns of each search (20)', ...URL },
        run: async (options) => (await import('./search.js')).results(options),
      },
      counts: {
        about: 'counts by filter and facets over chunks with ten metadata fields',
        options: { ...VECTORS, '--rounds <n>': 'turns of each request (20)', ...URL },
        run: async (options) => (await import('./search.js')).counts(options),
      },
      model: {
        about: 'through the shared model: new texts, and texts in the cache',
        options: { ...SECONDS, ...URL },
        run: async (options) => (await import('./search.js')).model(options),
      },
      lengths: {
        about: 'questions of 3, 20 and 60 words in each mode',
        options: { ...SECONDS, ...URL },
        run: async (options) => (await import('./search.js')).lengths(options),
      },
      collections: {
        about: 'ten collections in turn, and a hundred',
        options: { ...SECONDS, ...URL },
        run: async (options) => (await import('./search.js')).collections(options),
      },
    },
  },
  beside: {
    about: 'what searches notice of what is done beside them',
    kinds: {
      ingest: {
        about: 'a bulk ingest through the shared model',
        options: { ...SECONDS, ...URL },
        run: async (options) => (await import('./beside.js')).ingest(options),
      },
      writes: {
        about: 'writers that replace vectors without a pause',
        options: { ...VECTORS, ...RATE, ...SECONDS, '--writers <n>': 'at a time (1)' },
        run: async (options) => (await import('./beside.js')).writes(options),
      },
      expiry: {
        about: 'documents that all expire in one second',
        options: { ...ROWS, ...RATE, ...SECONDS, '--expiring <n>': 'documents beside the vectors' },
        run: async (options) => (await import('./beside.js')).expiry(options),
      },
      background: {
        about: 'archives, reindex jobs, checkpoints',
        options: {
          ...ROWS,
          ...RATE,
          ...SECONDS,
          '--partitions <n>': 'of the server',
          '--only <archives|jobs|checkpoints>': 'one of them',
        },
        run: async (options) => (await import('./beside.js')).background(options),
      },
      tenant: {
        about: 'another tenant at full load',
        options: { ...VECTORS, ...SECONDS, ...URL },
        run: async (options) => (await import('./beside.js')).tenant(options),
      },
    },
  },
  server: {
    about: 'a server from its start to its end',
    kinds: {
      start: {
        about: 'until it is ready, and its first documents',
        run: async (options) => (await import('./server.js')).start(options),
      },
      restart: {
        about: 'with many vectors: after SIGTERM, after kill -9, behind writes; and beside checkpoints',
        options: { ...ROWS, ...RATE, ...SECONDS, ...KEPT },
        run: async (options) => (await import('./server.js')).restart(options),
      },
      idle: {
        about: 'memory and start with thousands of collections that nobody asks',
        options: { '--collections <n>': 'how many (10,000)', '--chunks <n>': 'of each (100)', ...KEPT },
        run: async (options) => (await import('./server.js')).idle(options),
      },
      capacity: {
        about: 'the CPU times by which `sheaf capacity` estimates cores, beside its constants',
        options: SECONDS,
        run: async (options) => (await import('./capacity.js')).capacity(options),
      },
      fronts: {
        about: 'processor time of a search by thread, number of front threads and form of the request',
        options: {
          ...SECONDS,
          ...ROWS,
          '--fronts <n>': 'most front threads: 1, 2, 4 … (2)',
          '--json-only': 'the first form of the request alone',
        },
        run: async (options) => (await import('./fronts.js')).fronts(options),
      },
      archive: {
        about: 'archives out and in: rate, memory, and searches beside them',
        options: ROWS,
        run: async (options) => (await import('./server.js')).archive(options),
      },
      export: {
        about: 'documents out as NDJSON: texts, then chunks with vectors',
        options: { '--rows <n>': 'documents' },
        run: async (options) => (await import('./server.js')).exportLines(options),
      },
    },
  },
  http: {
    about: 'the HTTP server and the console',
    kinds: {
      floor: {
        about: 'the HTTP server alone',
        options: SECONDS,
        run: async (options) => (await import('./http/floor.js')).floor(options),
      },
      hostile: {
        about: 'how long others wait beside bodies that cost as much as they can',
        options: { '--rounds <n>': 'of each body (5)', '--only <name>': 'bodies with this in their name', ...URL },
        run: async (options) => (await import('./http/hostile.js')).hostile(options),
      },
      observability: {
        about: 'what metrics and tracing cost',
        options: {
          '--only <scrapes|tracing>': 'one of them',
          '--rounds <n>': 'at most (200)',
          '--collections <n>': 'of the larger scrape (10,000)',
        },
        run: async (options) => (await import('./http/observability.js')).observability(options),
      },
      connections: {
        about: 'many kept connections: memory of each, and latency with a request a second on each',
        options: {
          '--connections <n>': 'of them (10,000); `ulimit -n` bounds them',
          '--fronts <n>': 'front threads (2)',
          ...SECONDS,
        },
        run: async (options) => (await import('./http/connections.js')).connections(options),
      },
      clients: {
        about: '`sheaf bench` beside wrk, a client in C',
        options: SECONDS,
        run: async (options) => (await import('./http/bench-client.js')).benchClient(options),
      },
      console: {
        about: 'the console on a slow connection, and a link to one of many collections, in Chromium',
        options: { '--collections <n>': 'linked to one of so many (10000)' },
        run: async (options) => (await import('./http/console.js')).consoleViews(options),
      },
    },
  },
  cluster: {
    about: 'nodes and NATS servers on this machine',
    kinds: {
      puts: {
        about: 'acknowledged writes beside the stream by itself and beside one machine',
        options: { '--nodes <n>': '(1)', ...SECONDS },
        run: async (options) => (await import('./cluster.js')).puts(options),
      },
      searches: {
        about: 'CPU time of a search on one machine and on a node',
        options: { ...ROWS, ...SECONDS },
        run: async (options) => (await import('./cluster.js')).searches(options),
      },
      shares: {
        about: 'memory of 3 nodes that hold each collection once, and searches that another node runs',
        options: { ...ROWS, ...SECONDS, '--collections <n>': '(6)' },
        run: async (options) => (await import('./cluster.js')).shares(options),
      },
      spread: {
        about: 'one collection whose shards are spread over 1, 2 and 3 nodes: memory, CPU time and recall of searches',
        options: { ...ROWS, ...SECONDS },
        run: async (options) => (await import('./cluster.js')).spread(options),
      },
      copies: {
        about: 'a new node copies the data of another one beside searches',
        options: { ...ROWS, ...SECONDS, '--rounds <n>': 'how many new nodes, one after the other (3)' },
        run: async (options) => (await import('./cluster.js')).copies(options),
      },
      deaths: {
        about: 'what is lost, and for how long nothing answers, while processes are killed',
        options: SECONDS,
        run: async (options) => (await import('./cluster.js')).deaths(options),
      },
    },
  },
  soak: {
    about: 'random work against checkers; exit code 1 on a violation',
    kinds: {
      torture: {
        about: 'a server killed at random moments, all compared with a model after each start',
        options: { '--cycles <n>': 'deaths (100)', ...MINUTES, ...SEED, '--power-cut': 'lose what was not synced' },
        isSeeded: true,
        run: async (options) => (await import('./soak.js')).torture(options),
      },
      deaths: {
        about: 'threads of every kind that die amid random operations of several tenants',
        options: { '--deaths <n>': 'in all (1,000)', ...SEED },
        isSeeded: true,
        run: async (options) => (await import('./front-threads.js')).deaths(options),
      },
      revocations: {
        about: 'keys granted and revoked under searches over several front threads',
        options: { '--minutes <n>': 'in all (20)', ...SEED },
        isSeeded: true,
        run: async (options) => (await import('./front-threads.js')).revocations(options),
      },
      operations: {
        about: 'random operations of several tenants against a model',
        options: { '--operations <n>': 'in all (200,000)', '--restarts <n>': 'meanwhile (20)', ...MINUTES, ...SEED },
        isSeeded: true,
        run: async (options) => (await import('./soak.js')).operations(options),
      },
      stress: {
        about: 'readers beside a writer on the memory of a shard, threads killed',
        options: { '--minutes <n>': 'in all; each seed gets 20 s (1)', ...SEED, '--readers <n>': 'threads (3)' },
        isSeeded: true,
        run: async (options) => (await import('./soak.js')).stress(options),
      },
      replay: {
        about: 'random commands of a shard and the replay of its journal in other batches',
        options: { '--commands <n>': 'in all (200,000)', ...SEED },
        isSeeded: true,
        run: async (options) => (await import('./soak.js')).replay(options),
      },
      cluster: {
        about: 'nodes and NATS servers that are killed and stopped at random under writes and reads',
        options: { ...MINUTES, ...SEED, ...TRACE, '--former <folder>': 'of the build that nodes are upgraded from' },
        isSeeded: true,
        run: async (options) => (await import('./soak.js')).cluster(options),
      },
      simulation: {
        about: "the cluster's protocol in a simulated world with a clock of its own",
        options: {
          '--seeds <n>': 'in all (1,000)',
          ...SEED,
          '--losses <0|1>': 'whether the log loses what it has acknowledged (0)',
          ...TRACE,
        },
        isSeeded: true,
        run: async (options) => (await import('./soak.js')).simulation(options),
      },
      requests: {
        about: "random requests from the server's own OpenAPI document",
        options: { '--requests <n>': 'in all (100,000)', ...SEED, '--connections <n>': '(8)', ...URL },
        isSeeded: true,
        run: async (options) => (await import('./soak.js')).requests(options),
      },
    },
  },
};

const SUITE = 'workloads that are data, with reports; `suite --help` has its commands and options';

function commandOf(name: string, { about, options = {}, names, run }: Kind): Command {
  const command = new Command(name).description(about);
  if (names !== undefined) command.argument('[names...]', names);
  for (const [flags, meaning] of Object.entries(options)) command.option(flags, meaning);
  return command
    .option('--tiny', 'small, in seconds: no figure of it means anything')
    .action(() => run(loadOptions(optionsAsTyped(command), command.args)));
}

/** Options by the names of the flags as typed, such as power-cut. */
const optionsAsTyped = (command: Command): Record<string, unknown> =>
  Object.fromEntries(
    command.options.map((option) => [option.long?.slice(2), command.getOptionValue(option.attributeName()) as unknown]),
  );

interface Listed {
  readonly command: string;
  readonly about: string;
  readonly isSeeded: boolean;
}

const listed = (): Listed[] =>
  Object.entries(VERBS).flatMap(([verb, { kinds }]) =>
    Object.entries(kinds).map(([kind, { about, isSeeded = false }]) => ({
      command: `${verb} ${kind}`,
      about,
      isSeeded,
    })),
  );

const program = new Command('node dist/load/main.js').description('Measures one thing, and prints a table.');
for (const [verb, { about, kinds }] of Object.entries(VERBS)) {
  const group = new Command(verb).description(about);
  for (const [name, kind] of Object.entries(kinds)) group.addCommand(commandOf(name, kind));
  program.addCommand(group);
}
program
  .command('suite')
  .description(SUITE)
  .argument('[args...]')
  .helpOption(false)
  .allowUnknownOption()
  .action(async (args: string[]) => (await import('./suite/commands.js')).suite(args));
program
  .command('list')
  .description('every verb with its kinds')
  .option('--json', 'for programs')
  .action(({ json }: { json?: boolean }) => {
    const all = listed();
    if (json) return console.log(JSON.stringify(all));
    const width = Math.max(...all.map(({ command }) => command.length));
    for (const { command, about } of [...all, { command: 'suite', about: SUITE }])
      console.log(`${command.padEnd(width)}  ${about}`);
  });
await program.parseAsync();
