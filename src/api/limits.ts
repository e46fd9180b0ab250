// Fixed bounds of the API, and the defaults of configurable ones. Units stand last in the names.

/** Readers of events, per collection and in total; each holds a connection. */
export const EVENT_STREAMS_OF_COLLECTION_MAX = 16;
export const EVENT_STREAMS_MAX = 256;

export const K_DEFAULT = 5;
export const K_MAX = 1000;
/** The hits of a search that can be reached by `offset` and `cursor`: the largest `offset + k`. */
export const REACH_MAX = 10_000;
/** Numbers in the vectors of all hits of an answer together. */
export const HIT_COMPONENTS_MAX = 1024 * 1024;
/** The longest `cursor` of a search. */
export const CURSOR_CHARACTERS_MAX = 4096;
/** Neighbours on each side that the context of a hit has, and chunks in the contexts of all hits of an answer. */
export const CONTEXT_MAX = 10;
export const CONTEXT_CHUNKS_MAX = 10_000;
/** Examples of a search, and counterexamples; and the chunks of a long document that its vector is made of. */
export const LIKE_IDS_MAX = 100;
export const LIKE_CHUNKS_MAX = 1000;
/** Candidates times hits times dimensions of a search with `diversity`: half a second. */
export const DIVERSITY_COST_MAX = 2 ** 28;
/** Queries of one search. */
export const QUERIES_MAX = 8;
/** Fields of `boost_by`, the size of a weight or factor, and the size to which what a field gives is cut. */
export const BOOST_FIELDS_MAX = 8;
export const BOOST_FACTOR_MAX = 1_000_000;
export const BOOST_RESULT_MAX = 1e9;
/** Names in `include` and in `exclude`. */
export const HIT_FIELDS_MAX = 100;
/** The largest `ef` of a request. No ranking is deeper, and the memory of a search is sized for it. */
export const EF_MAX = 10_000;

/** Bounds of one recall measurement: queries, nearest neighbours of each, and time. */
export const RECALL_SAMPLE_DEFAULT = 100;
export const RECALL_SAMPLE_MAX = 1000;
export const RECALL_K_DEFAULT = 10;
export const RECALL_K_MAX = 100;
export const RECALL_TIME_MAX_MS = 10_000;
/** Recall measurements at a time, over all collections. */
export const RECALLS_MAX = 2;
/** If the query log has fewer searches than this, and than the sample, stored vectors are used. */
export const RECALL_LOGGED_MIN = 20;
/** The number of latest log entries that are searched for queries. */
export const RECALL_LOG_ENTRIES_MAX = 2000;
/** Bounds of one message of stored vectors. */
export const RECALL_PAGE_VECTORS = 64;
export const RECALL_PAGE_BYTES = 4 * 1024 * 1024;

/** A sample of stored vectors: their number, and the sum of their components at one byte each. */
export const VECTOR_SAMPLE_DEFAULT = 500;
export const VECTOR_SAMPLE_MAX = 2000;
export const VECTOR_SAMPLE_COMPONENTS_MAX = 2 * 1024 * 1024;

export const DIM_MAX = 65_536;
export const DISPLAY_NAME_CHARACTERS_MAX = 120;

export const CHUNK_SIZE_DEFAULT = 1000;
export const CHUNK_OVERLAP_DEFAULT = 200;
export const CHUNK_SIZE_MIN = 16;
export const CHUNK_SIZE_MAX = 32_768;

/** The last millisecond of the year 9999, the largest time that ISO 8601 writes with four digits. */
export const TIME_MAX_MS = 253_402_300_799_999;

/** The last second at which a document can expire: times of expiry are stored in 32 bits. */
export const EXPIRY_MAX_S = 4_294_967_295;
/** The longest `ttl` of a collection, in seconds: about thirty years. */
export const TTL_MAX_S = 1_000_000_000;

/** Bytes of an `Idempotency-Key`, and answers that one shard keeps of a collection; beyond that the oldest are forgotten. */
export const IDEMPOTENCY_KEY_BYTES_MAX = 255;
export const KEPT_ANSWERS_MAX = 100_000;

/** The largest `limit` of an export. */
export const EXPORT_LIMIT_MAX = 1_000_000_000;

/** Nesting depth of metadata, far below what the stack permits. */
export const METADATA_LEVELS_MAX = 100;
/**
 * Bounds of JSON that front threads parse themselves, which blocks it: every body except those of ingest. `node
 * dist/load/main.js http hostile` measures the time. Names and values are summed over all objects and lists.
 */
export const JSON_BODY_SHAPE = { bytesMax: 256 * 1024, namesMax: 1024, valuesMax: 4096, levelsMax: 64 } as const;
/** The same for a search without its vector: the lists of its filters may be long. */
export const SEARCH_BODY_SHAPE = { ...JSON_BODY_SHAPE, valuesMax: 12_288 } as const;
/** Searches of one `search:batch`. */
export const SEARCHES_MAX = 1000;
/** Maximum number of judgement sets of a collection, and of queries and judgements of a set. */
export const JUDGEMENT_SETS_MAX = 32;
export const JUDGED_QUERIES_MAX = 2000;
export const JUDGEMENTS_MAX = 20_000;
/** Maximum number of collections of one search. */
export const SEARCHED_COLLECTIONS_MAX = 16;
/** Bytes that the vector of a search may add. */
export const VECTOR_JSON_BYTES_MAX = 32 * DIM_MAX;
/**
 * The same for a search in MessagePack, whose vector may be a list of numbers. Names and values are counted alike, and
 * the bytes are bounded by the route.
 */
