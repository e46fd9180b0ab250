// Writes that come with an `Idempotency-Key`, as in draft-ietf-httpapi-idempotency-key-header: a repetition is answered
// what the first request was answered, and writes nothing. The answer is kept by the owner of the shard in the
// transaction of the write (storage/kept-answers), so it is there exactly if the write is, on whichever connection,
// after a restart and after a crash. Every write passes the main thread, so two requests with one key cannot look for
// the answer at the same time. Runs on the main thread.
import type { Collection } from '../../api/collections.js';
import { AppError } from '../../api/errors.js';
import type { CollectionName, Tenant } from '../../api/ids.js';
import { IDEMPOTENCY_KEY_BYTES_MAX } from '../../api/limits.js';
import { shardsOf } from '../../api/placement.js';
import type { Log } from '../../base/log.js';
import type { ShardPool } from '../../pool/shard-pool.js';
import { logIdOf } from '../../storage/catalog-commands.js';
import { type AnswerToKeep, type KeptAnswer, WHOLE_REQUEST, fingerprintOf } from '../../storage/kept-answers.js';
import type { Catalog } from '../collections/catalog.js';
import type { Caller } from '../use-case.js';

/** A request with a key, whose answer is to be kept. */
export interface KeyedRequest {
  /** A digest of the key, as the store has it. */
  readonly key: string;
  /** A digest of what the request asks for. */
  readonly fingerprint: string;
}

