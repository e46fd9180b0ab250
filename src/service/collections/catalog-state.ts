// The catalog in memory, with shadow collections, tenants and keys, and the one function that changes it. Whoever
// applies the same events in the same order has the same state, on any thread: applying reads no clock and no random
// number. One thread each.
//
// 1. Only this file changes a state; all others see types without the methods that do.
// 2. An event is applied before anybody learns of it: first the listeners, then whoever asked for the change.
import { AppError } from '../../api/errors.js';
import type { AliasRecord } from '../../api/aliases.js';
import type { CollectionId } from '../../api/ids.js';
import type { StoredTenants } from '../../api/tenants.js';
import type { Language } from '../../api/choices.js';
import type { TenantLimits } from '../../config/config.js';
import {
  type CatalogCommands,
  type CollectionKey,
  type ShadowRecord,
  type StoredCollection,
} from '../../storage/catalog-commands.js';
import type { KeyRing } from '../tenants/keys.js';
import { MutableTenants, type TenantRegistry } from '../tenants/registry.js';
import { type Catalog, MutableCatalog } from './catalog.js';
import { MutableShadows, type Shadow, type ShadowCollections } from './shadow-collections.js';

type LoadOp = 'loadCatalog' | 'loadAliases' | 'loadTenants' | 'loadShadows' | 'loadJobs';
/** Judgement sets are read from the store alone, so the state in memory does not have them. */
type JudgementOp =
  | 'loadJudgementSets'
  | 'listJudgementSets'
  | 'getJudgementSet'
  | 'putJudgementSet'
  | 'deleteJudgementSet';
/** The commands that change what the catalog has in memory. */
export type CatalogOp = Exclude<keyof CatalogCommands, LoadOp | JudgementOp>;

/** Everything at once. `damaged`: keys of collections whose records are damaged, as tenant, zero byte and name. */
interface LoadedCatalog extends StoredTenants {
  collections: StoredCollection[];
  damaged: string[];
  aliases: AliasRecord[];
  shadows: ShadowRecord[];
}

const CATALOG_OPS: Readonly<Record<CatalogOp, true>> = {
  createCollection: true,
  updateCollection: true,
  deleteCollection: true,
  putAlias: true,
  deleteAlias: true,
  createTenant: true,
  updateTenant: true,
  deleteTenant: true,
  createKey: true,
  revokeKey: true,
  createShadow: true,
  dropShadow: true,
  switchCollection: true,
  replaceDataset: true,
  createJob: true,
  saveJob: true,
};

/** Whether the command changes what the catalog has in memory. */
export const isCatalogOp = (op: string): op is CatalogOp => Object.hasOwn(CATALOG_OPS, op);

interface CatalogEvents extends Pick<CatalogCommands, CatalogOp> {
  load: { request: Record<never, never>; answer: LoadedCatalog };
}

/**
 * What has happened to the catalog: a committed command with its answer, or `load`, which replaces everything. Plain
 * data.
 */
export type CatalogEvent = EventOf<keyof CatalogEvents>;
type EventOf<O extends keyof CatalogEvents> = {
  [P in O]: { op: P; request: CatalogEvents[P]['request']; answer: CatalogEvents[P]['answer'] };
}[O];

/** What a change has done to the state that its answer does not tell. */
export interface Applied {
  /** Whether a collection was created, and not found. */
  readonly isNew: boolean;
  /** The shadow collections that have gone with the change. */
  readonly gone: readonly Shadow[];
}

const NOTHING_ELSE: Applied = { isNew: false, gone: [] };

export interface CatalogStateOptions {
  /** The language of collections whose record has none. */
  readonly language: Language;
  /** Limits of tenants without quotas. */
  readonly limits: TenantLimits;
  /** The ring with the configured keys, to which those of the tenants are added. */
  readonly ring: KeyRing;
}

interface Parts {
  readonly catalog: MutableCatalog;
  readonly shadows: MutableShadows;
  readonly tenants: MutableTenants;
}

export class CatalogState {
  private readonly parts: Parts;
  private readonly listeners = new Set<(event: CatalogEvent) => void>();

  constructor({ language, limits, ring }: CatalogStateOptions) {
    const catalog = new MutableCatalog(language);
    this.parts = { catalog, shadows: new MutableShadows(catalog), tenants: new MutableTenants(ring, limits) };
  }

  get catalog(): Catalog {
    return this.parts.catalog;
  }

  get shadows(): ShadowCollections {
    return this.parts.shadows;
  }

  get tenants(): TenantRegistry {
    return this.parts.tenants;
  }

  /** `listener` is called with each event from now on, as soon as it is applied. It must not throw. */
  subscribe(listener: (event: CatalogEvent) => void): void {
    this.listeners.add(listener);
  }

  /** Applies an event, then calls the listeners. Events are applied in the order of their commits. */
  apply(event: CatalogEvent): Applied {
    const applied = applyCatalogEvent(this.parts, event);
    for (const listener of this.listeners) listener(event);
    return applied;
  }

