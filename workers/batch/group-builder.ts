// Collects the prepared documents of a slice into groups by shard, each in two buffers that move to other threads as
// one. Used by prepare-lines.ts in the batch worker.
import type { PreparedGroup } from '../../src/contract/batch-messages.js';
import { joinDocuments } from '../../src/contract/prepared-document.js';
import type { PrepareAnswer } from '../../src/contract/prepare-messages.js';
import { DIGEST_BYTES } from '../../src/text/text-digest.js';

/**
 * Chunks of a group, where it is not one larger document: a part of what a shard commits at a time (pool/shard-lanes).
 */
const GROUP_CHUNKS_MAX = 32;

interface OpenGroup {
  shard: number;
  chunkCount: number;
  members: { place: number; prepared: PrepareAnswer }[];
}

export class GroupBuilder {
  private readonly groups: OpenGroup[] = [];
  /** The group of a shard that still takes documents. */
  private readonly open = new Map<number, OpenGroup>();

  constructor(private readonly dim: number) {}

  add(shard: number, place: number, prepared: PrepareAnswer): void {
    let group = this.open.get(shard);
    if (!group || group.chunkCount + prepared.chunks > GROUP_CHUNKS_MAX) {
      this.groups.push((group = { shard, chunkCount: 0, members: [] }));
      this.open.set(shard, group);
    }
    group.members.push({ place, prepared });
    group.chunkCount += prepared.chunks;
  }

  /** The groups of each shard in the order in which their documents were added. */
  finish(): PreparedGroup[] {
    return this.groups.map((group) => this.pack(group));
  }

  private pack({ shard, chunkCount, members }: OpenGroup): PreparedGroup {
    const vectors = new Float32Array(chunkCount * this.dim);
    let row = 0;
    for (const { prepared } of members) {
      if (prepared.vectors) vectors.set(prepared.vectors, row * this.dim);
      row += prepared.chunks;
    }
    const joined = joinDocuments(members.map(({ prepared }) => prepared.document));
    const hasTexts = members.some(({ prepared }) => prepared.vectors === undefined);
    const places = members.map(({ place }) => place);
    const docids = members.map(({ prepared }) => prepared.docid);
    const group = {
      shard,
      places,
      docids,
      hasTexts,
      ...joined,
      chunks: members.map(({ prepared }) => prepared.chunks),
      vectors,
    };
    return members.some(({ prepared }) => prepared.digests)
      ? { ...group, digests: digestsOf(members, chunkCount) }
      : group;
  }
}

function digestsOf(members: OpenGroup['members'], chunkCount: number): Uint8Array {
  const digests = new Uint8Array(chunkCount * DIGEST_BYTES);
  let row = 0;
  for (const { prepared } of members) {
    if (prepared.digests) digests.set(prepared.digests, row * DIGEST_BYTES);
    row += prepared.chunks;
  }
  return digests;
}
