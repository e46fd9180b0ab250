// Brings a collection over to a shadow collection that is spread over other shards. A document and its copy are in
// different shards then, so no transaction holds both, and no write goes to both. Instead the source remains the only
// truth until the switch, and the copy follows it. Runs on the main thread, through which all writes go.
//
// No acknowledged write is lost and no deleted document comes back, because of these:
//
// 1. From before the first read until the switch, the id of each document whose write has ended, whatever its result, is
//    noted (written-documents.ts).
// 2. A noted id is taken, then the source is read, then the shadow collection gets what was read: the document, or its
//    deletion. A write that ends in between notes the id again. If any of that fails, the id is noted again.
//    A noted id that the pass over the source (4) has yet to come to is left to that.
// 3. Reads and what follows from them are one after the other, so what was read earlier is never written later.
// 4. So whenever nothing is being brought over, a document that differs is noted, or its write is under way, or a pass
//    has not come to it yet. A pass over the source brings what the shadow collection lacks. If an interrupted run has
//    left something there, a pass over the shadow collection takes out what is no longer in the source.
// 5. The switch happens while the gate of the source is held: no write is under way, and none begins. What is noted is
//    brought over, and then the two are equal. A write that waits at the gate meanwhile is refused by the shard pool
//    behind it, because its collection has a successor, and is made to that (asOfNow).
// 6. Nothing of this outlives the process. After a crash both passes are made again, and the switch is one transaction.
//
// In a cluster the node that leads does this, and other nodes write as well:
//
// 7. What they have written is noted when it has been applied here (remote-changes.ts), so 2 and 4 hold.
// 8. Before the switch, a command in the log of each shard of the source has all later writes refused on all nodes
//    (beginFollowing). When it has been applied here, all earlier ones have, and are noted. Nodes make what was refused
//    again once the collection is switched (asOfNow).
// 9. A node that goes on with the job of another one begins with a new shadow collection. So what the other one may still
//    write, which could be out of date, goes nowhere, and its writes and commands cannot end in a switch.
//
// Writes wait when they come faster than they can be brought over, so no more than some thousand ids are noted.
import { setTimeout as sleep } from 'node:timers/promises';
import type { DocId } from '../../api/ids.js';
import { shardAt, shardOf, shardsOf, spreadOf } from '../../api/placement.js';
import type { ShardAnswer } from '../../engine/write/commands.js';
import { assertStored } from '../../pool/worker-pool.js';
import { refOf } from '../../storage/catalog-commands.js';
import type { DocumentBatch } from '../../text/prepared-document.js';
import { countCollection } from '../collections/usage.js';
import type { Copy } from './copy.js';
import { type ReindexContext, beginFollowing, retrying } from './jobs.js';

type Page = ShardAnswer<'exportDocuments'>;

/** Writes wait while more documents than this are noted and have not been brought over. */
const NOTED_MAX = 1024;
/** Documents in a request that names them. */
const NAMED_MAX = 256;
/** Writes of other nodes do not wait: so often at most it is tried to have few of them left before the switch. */
const KEEP_UP_TRIES = 20;
/** How often noted documents are brought over while the job waits for something else. */
const FOLLOW_MS = 50;

interface Spread extends Copy, Pick<ReindexContext, 'written' | 'searchesUnderWay' | 'leader'> {}

export class SpreadCopy {
  /** The end of what is being brought over. */
  private turn: Promise<unknown> = Promise.resolve();
  private failure: { error: unknown } | undefined;
  /** What the pass over each shard of the source has come to, null at its end. Empty if the shadow collection was not. */
  private readonly passes = new Map<number, string | null>();

  constructor(private readonly copy: Spread) {
    copy.written.follow(copy.source.id);
  }

  /** Stops to follow the source. */
  end(): void {
    this.copy.written.leave(this.copy.source.id);
  }

  /** Throws to stop the job, also if following has failed. */
  readonly check = (): void => {
    this.copy.check();
    if (this.failure) throw this.failure.error;
  };

  /** Makes the passes. `copied` is called with the number of chunks of each page of the source. */
  async copyAll(copied: (chunks: number) => Promise<void>): Promise<void> {
    const { store, shadow } = this.copy;
    if ((await countCollection(store, shadow)).documents > 0) await this.clear();
    else for (const shard of this.shardsOfSource) this.passes.set(shard, '');
    await allOf(this.shardsOfSource.map((shard) => this.copyShard(shard, copied)));
  }

  /** Runs `work` while what is written is brought over. */
  async following<T>(work: () => Promise<T>): Promise<T> {
    let isOver = false;
    const follow = async (): Promise<void> => {
      for (; !isOver; await sleep(FOLLOW_MS)) await this.keepUp();
    };
    const ended = follow().catch((error: unknown) => void (this.failure = { error }));
    try {
      return await work();
    } finally {
      isOver = true;
      await ended;
    }
  }

  /** Runs `work` while nothing can be written and the shadow collection has what the source has. */
  async whileEqual(work: () => Promise<void>): Promise<void> {
    const { written, source, shadow } = this.copy;
    for (let tries = 0; tries === 0 || (written.count(source.id) > NAMED_MAX && tries < KEEP_UP_TRIES); tries++)
      await this.keepUp();
    await beginFollowing(this.copy, source, shadow.id);
    await retrying(() => this.gated(work), this.copy.signal);
  }

