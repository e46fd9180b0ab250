// Which shard a document belongs to. Fixed for ever: data directories depend on it. Pure.
// The front thread asks it for every write and every read of one document.

/**
 * FNV-1a (Fowler, Noll, Vo) over the UTF-8 bytes, then the finalizer of MurmurHash3 (Appleby), modulo the number of
 * shards. All chunks of a document live in its shard, so that replacing it is one transaction.
 */
export function shardOf(docid: string, shards: number): number {
  let hash = 0x811c9dc5;
  for (const byte of Buffer.from(docid)) hash = Math.imul(hash ^ byte, 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return ((hash ^ (hash >>> 16)) >>> 0) % shards;
}