export const SEARCH_MSGPACK_SHAPE = { ...SEARCH_BODY_SHAPE, valuesMax: SEARCH_BODY_SHAPE.valuesMax + DIM_MAX } as const;
/** The same for a message of the Model Context Protocol, which may carry a document with its metadata. */
export const MESSAGE_SHAPE = { bytesMax: 1024 * 1024, namesMax: 2048, valuesMax: 12_288, levelsMax: 128 } as const;
/** UTF-8 bytes of the text of a search, and of the value of a content filter. */
export const QUERY_TEXT_BYTES_MAX = 64 * 1024;
/** Texts of one request for their vectors. */
export const EMBEDDED_TEXTS_MAX = 256;
/** Document ids that one event lists. */
export const DOCIDS_SHOWN_MAX = 100;
/** Aliases of a tenant. */
export const ALIASES_MAX = 1000;
/** Document ids in one request. */
export const DOCIDS_MAX = 1000;
export const BATCH_ITEMS_MAX = 10_000;
/** Bytes of path, query and headers of a request; uWebSockets.js is configured to accept a little more. */
export const HEAD_BYTES_MAX = 16 * 1024;
/** Maximum `limit` of the listings. Without `limit`, the query log returns its default and the others everything. */
export const PAGE_MAX = 10_000;
export const QUERIES_PAGE_DEFAULT = 50;
export const QUERIES_PAGE_MAX = 500;
/** Size of one collection's query log; beyond it the oldest records are deleted, whatever their number. */
export const QUERY_LOG_BYTES_MAX = 256 * 1024 * 1024;
/** Log records that wait to be written; beyond this, searches are not logged. */
export const QUERY_LOG_WAITING_BYTES_MAX = 32 * 1024 * 1024;

/** How long the previous vector space may be kept for a rollback after a reindex: thirty days. */
export const KEEP_SECONDS_MAX = 2_592_000;

/** Keys of one tenant, including revoked ones, the oldest of which are deleted to make space for new keys. */
export const TENANT_KEYS_MAX = 1000;
export const KEY_FILTERS_BYTES_MAX = 16 * 1024;

export const SHARDS_MAX = 16;
/** Initial and maximum memory of an arena in WebAssembly pages of 64 KiB, up to 4 GiB. Untouched pages cost nothing. */
export const SHARD_PAGES_INITIAL = 256;
export const SHARD_PAGES_MAX = 65_536;

/** Reciprocal rank fusion: the constant added to each rank (Cormack et al. 2009). */
export const FUSION_K_DEFAULT = 60;
export const FUSION_K_MAX = 1_000_000;
/**
 * Default weights of the halves of mode `hybrid`. `node dist/load/main.js quality search` measures those of `score`.
 */
export const FUSION_WEIGHTS_DEFAULT = {
  rank: { vector: 1, lexical: 1 },
  score: { vector: 0.6, lexical: 0.4 },
} as const;
export const FUSION_WEIGHT_MAX = 1000;
/** Default number of candidates to rerank; never fewer than k. */
export const RERANK_DEPTH_DEFAULT = 50;
/**
 * Modes `boost` and `hybrid` take terms from this many characters of a query, and this many distinct terms; the rest is
 * ignored.
 */
export const QUERY_CHARACTERS_MAX = 32_768;
export const QUERY_TOKENS_MAX = 1024;
/** The words and phrases that the syntax of a query may require or exclude, and the words of a phrase. */
export const CLAUSES_MAX = 64;
export const CLAUSE_TOKENS_MAX = 128;
/**
 * The synonym rules of a collection, the texts on each side of a rule, the words of a text, the bytes of all rules as
 * JSON, and the synonyms that a query can get.
 */
export const SYNONYM_RULES_MAX = 500;
export const SYNONYM_TEXTS_MAX = 32;
export const SYNONYM_WORDS_MAX = 8;
export const SYNONYM_BYTES_MAX = 32_768;
export const SYNONYMS_MAX = 128;
/** Vectors of longer query texts are not cached, because such a text hardly comes again. */
export const CACHED_QUERY_CHARACTERS_MAX = 4096;
/**
 * Bounds of one `filters` object: nesting of `$and`, `$or` and `$not`; conditions on fields; values in all lists
 * together.
 */
export const FILTER_LEVELS_MAX = 8;
export const FILTER_CONDITIONS_MAX = 256;
export const FILTER_VALUES_MAX = 10_000;
export const FILTER_FIELD_CHARACTERS_MAX = 512;

/** Fields of a request for facets, ranges and returned values of each, and different values of a field that are counted. */
export const FACETS_MAX = 32;
export const FACET_RANGES_MAX = 100;
export const FACET_SIZE_DEFAULT = 10;
export const FACET_SIZE_MAX = 1000;
export const FACET_VALUES_MAX = 100_000;
/** Length to which an error cuts a field name that the caller sent. */
export const REPORTED_NAME_CHARACTERS_MAX = 100;
