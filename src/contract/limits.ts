// Every bound of the interface that is not configuration, and the defaults of those that are, in one place.
// Read by the configuration, the checks of requests and the pools. Units stand last in the names.

export const K_DEFAULT = 5;
export const K_MAX = 1000;
export const DIM_MAX = 65_536;
export const DISPLAY_NAME_CHARACTERS_MAX = 120;

export const CHUNK_SIZE_DEFAULT = 1000;
export const CHUNK_OVERLAP_DEFAULT = 200;
export const CHUNK_SIZE_MIN = 16;
export const CHUNK_SIZE_MAX = 32_768;

export const METADATA_BYTES_MAX = 64 * 1024;
export const JSON_BYTES_MAX = 32 * 1024 * 1024;
export const HELD_BYTES_MAX = 1024 * 1024 * 1024;
export const FILE_BYTES_MAX = 512 * 1024 * 1024;
export const TEXT_BYTES_MAX = 256 * 1024 * 1024;
export const BATCH_ITEMS_MAX = 10_000;
/** `limit` of the listings. Without one the query log gives its default, the others all. */
export const PAGE_MAX = 10_000;
export const QUERIES_PAGE_DEFAULT = 50;
export const QUERIES_PAGE_MAX = 500;

export const SHARDS_MAX = 16;
/** Untouched pages cost nothing; a shard's memory grows to 4 GiB. */
export const SHARD_PAGES_INITIAL = 256;
export const SHARD_PAGES_MAX = 65_536;
