// `sheaf capacity`: memory, disk and cores that a server needs. The constants are measured: the command named at each
// reproduces it. docs/operations/capacity.md explains them. Needs no server.
import { EXIT } from './command-line.js';
import { type Output, line, table } from './output.js';

export interface Plan {
  /** Chunks of all collections together. */
  chunks: number;
  dim: number;
  precision: 'int16' | 'int8';
  /** Words per chunk; 0 if no search uses text ranking. */
  words: number;
  /** Distinct terms of all texts together. Undefined: estimated from the amount of text. */
  terms: number | undefined;
  /** Bytes of JSON metadata per document. */
  metadataBytes: number;
  /** Metadata fields with a different value in nearly every document, such as a title or a time. */
  uniqueFields: number;
  /** Searches per second. */
  searches: number;
  /** Share of searches in mode hybrid, from 0 to 1. */
  hybridShare: number;
  /** CPU time of the embedder per query, in ms. */
  embedMs: number;
  /** Chunks written per second. */
  writes: number;
}

export interface Need {
  memory: { vectors: number; textIndex: number; metadataIndex: number; process: number };
  disk: { store: number; checkpoints: number; queryLog: number };
  /** Busy cores, without reserve for bursts. */
  cores: { searches: number; writes: number };
}

/** Bytes of a vector besides its components: node dist/load/main.js vectors bytes. */
const VECTOR_FIELDS_BYTES = { int16: 230, int8: 225 } as const;
/** Bytes per occurrence of a term and per distinct term: test/integration/cli/capacity.test.ts. */
const TEXT_INDEX_BYTES = { word: 4, term: 80 } as const;
/**
 * Distinct terms of English text by its length in words (Heaps' law; Manning et al., Introduction to Information
 * Retrieval, 5.1.1).
 */
const termsOf = (words: number): number => 44 * words ** 0.49;
/** Bytes per chunk for fields with few distinct values: node dist/load/main.js shard filters. */
const METADATA_INDEX_BYTES = 50;
/** Bytes per value that only one document has: test/integration/cli/capacity.test.ts. */
const UNIQUE_VALUE_BYTES = 110;
/** VmRSS of a server after its first search, the payload cache of two search workers, and a reserve for requests. */
const PROCESS_BYTES = 300e6;
/** The fixed upper bound; query_log.max_entries and max_age_days usually apply earlier. */
const QUERY_LOG_BYTES_MAX = 268e6;

/**
 * Space of a value in LMDB: test/integration/cli/capacity.test.ts. Pages are partly empty, and longer values have pages
 * of their own.
 */
const PAGE_BYTES = 4096;
const SHARED_PAGE_VALUE_BYTES_MAX = 1300;
const SHARED_PAGE_OVERHEAD = 1.45;
/** Records of a document besides vector, text and metadata. */
const DOCUMENT_BYTES = 320;
const TEXT_BYTES_A_WORD = 6;
const VECTOR_NUMBER_BYTES = 4;

/** CPU times of all threads in ms. `node dist/load/main.js server capacity` prints each beside what it measures. */
export const CPU = {
  /** Vector search over HTTP at k 10, logged, without the graph search. */
  searchMs: 0.13,
  graphSearch: { ms: 0.105, dim: 384, chunks: 60_000 },
  /** What a hybrid search takes beyond a vector search. It doubles up to 1,000,000 chunks. */
  hybrid: { ms: 0.31, chunks: 10_000 },
  /** Written vector, including its graph edges. */
  write: { ms: 0.41, dim: 384 },
} as const;
/** Above this load, requests wait. */
const BUSY_SHARE_MAX = 0.7;
/** With two cores, a large search does not wait for a checkpoint or for graph construction. */
const CORES_MIN = 2;

