// Random commands on a shard that keeps a journal, and their replay on another one in batches of other sizes. Both shards
// are closed and opened again at random moments. In the end both have the same documents, chunks, vectors, counts,
// expiries and kept answers, and the same rolling hash. One thread, without HTTP.
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import type { CollectionRef } from '../../src/api/collections.js';
import { type Filter, parseFilter } from '../../src/api/filter.js';
import type { CollectionId, DocId, Ordinal } from '../../src/api/ids.js';
import { type Prng, createPrng } from '../../src/base/prng.js';
import { maintainSome } from '../../src/engine/maintenance.js';
import { Arenas } from '../../src/engine/memory/arena.js';
import { Shard } from '../../src/engine/shard.js';
import { deleteDocuments, patchDocuments } from '../../src/engine/write/bulk.js';
import type { MetadataChange, DocumentWrite } from '../../src/engine/write/commands.js';
import { assertAt, replayCommands } from '../../src/engine/write/replay.js';
import { copyShadow } from '../../src/engine/write/shadow-collection.js';
import { applyWrites } from '../../src/engine/write/write.js';
import type { JournalHead, JournalOptions } from '../../src/storage/journal.js';
import type { AnswerToKeep } from '../../src/storage/kept-answers.js';
import { ShardStore } from '../../src/storage/shard-store.js';
import { packDocument } from '../../src/text/prepared-document.js';
import { createKernel } from '../kit/kernel.js';

/** Collections at a time; a dropped one is followed by another. */
const COLLECTIONS = 4;
const DOCIDS = 300;
const BATCH_MAX = 48;
const REPLAYED_MAX = 200;
const LARGE_DOCUMENT_CHUNKS = 2100;
/** Idempotency keys, and how long answers are kept for them. */
const KEYS = 2000;
const KEPT_S = 200;
const START_S = 1_700_000_000;

export interface ReplayReport {
  readonly commands: number;
  /** Commands that were refused, which the journal does not have. */
  readonly refused: number;
  readonly records: number;
  readonly restarts: number;
  readonly drops: number;
  /** Bytes of the records of the journal. */
  readonly bytes: number;
  readonly head: JournalHead;
  /** What differs between the two shards. */
  readonly differences: string[];
}

/** A shard that can be closed and opened again. */
export class Site {
  shard: Shard;

  constructor(
    private readonly folder: string,
    private readonly journal: JournalOptions,
    private readonly refs: ReadonlyMap<CollectionId, CollectionRef>,
  ) {
    this.shard = this.opened();
  }

  /** `isKnown`: whether the catalog has a collection, which of a node may be ahead of the shard or behind it. */
  reopen(isKnown: () => boolean = () => true): void {
    this.shard.close();
    this.shard = this.opened(isKnown);
  }

  private opened(isKnown = (): boolean => true): Shard {
    const store = ShardStore.open(this.folder, false, { journal: this.journal });
    const known = [...this.refs.values()].filter(isKnown);
    const collections = known.map(({ id, ...kind }) => ({ kind, ids: Uint32Array.of(id) }));
    return Shard.open(store, new Arenas([createKernel()]), { collections, isWhole: false });
  }
}

/** Makes random commands. The state of the shard is not looked at, so some of them are refused. */
export class RandomCommands {
  private readonly refs: CollectionRef[] = [];
  /** Every collection there has been. */
  readonly all = new Map<CollectionId, CollectionRef>();
  private nextId = 1;
  private seconds = START_S;
  drops = 0;

  constructor(private readonly prng: Prng) {
    while (this.refs.length < COLLECTIONS) this.refs.push(this.made());
  }

  private made(): CollectionRef {
    const dim = this.prng.int(2) === 0 ? 8 : 12;
    const id = this.nextId++ as CollectionId;
    const ref: CollectionRef = { id, generation: 1, dim, language: 'none', precision: 'int16' };
    this.all.set(id, ref);
    return ref;
  }

  /** Replaces a collection by a new one, and returns it. */
  replaced(): CollectionRef {
    this.drops++;
    const [gone] = this.refs.splice(this.prng.int(this.refs.length), 1, this.made());
    return gone as CollectionRef;
  }

  collection(): CollectionRef {
    return this.refs[this.prng.int(this.refs.length)] as CollectionRef;
  }