  private gated(work: () => Promise<void>): Promise<void> {
    const { store, source, shadow } = this.copy;
    return store.shards.gate.exclusive(source.id, async () => {
      this.check();
      await this.bringNoted();
      const [own, copied] = await Promise.all([source, shadow].map((one) => countCollection(store, one)));
      if (own?.documents !== copied?.documents || own?.chunks !== copied?.chunks)
        throw new Error(`a copy has ${JSON.stringify(copied)} of ${JSON.stringify(own)}`);
      await work();
    });
  }

  private get shardsOfSource(): number[] {
    return shardsOf(this.copy.source, this.copy.store.shards.size);
  }

  /** Takes out of the shadow collection what the source no longer has. */
  private async clear(): Promise<void> {
    const { store, shadow } = this.copy;
    for (const shard of shardsOf(shadow, store.shards.size)) {
      for (let after: string | undefined, more = true; more; ) {
        this.check();
        const request = { collection: shadow.id, after, max: NAMED_MAX };
        const page = await this.retried(() => store.shards.request(shard, 'listDocuments', request));
        await this.inTurn(() => this.bring(page.docids as DocId[], false));
        ({ more } = page);
        after = page.docids.at(-1);
      }
    }
  }

  private async copyShard(shard: number, copied: (chunks: number) => Promise<void>): Promise<void> {
    const { searchesUnderWay } = this.copy;
    for (let after: string | null | undefined; after !== null; ) {
      this.check();
      const startedAtMs = performance.now();
      const page = await this.inTurn(() => this.retried(() => this.copyPage(shard, after ?? undefined)));
      ({ after } = page);
      await copied(page.scanned);
      if (this.copy.written.count(this.copy.source.id) > NAMED_MAX || after === null) await this.keepUp();
      if (searchesUnderWay.count > 0) await sleep(performance.now() - startedAtMs);
    }
  }

  private async copyPage(shard: number, after: string | undefined): Promise<Page> {
    const page = await this.read(shard, { after });
    await this.put(page, false);
    if (this.passes.has(shard)) this.passes.set(shard, page.after);
    return page;
  }

  /** Brings over what is noted. If more is written meanwhile than can be brought over, writes wait. */
  private async keepUp(): Promise<void> {
    const { store, source, written } = this.copy;
    await this.inTurn(() => this.retried(() => this.bringNoted()));
    if (written.count(source.id) > NOTED_MAX)
      await this.inTurn(() => this.retried(() => store.shards.gate.exclusive(source.id, () => this.bringNoted())));
  }

  private async bringNoted(): Promise<void> {
    const { source, written } = this.copy;
    const docids = written.take(source.id).filter((docid) => !this.isAhead(docid));
    try {
      await this.bring(docids, true);
    } catch (error) {
      written.note(source.id, docids);
      throw error;
    }
  }

  /** Whether the pass over the source has yet to come to a document. It goes by the bytes of the ids. */
  private isAhead(docid: DocId): boolean {
    const { store, source } = this.copy;
    const reached = this.passes.get(shardOf(docid, source, store.shards.size)) ?? undefined;
    return reached !== undefined && Buffer.compare(Buffer.from(docid), Buffer.from(reached)) > 0;
  }

  /**
   * Makes the shadow collection have of these documents what the source has. With `isForced` they are written even if
   * version and time are the same.
   */
  private async bring(docids: readonly DocId[], isForced: boolean): Promise<void> {
    const { store, source } = this.copy;
    const byShard = new Map<number, DocId[]>();
    for (const docid of docids) {
      const shard = shardOf(docid, source, store.shards.size);
      const own = byShard.get(shard);
      if (own) own.push(docid);
      else byShard.set(shard, [docid]);
    }
    const bringOwn = async ([shard, own]: [number, DocId[]]): Promise<void> => {
      while (own.length > 0) {
        const named = own.slice(0, NAMED_MAX);
        const page = await this.read(shard, { docids: named });
        await allOf([this.put(page, isForced), ...page.absent.map((docid) => this.remove(docid))]);
        own.splice(0, page.after === null ? named.length : named.indexOf(page.after as DocId) + 1);
      }
    };
    await allOf([...byShard].map(bringOwn));
  }

  private read(shard: number, which: { after?: string | undefined; docids?: DocId[] }): Promise<Page> {
    const { store, source, shadow } = this.copy;
    const spread = spreadOf(shadow, store.shards.size);
    return store.shards.request(shard, 'exportDocuments', { collection: refOf(source), spread, ...which });
  }

  private async put({ batches }: Page, isForced: boolean): Promise<void> {
    const { store, shadow } = this.copy;
    const put = async ({ slot, ...batch }: DocumentBatch): Promise<void> => {
      const shard = shardAt(shadow, slot, store.shards.size);
      const request = { collection: refOf(shadow), isForced, ...batch };
      assertStored(await store.shards.request(shard, 'putShadow', request));
    };
    await allOf(batches.map(put));
  }

  private remove(docid: DocId): Promise<unknown> {
    const { store, shadow } = this.copy;
    const shard = shardOf(docid, shadow, store.shards.size);
    return store.shards.request(shard, 'deleteDocument', { collection: refOf(shadow), docid });
  }

  private inTurn<T>(work: () => Promise<T>): Promise<T> {
    const done = this.turn.then(work);
    this.turn = done.catch(() => undefined);
    return done;
  }

  private retried<T>(work: () => Promise<T>): Promise<T> {
    return retrying(work, this.copy.signal);
  }
}

/** Resolves when all have. All are awaited before a failure is reported, so that nothing goes on after it. */
async function allOf(work: readonly Promise<unknown>[]): Promise<void> {
  for (const one of await Promise.allSettled(work)) if (one.status === 'rejected') throw one.reason;
}
