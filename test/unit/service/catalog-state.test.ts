// The catalog in memory is what its events make of it: random commands are committed to a store, and whoever applies
// their events has what the store has, however the events came and whenever they began to come. And only one file
// changes a state.
import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { AppError } from '../../../src/api/errors.js';
import {
  type CollectionId,
  type CollectionName,
  type Tenant,
  asCollectionName,
  asTenant,
} from '../../../src/api/ids.js';
import type { KeyRecord, TenantRecord } from '../../../src/api/tenants.js';
import { type Prng, createPrng } from '../../../src/base/prng.js';
import { configuredLimits } from '../../../src/service/tenants/limits.js';
import { KeyRing } from '../../../src/service/tenants/keys.js';
import { type CatalogEvent, type CatalogOp, CatalogState } from '../../../src/service/collections/catalog-state.js';
import type { CatalogCommands, NewShadow, StoredJob } from '../../../src/storage/catalog-commands.js';
import { CatalogStore } from '../../../src/storage/catalog.js';
import { applyJournaled, catalogHandlers } from '../../../src/storage/catalog-handlers.js';
import { collectionOf } from '../../kit/records.js';
import { tempDirectory } from '../../kit/temp.js';

const TENANTS = [asTenant('acme'), asTenant('beta'), asTenant('coop')] as const;
const NAMES = [asCollectionName('a'), asCollectionName('b'), asCollectionName('c'), asCollectionName('d')] as const;
const DAMAGED = 'acme\0d';
const LIMITS = configuredLimits({
  requestsPerSecond: 5,
  burst: 0,
  inFlightMax: 3,
  collectionsMax: 0,
  chunksPerCollectionMax: 0,
});

const newState = (): CatalogState => new CatalogState({ language: 'dutch', limits: LIMITS, ring: new KeyRing('', []) });

/** A store, commands for it by chance, and the events that they make. */
class Commands {
  readonly store = CatalogStore.open(tempDirectory(), false, { journal: { bytesMax: Infinity } });
  private readonly handlers = catalogHandlers(() => this.store);
  private made = 0;
  readonly digests: string[] = [];

  constructor(
    private readonly prng: Prng,
    /** A state that follows the store; commands are made of what it has. */
    private readonly state: CatalogState,
  ) {}

  /** Everything that is stored, as shard 0 loads it when it opens. */
  load(): CatalogEvent {
    const { tenants, keys } = this.store.tenants.all();
    const answer = {
      collections: this.store.all(),
      damaged: [DAMAGED],
      aliases: this.store.aliases.all(),
      shadows: this.store.shadow.all(),
      tenants,
      keys,
    };
    return { op: 'load', request: {}, answer };
  }

  /** Commits one command of any kind; undefined if the store refuses it. */
  next(): CatalogEvent | undefined {
    const requests = this.requests();
    const op = this.one(Object.keys(requests) as [CatalogOp, ...CatalogOp[]]);
    const request = requests[op]();
    try {
      const answer = this.handlers[op]({ op, ...request } as never);
      return { op, request, answer } as CatalogEvent;
    } catch (error) {
      if (error instanceof AppError) return undefined;
      throw error;
    }
  }

  close(): void {
    this.store.close();
  }

  private requests(): { [O in CatalogOp]: () => CatalogCommands[O]['request'] } {
    const [tenant, name] = [this.one(TENANTS), this.one(NAMES)];
    const live = this.anyOf([...this.state.catalog.all()]);
    const key = { tenant, name, id: 0 as CollectionId };
    const collection = live ?? key;
    const shadow = this.anyOf([...this.state.shadows.all()])?.id ?? (0 as CollectionId);
    const dropShadow = this.prng.int(2) === 0 ? [shadow] : [];
    const held = this.anyOf(this.state.tenants.keysOf(tenant));
    return {
      createCollection: () => ({ collection: { ...collectionOf(tenant, name), ...this.priority() } }),
      updateCollection: () => ({ collection, change: this.one([{ name }, { display_name: `${name}!` }]) }),
      deleteCollection: () => ({ collection }),
      putAlias: () => ({ alias: { tenant, alias: name, collection: live?.name ?? name } }),
      deleteAlias: () => ({ tenant, alias: name }),
      createTenant: () => ({ tenant: this.tenant(tenant), key: this.key(tenant) }),
      updateTenant: () => ({ tenant: this.tenant(tenant), change: { burst: this.prng.int(9) } }),
      deleteTenant: () => ({ tenant, force: this.prng.int(4) === 0 }),
      createKey: () => ({ tenant: this.tenant(tenant), key: this.key(tenant) }),
      revokeKey: () => ({ tenant, keyId: held?.key_id ?? '', revokedAt: '2026-01-02' }),
      createShadow: () => ({ shadow: this.shadow(live, collectionOf(tenant, name)) }),
      dropShadow: () => ({ shadow }),
      switchCollection: () => {
        const { replaces = null } = this.state.shadows.find(shadow) ?? {};
        return { id: shadow, expect: replaces, nowIso: '2026-01-03', keptUntilMs: this.prng.int(1000) };
      },
      replaceDataset: () => {
        const all = [...this.state.shadows.all()];
        const names = new Set(all.map(({ collection: { tenant: of, name: n } }) => `${of}/${n}`));
        const restored = this.prng.int(8) === 0 && names.size === all.length ? all : [];
        const tenants = restored.length === 0 ? [] : [this.tenant(tenant)];
        return {
          shadow: restored.map(({ id }) => id),
          tenants: { tenants, keys: tenants.map(() => this.key(tenant)) },
        };
      },
      createJob: () => ({ job: JOB, dropShadow, shadow: this.shadow(live, collectionOf(tenant, name)) }),
      saveJob: () => ({ job: JOB, dropShadow }),
    };
  }

