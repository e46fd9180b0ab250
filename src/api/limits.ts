// Every bound of the interface that is not configuration, and the defaults of those that are, in one place.
// Read by the configuration, the checks of requests and the pools. Units stand last in the names.

/** Readers of events, of a collection and of all together: each is a connection that stays. */
export const EVENT_STREAMS_OF_COLLECTION_MAX = 16;
export const EVENT_STREAMS_MAX = 256;

export const K_DEFAULT = 5;
export const K_MAX = 1000;
/**
 * Breadth of a walk through the graph that a search may ask for: no answer is deeper, and the memory of a search is
 * made for it.
 */
export const EF_MAX = 10_000;

/** Of one measurement of recall: queries, the nearest of each, and time. */
export const RECALL_SAMPLE_DEFAULT = 100;
export const RECALL_SAMPLE_MAX = 1000;
export const RECALL_K_DEFAULT = 10;
export const RECALL_K_MAX = 100;
export const RECALL_TIME_MAX_MS = 10_000;
/** At a time, over all collections. */
export const RECALLS_MAX = 2;
/** With fewer logged searches than this, and than the sample, stored vectors are looked for. */
export const RECALL_LOGGED_MIN = 20;
/** The latest entries of the log that are read for them. */
export const RECALL_LOG_ENTRIES_MAX = 2000;
/** Stored vectors of one message. */
export const RECALL_PAGE_VECTORS = 64;
export const RECALL_PAGE_BYTES = 4 * 1024 * 1024;

/** Of one sample of stored vectors: how many, and their components together, each a byte. */
export const VECTOR_SAMPLE_DEFAULT = 500;
export const VECTOR_SAMPLE_MAX = 2000;
export const VECTOR_SAMPLE_COMPONENTS_MAX = 2 * 1024 * 1024;

export const DIM_MAX = 65_536;
export const DISPLAY_NAME_CHARACTERS_MAX = 120;

export const CHUNK_SIZE_DEFAULT = 1000;
export const CHUNK_OVERLAP_DEFAULT = 200;
export const CHUNK_SIZE_MIN = 16;
export const CHUNK_SIZE_MAX = 32_768;

/** The last millisecond of the year 9999: what ISO 8601 writes with four digits. */
export const TIME_MAX_MS = 253_402_300_799_999;

/** How deep lists and objects may stand in each other: far below what a stack can take. */
export const METADATA_LEVELS_MAX = 100;
/**
 * Bounds of the JSON that the front thread parses itself, while nobody else is answered: every body but those of
 * ingest; `node dist/load/main.js http hostile` has how long that takes. Names and values are those of all objects and
 * lists together.
 */
export const JSON_BODY_SHAPE = { bytesMax: 256 * 1024, namesMax: 1024, valuesMax: 4096, levelsMax: 64 } as const;
/** Of a search without its vector: the lists of its filters may be long. */
export const SEARCH_BODY_SHAPE = { ...JSON_BODY_SHAPE, valuesMax: 12_288 } as const;
/** What a vector adds to that. */
export const VECTOR_JSON_BYTES_MAX = 32 * DIM_MAX;
/** Of a message of the Model Context Protocol, which may carry a document with its metadata. */
export const MESSAGE_SHAPE = { bytesMax: 1024 * 1024, namesMax: 2048, valuesMax: 12_288, levelsMax: 128 } as const;
/** UTF-8 of the text of a search, and of the value of a content filter. */
export const QUERY_TEXT_BYTES_MAX = 64 * 1024;
export const BATCH_ITEMS_MAX = 10_000;
/** Path, query and headers of a request; the HTTP library is told to take a little more. */
export const HEAD_BYTES_MAX = 16 * 1024;
/** `limit` of the listings. Without one the query log gives its default, the others all. */
export const PAGE_MAX = 10_000;
export const QUERIES_PAGE_DEFAULT = 50;
export const QUERIES_PAGE_MAX = 500;
/** Records of one collection's query log; the oldest go beyond it, whatever their number. */
export const QUERY_LOG_BYTES_MAX = 256 * 1024 * 1024;
/** Logged searches on their way to the disk; beyond it searches go unlogged. */
export const QUERY_LOG_WAITING_BYTES_MAX = 32 * 1024 * 1024;

/** How long the space before a reindex may be kept for a rollback: thirty days. */
export const KEEP_SECONDS_MAX = 2_592_000;

/** Keys of one tenant, revoked ones included: the oldest of these go when room is wanted. */
export const TENANT_KEYS_MAX = 1000;
export const KEY_FILTERS_BYTES_MAX = 16 * 1024;

export const SHARDS_MAX = 16;
/** Untouched pages cost nothing; a shard's memory grows to 4 GiB. */
export const SHARD_PAGES_INITIAL = 256;
export const SHARD_PAGES_MAX = 65_536;

/** Fusion of ranks: what is added to each rank (Cormack et al. 2009). */
export const FUSION_K_DEFAULT = 60;
export const FUSION_K_MAX = 1_000_000;
/** What the halves of mode hybrid weigh. Those of score: `node dist/load/main.js quality search` has what they reach. */
export const FUSION_WEIGHTS_DEFAULT = {
  rank: { vector: 1, lexical: 1 },
  score: { vector: 0.6, lexical: 0.4 },
} as const;
export const FUSION_WEIGHT_MAX = 1000;
/** How many candidates are reranked where a search does not say; never fewer than k. */
export const RERANK_DEPTH_DEFAULT = 50;
/**
 * How much of a query modes boost and hybrid look for words in, and how many distinct ones they take; the rest counts
 * for nothing.
 */
export const QUERY_CHARACTERS_MAX = 32_768;
export const QUERY_TOKENS_MAX = 1024;
/** The vectors of longer query texts are not kept: a text that long is hardly asked for again. */
export const CACHED_QUERY_CHARACTERS_MAX = 4096;
/**
 * Bounds of one `filters` object: levels of $and, $or, $not; conditions on fields; values in all of its lists together.
 */
export const FILTER_LEVELS_MAX = 8;
export const FILTER_CONDITIONS_MAX = 256;
export const FILTER_VALUES_MAX = 10_000;
export const FILTER_FIELD_CHARACTERS_MAX = 512;