  /** A collection of the same vectors to copy to, if there is one. */
  besides(ref: CollectionRef): CollectionRef | undefined {
    return this.refs.find(({ id, dim }) => id !== ref.id && dim === ref.dim);
  }

  docid(): DocId {
    return `document-${this.prng.int(DOCIDS)}` as DocId;
  }

  docids(count: number): DocId[] {
    return Array.from({ length: count }, () => this.docid());
  }

  nowS(): number {
    return (this.seconds += this.prng.int(2));
  }

  filter(): Filter {
    return parseFilter({ group: this.prng.int(5) }, { stringOperators: false });
  }

  write(): DocumentWrite {
    const collection = this.collection();
    const kind = this.prng.int(10);
    if (kind < 6) return this.put(collection);
    const ifVersion = this.prng.int(4) === 0 ? { ifVersion: this.prng.int(3) } : {};
    const shadow = this.besides(collection);
    const aim = {
      collection,
      docid: this.docid(),
      nowS: this.nowS(),
      ...ifVersion,
      ...(shadow && this.prng.int(2) === 0 && { dualWrites: [shadow] }),
    };
    if (kind < 8) return { op: 'deleteDocument', ...aim };
    return { op: 'patchDocument', ...aim, change: this.change() };
  }

  change(): MetadataChange {
    return {
      patchJson: JSON.stringify({ group: this.prng.int(5), note: 'x'.repeat(this.prng.int(40)) }),
      replaces: this.prng.int(2) === 0,
      priorityKey: 'priority',
      bytesMax: 10_000,
      ...(this.prng.int(4) === 0 && { expiresAtS: this.seconds + this.prng.int(1000) }),
    };
  }

  /** An answer to keep; some keys come again, and answers grow old. */
  private keep({ id }: CollectionRef, nowS: number): AnswerToKeep {
    const key = this.prng.int(KEYS).toString(16).padStart(32, '0');
    const fingerprint = this.prng.int(1000).toString(16).padStart(32, 'f');
    return { log: id, key, item: 0, fingerprint, nowS, sinceS: nowS - KEPT_S };
  }

  private put(collection: CollectionRef): DocumentWrite {
    const { prng } = this;
    const count = prng.int(3000) === 0 ? LARGE_DOCUMENT_CHUNKS : prng.int(5) + 1;
    const nowS = this.nowS();
    const docid = this.docid();
    const document = packDocument({
      docid,
      ingestedAtMs: nowS * 1000 + prng.int(1000),
      metadataJson: JSON.stringify({ docid, ingested_at: 'then', group: prng.int(5) }),
      priority: prng.int(3) === 0 ? prng.next() : 0,
      ...(prng.int(8) === 0 && { ifVersion: prng.int(3) }),
      ...(prng.int(6) === 0 && { expiresAtS: nowS + prng.int(500) + 1 }),
      chunks: Array.from({ length: count }, (_, i) => ({
        path: `chunk_${i}`,
        metaJson: JSON.stringify({ offset: i * 100 }),
        ...(prng.int(10) > 0 && { text: `text ${prng.int(1e6)} of ${docid}` }),
      })),
    });
    const vectors = Float32Array.from({ length: count * collection.dim }, () => prng.normal());
    const shadow = this.besides(collection);
    const way = prng.int(6);
    const dualWrites =
      shadow && way < 3 ? [{ collection: shadow, vectors: [vectors.slice(), 'same' as const, null][way] ?? null }] : [];
    return {
      op: 'put',
      collection,
      document,
      vectors,
      ...(prng.int(20) === 0 && { chunksLeft: prng.int(3) }),
      ...(prng.int(10) === 0 && { keep: this.keep(collection, nowS) }),
      ...(dualWrites.length > 0 && { dualWrites }),
    };
  }
}