  private priority = (): { priority_key: string } => ({ priority_key: `p${this.prng.int(3)}` });

  private shadow(live: CollectionLike | undefined, planned: Omit<CollectionLike, 'id'>): NewShadow {
    const purpose = this.one(['reindex', 'restore'] as const);
    const { id: replaces = null, log_id: _, ...collection } = { id: null, ...planned, ...live };
    return { purpose, replaces, created_at: '2026-01-04', collection: { ...collection, dim: 2 + this.prng.int(9) } };
  }

  tenant(tenant: Tenant): TenantRecord {
    const quotas = { max_collections: null, max_chunks_per_collection: null, burst: null, max_in_flight: null };
    return { tenant, display_name: null, created_at: '2026-01-01', requests_per_second: this.prng.int(9), ...quotas };
  }

  key(tenant: Tenant): KeyRecord {
    const number = String(++this.made).padStart(8, '0');
    const digest = number.padStart(64, 'a');
    this.digests.push(digest);
    const rights = { scopes: null, collections: null, filters: { kind: number } };
    const times = { created_at: '2026-01-01', expires: null, revoked_at: null };
    return { tenant, key_id: `k${number}`, label: 'primary', digest, ...times, ...rights };
  }

  private one<T>(of: readonly [T, ...T[]]): T {
    return this.anyOf<T>(of) as T;
  }

  private anyOf<T>(of: readonly T[]): T | undefined {
    return of[this.prng.int(of.length)];
  }
}

type CollectionLike = CatalogCommands['createCollection']['request']['collection'] & { id?: CollectionId };

const JOB: StoredJob = {
  job_id: 'j',
  tenant: 'acme' as Tenant,
  collection: 'a' as CollectionName,
  status: 'failed',
  target: { embed_model: '', embedder_type: 'identity', embedder_config: {} },
  total_chunks: 0,
  completed_chunks: 0,
  created_at: '',
  updated_at: '',
  started_at: null,
  finished_at: null,
  keep_previous_seconds: 0,
  log_id: 1 as CollectionId,
  staged_id: null,
  cursors: [''],
};

/** All that can be asked of a state. */
function contentOf({ catalog, shadows, tenants }: CatalogState, digests: readonly string[]): unknown {
  const ids = Array.from({ length: 600 }, (_, id) => id as CollectionId);
  const found = (tenant: Tenant, name: CollectionName): unknown => {
    try {
      return catalog.find(tenant, name);
    } catch (error) {
      return (error as AppError).code;
    }
  };
  return {
    size: catalog.size(),
    tenants: catalog.tenantNames(),
    damaged: [...catalog.damagedKeys],
    byName: TENANTS.flatMap((tenant) => NAMES.map((name) => found(tenant, name))),
    pages: TENANTS.map((tenant) => catalog.ofTenant(tenant)),
    byId: ids.map((id) => catalog.findById(id)),
    byLog: ids.map((id) => catalog.findByLog(id)),
    refs: catalog.refs().toSorted((a, b) => a.id - b.id),
    shadows: [...shadows.all()].toSorted((a, b) => a.id - b.id),
    records: tenants
      .names()
      .toSorted()
      .map((tenant) => tenants.find(tenant)),
    keys: TENANTS.map((tenant) => tenants.keysOf(tenant)),
    limits: TENANTS.map((tenant) => tenants.limitsOf(tenant)),
    actors: digests.map((digest) => tenants.ring.find(digest, 0)),
  };
}