  /** An event that gives any state the content of this one. Throws 503 `not_ready` before the first `load`. */
  snapshot(): CatalogEvent {
    const { catalog, shadows, tenants } = this.parts;
    if (!catalog.loaded) throw new AppError('not_ready', undefined, { retryAfterS: 1 });
    const names = tenants.names();
    const answer = {
      collections: [...catalog.all()],
      damaged: [...catalog.damagedKeys],
      aliases: catalog.allAliases(),
      shadows: [...shadows.all()],
      tenants: names.flatMap((tenant) => tenants.find(tenant) ?? []),
      keys: names.flatMap((tenant) => tenants.keysOf(tenant)),
    };
    return { op: 'load', request: {}, answer };
  }
}

/** Whether a shadow collection goes with the collection beside which it stands. */
export const goesWith = ({ replaces, purpose }: Pick<Shadow, 'replaces' | 'purpose'>, id: CollectionId): boolean =>
  replaces === id && purpose !== 'restore';

function applyCatalogEvent(parts: Parts, event: CatalogEvent): Applied {
  const { catalog, shadows, tenants } = parts;
  switch (event.op) {
    case 'load': {
      const { answer } = event;
      shadows.load(answer.shadows);
      tenants.load(answer);
      // Last, because who waits for the catalog needs the rest as well.
      catalog.load(answer.collections, answer.damaged, answer.aliases);
      return NOTHING_ELSE;
    }
    case 'createCollection': {
      const isNew = catalog.findById(event.answer.id) === undefined;
      catalog.put(event.answer);
      return { ...NOTHING_ELSE, isNew };
    }
    case 'updateCollection':
      catalog.remove(event.request.collection);
      shadows.rename(event.answer.id, event.answer);
      catalog.put(event.answer);
      catalog.moveAliases(event.request.collection, event.answer.name);
      return NOTHING_ELSE;
    case 'deleteCollection':
      return { ...NOTHING_ELSE, gone: removeCollections(parts, [event.request.collection]) };
    case 'putAlias':
      catalog.putAlias(event.request.alias);
      return NOTHING_ELSE;
    case 'deleteAlias':
      catalog.removeAlias(event.request.tenant, event.request.alias);
      return NOTHING_ELSE;
    case 'createTenant':
      tenants.put(event.request.tenant);
      tenants.putKey(event.request.key);
      return NOTHING_ELSE;
    case 'updateTenant':
      tenants.put(event.answer);
      return NOTHING_ELSE;
    case 'deleteTenant':
      tenants.remove(event.request.tenant);
      for (const { alias } of catalog.aliasesOf(event.request.tenant)) catalog.removeAlias(event.request.tenant, alias);
      return { ...NOTHING_ELSE, gone: removeCollections(parts, event.answer) };
    case 'createKey': {
      const { tenant, key } = event.request;
      if (!tenants.find(tenant.tenant)) tenants.put(tenant);
      if (event.answer) tenants.removeKey(event.answer);
      tenants.putKey(key);
      return NOTHING_ELSE;
    }
    case 'revokeKey':
      tenants.putKey(event.answer);
      return NOTHING_ELSE;
    case 'createShadow':
      shadows.put(event.answer);
      return NOTHING_ELSE;
    case 'dropShadow':
      return { ...NOTHING_ELSE, gone: removeShadows(parts, [event.request.shadow]) };
    case 'switchCollection': {
      const { collection, previous, dropped } = event.answer;
      shadows.remove(collection.id);
      if (previous) {
        shadows.put(previous);
        catalog.remove(previous.collection);
      }
      catalog.put(collection);
      return { ...NOTHING_ELSE, gone: removeShadows(parts, idsOf(dropped)) };
    }
    case 'replaceDataset': {
      const { collections, gone, dropped } = event.answer;
      const left = [...removeCollections(parts, gone), ...removeShadows(parts, idsOf(dropped))];
      for (const collection of collections) {
        shadows.remove(collection.id);
        catalog.put(collection);
      }
      catalog.setAliases(event.answer.aliases);
      tenants.load(event.request.tenants);
      return { ...NOTHING_ELSE, gone: left };
    }
    case 'createJob': {
      const gone = removeShadows(parts, event.request.dropShadow);
      shadows.put(event.answer.shadow);
      return { ...NOTHING_ELSE, gone };
    }
    case 'saveJob':
      return { ...NOTHING_ELSE, gone: removeShadows(parts, event.request.dropShadow) };
  }
}

const idsOf = (shadows: readonly ShadowRecord[]): CollectionId[] => shadows.map(({ id }) => id);

/** Removes collections, and returns the shadow collections that go with them. */
function removeCollections(parts: Parts, collections: readonly CollectionKey[]): Shadow[] {
  for (const collection of collections) parts.catalog.remove(collection);
  const beside = [...parts.shadows.all()].filter((shadow) => collections.some(({ id }) => goesWith(shadow, id)));
  return removeShadows(parts, idsOf(beside));
}

/** Returns those that were there. */
function removeShadows({ shadows }: Parts, ids: readonly CollectionId[] = []): Shadow[] {
  const gone = ids.flatMap((id) => shadows.find(id) ?? []);
  for (const { id } of gone) shadows.remove(id);
  return gone;
}