/** The key in the header of a request, as a digest; undefined without one. Throws 400 `invalid_idempotency_key`. */
export function keyOf(caller: Pick<Caller, 'header'>): string | undefined {
  const value = caller.header('idempotency-key');
  if (value === '') return undefined;
  const key = /^"((?:[\x20-\x21\x23-\x5b\x5d-\x7e]|\\["\\])*)"$/.exec(value)?.[1]?.replace(/\\(.)/g, '$1') ?? value;
  const isQuoted = key !== value;
  if (key.length < 1 || key.length > IDEMPOTENCY_KEY_BYTES_MAX || !(isQuoted ? /^[ -~]+$/ : /^[!#-~]+$/).test(key))
    throw new AppError('invalid_idempotency_key');
  return fingerprintOf(key);
}

/** The request of a caller with a key; `asked` is what tells it from others, as plain data. */
export function keyedRequest(caller: Pick<Caller, 'header'>, ...asked: readonly unknown[]): KeyedRequest | undefined {
  const key = keyOf(caller);
  return key === undefined ? undefined : { key, fingerprint: fingerprintOf(JSON.stringify(asked)) };
}

/** What a write says for its answer to be kept, but for the collection that takes it. */
export type ToKeep = Omit<AnswerToKeep, 'log'>;

/** The field of a command by which the owner keeps the answer of a write to the collection. */
export const keptIn = (keep: ToKeep | undefined, collection: Collection): { keep?: AnswerToKeep } =>
  keep ? { keep: { ...keep, log: logIdOf(collection) } } : {};

/** A batch with a key: each of its items has an answer of its own, and one that was stored is not stored again. */
export interface KeyedItems {
  /** The answers that are kept of `count` items from number `from` on, by number. */
  kept(from: number, count: number): Promise<Map<number, KeptAnswer>>;
  /** What the write of an item says for its answer to be kept. */
  keep(item: number, fingerprint: string): ToKeep;
  /** Ends the request: others may come with the key. */
  release(): void;
}

interface KeyedContext {
  readonly catalog: Pick<Catalog, 'find' | 'nameOf'>;
  readonly shards: Pick<ShardPool, 'request' | 'size'>;
  readonly nowMs: () => number;
  /** How long answers are kept. */
  readonly keptMs: number;
}

export class KeyedWrites {
  /** The requests under way, by collection and key. */
  private readonly underWay = new Set<string>();

  constructor(private readonly context: KeyedContext) {}

  /**
   * Returns what `write` returns, or what it returned for the same request before; the write must keep its answer by what
   * it is given. Throws 409 `idempotency_key_in_use` while that is under way, and 422 `idempotency_key_reused` if the key
   * came with another request. What was refused is tried again, because nothing was written.
   */
  async once<T extends object>(
    tenant: Tenant,
    name: CollectionName,
    request: KeyedRequest | undefined,
    write: (keep: ToKeep | undefined) => Promise<T>,
  ): Promise<T> {
    if (!request) return write(undefined);
    const release = this.acquire(tenant, name, request.key);
    try {
      const times = this.times();
      const [kept] = await this.kept(tenant, name, { key: request.key, from: WHOLE_REQUEST, max: 1 });
      if (kept && (kept.item !== WHOLE_REQUEST || kept.fingerprint !== request.fingerprint))
        throw new AppError('idempotency_key_reused');
      return kept ? (JSON.parse(kept.json) as T) : await write({ ...request, item: WHOLE_REQUEST, ...times });
    } finally {
      release();
    }
  }

  /**
   * A batch with a key; its `release` must be called. Throws 409 `idempotency_key_in_use`, and 422
   * `idempotency_key_reused` if the key came with a request that is no batch.
   */
  async items(tenant: Tenant, name: CollectionName, key: string): Promise<KeyedItems> {
    const release = this.acquire(tenant, name, key);
    try {
      const [first] = await this.kept(tenant, name, { key, from: WHOLE_REQUEST, max: 1 });
      if (first?.item === WHOLE_REQUEST) throw new AppError('idempotency_key_reused');
    } catch (error) {
      release();
      throw error;
    }
    return {
      kept: async (from, count) => {
        const found = await this.kept(tenant, name, { key, from, max: count });
        return new Map(found.filter(({ item }) => item < from + count).map((each) => [each.item, each]));
      },
      keep: (item, fingerprint) => ({ key, fingerprint, item, ...this.times() }),
      release,
    };
  }

  /** Takes the key of a request until the function is called that it returns. Throws 409 `idempotency_key_in_use`. */
  private acquire(tenant: Tenant, name: CollectionName, key: string): () => void {
    const place = `${tenant}/${this.context.catalog.nameOf(tenant, name)}/${key}`;
    if (this.underWay.has(place)) throw new AppError('idempotency_key_in_use', undefined, { retryAfterS: 1 });
    this.underWay.add(place);
    return () => this.underWay.delete(place);
  }

  /**
   * The answers that the shards of the collection keep of a request. A document may have been in another shard before the
   * collection was replaced by one with another spread, so all shards are asked then.
   */
  private async kept(
    tenant: Tenant,
    name: CollectionName,
    request: { key: string; from: number; max: number },
  ): Promise<KeptAnswer[]> {
    const { catalog, shards } = this.context;
    const collection = catalog.find(tenant, name);
    if (!collection) return [];
    const log = logIdOf(collection);
    const { sinceS } = this.times();
    const places = log === collection.id ? shardsOf(collection, shards.size) : [...Array(shards.size).keys()];
    const found = await Promise.all(places.map((shard) => shards.request(shard, 'keptAnswers', { log, ...request })));
    return found.flat().filter(({ keptS }) => keptS >= sinceS);
  }

  private times(): { nowS: number; sinceS: number } {
    const { nowMs, keptMs } = this.context;
    return { nowS: Math.floor(nowMs() / 1000), sinceS: Math.floor((nowMs() - keptMs) / 1000) };
  }

  /** Forgets the answers that are too old, in all shards. A write forgets some of its collection as well. */
  async forgetOld(log: Pick<Log, 'warn'>): Promise<void> {
    const { shards } = this.context;
    for (let shard = 0; shard < shards.size; shard++)
      try {
        while ((await shards.request(shard, 'forgetAnswers', { sinceS: this.times().sinceS })) > 0);
      } catch (error) {
        // A shard that has no owner at the moment, or whose disk is full, is asked again later.
        if (!(error instanceof AppError))
          log.warn({ shard, reason: String(error) }, 'old answers could not be forgotten');
      }
  }
}