/** All that a store has, and where its journal is. */
function storedIn(store: CatalogStore): unknown {
  const { hash, sequence } = store.journal?.head ?? {};
  const stored = [store.all(), store.shadow.all(), store.jobs.all(), store.aliases.all(), store.tenants.all()];
  return { hash, sequence, stored };
}

/** The same of another store, which the journal of `source` is replayed on. */
function replayed(source: CatalogStore): unknown {
  const copy = CatalogStore.open(tempDirectory(), false, { journal: { bytesMax: Infinity } });
  for (const { commands } of source.records(1)) for (const command of commands) applyJournaled(copy, command);
  const stored = storedIn(copy);
  copy.close();
  return stored;
}

test('the same events give the same state, which is that of the store: cloned, as JSON, and from a snapshot on', () => {
  const seen = new Map<string, number>();
  for (const seed of [1, 2, 3, 4, 5, 6]) {
    const [first, cloned, written] = [newState(), newState(), newState()];
    const commands = new Commands(createPrng(seed), first);
    const late: CatalogState[] = [];
    const apply = (event: CatalogEvent): void => {
      seen.set(event.op, (seen.get(event.op) ?? 0) + 1);
      first.apply(event);
      for (const state of [cloned, ...late]) state.apply(structuredClone(event));
      written.apply(JSON.parse(JSON.stringify(event)) as CatalogEvent);
    };
    apply(commands.load());
    for (let step = 1; step <= 400; step++) {
      const event = commands.next();
      if (event) apply(event);
      if (step % 20 !== 0) continue;
      const reopened = newState();
      reopened.apply(commands.load());
      const expected = contentOf(first, commands.digests);
      for (const [i, state] of [reopened, cloned, written, ...late].entries())
        assert.deepEqual(contentOf(state, commands.digests), expected, `seed ${seed}, step ${step}, state ${i}`);
      if (step % 100 !== 0) continue;
      late.push(newState());
      late.at(-1)?.apply(structuredClone(first.snapshot()));
      // As when the owner of shard 0 has died and its successor has opened the store.
      if (step === 200) apply(commands.load());
    }
    assert.deepEqual(replayed(commands.store), storedIn(commands.store), `seed ${seed}`);
    commands.close();
  }
  assert.equal(seen.size, 17, `not every event has come: ${[...seen.keys()].join()}`);
});

test('a revoked key that makes room for a new one is gone', () => {
  const state = newState();
  const commands = new Commands(createPrng(1), state);
  state.apply(commands.load());
  const [tenant, old, key] = [commands.tenant(TENANTS[0]), commands.key(TENANTS[0]), commands.key(TENANTS[0])];
  state.apply({ op: 'createTenant', request: { tenant, key: old }, answer: null });
  state.apply({ op: 'createKey', request: { tenant, key }, answer: old });
  assert.deepEqual(state.tenants.keysOf(TENANTS[0]), [key]);
  assert.equal(state.tenants.ring.find(old.digest, 0), undefined);
  assert.equal(state.tenants.ring.find(key.digest, 0)?.name, key.label);
  commands.close();
});

test('listeners learn of an event when it is applied; there is no snapshot of what is not loaded', () => {
  const state = newState();
  const heard: unknown[] = [];
  state.subscribe((event) => heard.push([event.op, state.catalog.loaded, state.catalog.size().collections]));
  assert.throws(() => state.snapshot(), { code: 'not_ready' });
  const collections = [{ ...collectionOf('acme', 'a'), id: 7 as CollectionId }];
  state.apply({
    op: 'load',
    request: {},
    answer: { collections, damaged: [], aliases: [], shadows: [], tenants: [], keys: [] },
  });
  const collection = { ...collectionOf('acme', 'b'), id: 8 as CollectionId };
  const created = { op: 'createCollection', request: { collection }, answer: collection } as const;
  assert.deepEqual([state.apply(created).isNew, state.apply(created).isNew], [true, false]);
  assert.deepEqual(heard, [
    ['load', true, 1],
    ['createCollection', true, 2],
    ['createCollection', true, 2],
  ]);
});

test('of src, only the reducer has the classes that can be changed', () => {
  const root = join(import.meta.dirname, '../../../../src');
  const files = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter((path) => path.endsWith('.ts'));
  for (const name of ['MutableCatalog', 'MutableShadows', 'MutableTenants']) {
    const having = files.filter((path) => new RegExp(`\\b${name}\\b`).test(readFileSync(join(root, path), 'utf8')));
    assert.equal(having.length, 2, `${name} is in ${having.join()}`);
    assert.ok(having.includes(join('service', 'collections', 'catalog-state.ts')));
  }
});