export function needOf(plan: Plan): Need {
  const { chunks, dim, precision, words, metadataBytes, uniqueFields } = plan;
  const { terms = termsOf(chunks * words) } = plan;
  const vectors = chunks * (dim * (precision === 'int8' ? 1 : 2) + VECTOR_FIELDS_BYTES[precision]);
  const textIndex = words === 0 ? 0 : chunks * words * TEXT_INDEX_BYTES.word + terms * TEXT_INDEX_BYTES.term;
  const metadataIndex = chunks * (METADATA_INDEX_BYTES + uniqueFields * UNIQUE_VALUE_BYTES);
  const chunkOnDisk =
    pagedBytes(dim * VECTOR_NUMBER_BYTES) +
    pagedBytes(words * TEXT_BYTES_A_WORD) +
    pagedBytes(metadataBytes) +
    DOCUMENT_BYTES;
  return {
    memory: { vectors, textIndex, metadataIndex, process: PROCESS_BYTES },
    disk: {
      store: chunks * chunkOnDisk,
      checkpoints: 2 * (vectors + textIndex + metadataIndex),
      queryLog: QUERY_LOG_BYTES_MAX,
    },
    cores: {
      searches: (plan.searches * searchMs(plan)) / 1000,
      writes: (plan.writes * CPU.write.ms * dim) / CPU.write.dim / 1000,
    },
  };
}

function pagedBytes(bytes: number): number {
  if (bytes <= SHARED_PAGE_VALUE_BYTES_MAX) return bytes * SHARED_PAGE_OVERHEAD;
  return Math.ceil(bytes / PAGE_BYTES) * PAGE_BYTES;
}

/** Mean CPU time per search in ms. */
function searchMs({ chunks, dim, hybridShare, embedMs }: Plan): number {
  const { searchMs: httpMs, graphSearch, hybrid } = CPU;
  const graphMs =
    (graphSearch.ms * (dim / graphSearch.dim) * Math.log(Math.max(chunks, 2))) / Math.log(graphSearch.chunks);
  const growth = Math.max(1, 1 + Math.log10(chunks / hybrid.chunks) / 2);
  return httpMs + embedMs + graphMs + hybridShare * hybrid.ms * growth;
}

const sum = (values: object): number =>
  Object.values(values as Record<string, number>).reduce((all, one) => all + one, 0);
const bytes = (value: number): string =>
  value >= 1e9 ? `${(value / 1e9).toFixed(1)} GB` : `${Math.ceil(value / 1e6).toLocaleString('en-US')} MB`;
const coresFor = (cores: Need['cores']): number => Math.max(CORES_MIN, Math.ceil(sum(cores) / BUSY_SHARE_MAX));

/** Prints the need as a table, or as JSON in bytes and cores. */
export function capacity(plan: Plan, json: boolean, { stdout }: Output): number {
  const need = needOf(plan);
  const { memory, disk, cores } = need;
  if (json) {
    const total = { memory_bytes: sum(memory), disk_bytes: sum(disk), cores: coresFor(cores) };
    line(stdout, JSON.stringify({ plan, need, total }));
    return EXIT.done;
  }
  line(
    stdout,
    table(
      ['need', 'for', 'amount'],
      [
        ['memory', 'vectors and graph', bytes(memory.vectors)],
        ['', 'text index', bytes(memory.textIndex)],
        ['', 'metadata index', bytes(memory.metadataIndex)],
        ['', 'process and caches', bytes(memory.process)],
        ['', 'all', bytes(sum(memory))],
        ['disk', 'store', bytes(disk.store)],
        ['', 'checkpoints, while one is written', bytes(disk.checkpoints)],
        ['', 'query log of a collection, at most', bytes(disk.queryLog)],
        ['', 'all', bytes(sum(disk))],
        ['cores', 'searches', cores.searches.toFixed(2)],
        ['', 'writes', cores.writes.toFixed(2)],
        ['', `all, ${BUSY_SHARE_MAX * 100} % busy, at least ${CORES_MIN}`, String(coresFor(cores))],
      ],
    ),
  );
  return EXIT.done;
}