/** Runs `commands` random commands and their replay, in two new folders inside `folder`. */
export function runReplay(folder: string, seed: number, commands: number): ReplayReport {
  const prng = createPrng(seed);
  const made = new RandomCommands(prng);
  let nowMs = START_S * 1000;
  const source = new Site(
    join(folder, 'source'),
    { bytesMax: Infinity, nowMs: () => (nowMs += prng.int(50)) },
    made.all,
  );
  let [done, refused, restarts] = [0, 0, 0];
  while (done < commands) {
    const { shard } = source;
    const ref = made.collection();
    const [step, count] = [prng.int(40), prng.int(BATCH_MAX) + 1];
    if (step > 5) {
      const results = applyWrites(
        shard,
        Array.from({ length: count }, () => made.write()),
      );
      refused += results.filter((result) => 'error' in result).length;
      done += count;
    } else if (step === 0) {
      shard.drop(made.replaced().id);
      done++;
    } else if (step === 1) {
      const aim = { collection: ref, docids: made.docids(count), filter: made.filter(), nowS: made.nowS() };
      if (prng.int(2) === 0) deleteDocuments(shard, { op: 'deleteDocuments', ...aim });
      else patchDocuments(shard, { op: 'patchDocuments', ...aim, change: made.change() });
      done++;
    } else if (step === 2) {
      const to = made.besides(ref);
      if (to) copyShadow(shard, { op: 'copyShadow', collection: to, source: ref, after: undefined });
      done++;
    } else if (step === 3) {
      maintainSome(shard);
    } else if (step === 4) {
      source.reopen();
      restarts++;
    }
  }
  const packed: { bytes: Buffer; atMs: number }[] = [];
  let records = 0;
  source.shard.store.read((txn) => {
    for (const record of txn.journal(1)) {
      records++;
      for (const bytes of record.commands) packed.push({ bytes: Buffer.from(bytes), atMs: record.atMs });
    }
  });
  const head = source.shard.store.journal?.head as JournalHead;
  const copy = new Site(join(folder, 'copy'), { bytesMax: Infinity, nowMs: () => nowMs }, made.all);
  for (let at = 0; at < packed.length; ) {
    const some = packed.slice(at, (at += 1 + prng.int(REPLAYED_MAX)));
    replayCommands(
      copy.shard,
      some.map(({ bytes }) => bytes),
    );
    if (prng.int(40) === 0) copy.reopen(() => prng.int(3) > 0);
  }
  assertAt(copy.shard, head);
  const differences = differencesOf(source.shard.store, copy.shard.store, made.all);
  source.shard.close();
  copy.shard.close();
  return { commands: done, refused, records, restarts, drops: made.drops, bytes: head.bytes, head, differences };
}

export function differencesOf(a: ShardStore, b: ShardStore, refs: ReadonlyMap<CollectionId, CollectionRef>): string[] {
  const [one, other] = [contentsOf(a, refs), contentsOf(b, refs)];
  return [...new Set([...one.keys(), ...other.keys()])]
    .filter((key) => one.get(key) !== other.get(key))
    .map((key) => `${key}: ${one.get(key) ?? 'nothing'} and ${other.get(key) ?? 'nothing'}`);
}

/** Everything that a shard says of its collections, except for the ordinals of chunks. */
function contentsOf(store: ShardStore, refs: ReadonlyMap<CollectionId, CollectionRef>): Map<string, string> {
  return store.read((txn) => {
    const dropped = new Set(txn.dropped());
    const contents = new Map<string, string>([['dropped', [...dropped].join()]]);
    for (const { id, ...counts } of txn.allCounts()) {
      if (dropped.has(id)) continue;
      contents.set(`counts of ${id}`, JSON.stringify(counts));
      contents.set(
        `expiries of ${id}`,
        JSON.stringify(Array.from(txn.documentsExpiring(id), ({ docid, second }) => [docid, second])),
      );
      for (let key = 0; key < KEYS; key++) {
        const kept = txn.keptAnswers({ log: id, key: key.toString(16).padStart(32, '0'), from: 0, max: 1 });
        if (kept.length > 0) contents.set(`${id} answers key ${key}`, JSON.stringify(kept));
      }
      for (const record of txn.documents(id)) {
        const { ordinals, paths } = txn.members(id, record.docid);
        const hash = createHash('sha256').update(JSON.stringify([record, paths]));
        for (const ordinal of ordinals as Ordinal[]) {
          const { metaJson, path, index } = txn.chunk(id, ordinal);
          hash.update(JSON.stringify([metaJson, path, index, txn.text(id, ordinal)?.toString() ?? null]));
          hash.update(txn.vector(refs.get(id) as CollectionRef, ordinal) ?? '');
        }
        contents.set(`${id}/${record.docid}`, `version ${record.version}, ${hash.digest('hex')}`);
      }
    }
    return contents;
  });
}
