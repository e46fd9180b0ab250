// `sheaf collections`: what there is, and making, renaming and deleting it.
// Called by collection-commands.ts.
import type { CreateBody } from '../contract/api/collections.js';
import type { Language } from '../contract/language.js';
import type { Precision } from '../contract/precision.js';
import { UsageError } from './explain-error.js';
import { count, line, ownFields, table, type Output } from './output.js';
import type { Target, TenantTarget } from './target.js';

export interface CreateFlags {
  displayName?: string;
  embedder?: string;
  dim?: number;
  mode?: string;
  language?: Language;
  precision?: Precision;
  chunkSize?: number;
  chunkOverlap?: number;
  chunking: boolean;
  priorityKey?: string;
}

export async function listCollections(
  { client, tenant }: TenantTarget,
  json: boolean,
  { stdout }: Output,
): Promise<void> {
  const rows: string[][] = [];
  for await (const collection of client.eachCollection(tenant)) {
    if (json) line(stdout, JSON.stringify(collection));
    else
      rows.push([
        collection.name,
        collection.embedder_label ?? '',
        collection.display_name === collection.name ? '' : (collection.display_name ?? ''),
      ]);
  }
  if (!json)
    line(
      stdout,
      rows.length === 0
        ? `Tenant ${tenant} has no collections. sheaf ingest makes one.`
        : table(['name', 'embedder', 'label'], rows),
    );
}

export async function showCollection({ client, tenant, collection }: Target, { stdout }: Output): Promise<void> {
  const detail = ownFields(await client.collectionDetail(tenant, collection));
  line(stdout, JSON.stringify(detail, null, 2));
}

export async function createCollection(
  { client, tenant, collection }: Target,
  flags: CreateFlags,
  { stdout }: Output,
): Promise<void> {
  const { embed_model, embedder_type } = await client.createCollection(tenant, collection, createBody(flags));
  line(
    stdout,
    `${tenant}/${collection} is there, with ${flags.dim === undefined ? `the embedder ${embedder_type}:${embed_model}` : `vectors of ${flags.dim} numbers`}.`,
  );
}

function createBody({
  displayName,
  embedder,
  dim,
  mode,
  language,
  precision,
  chunkSize,
  chunkOverlap,
  chunking,
  priorityKey,
}: CreateFlags): CreateBody {
  if (dim !== undefined && embedder !== undefined)
    throw new UsageError('--dim is for vectors of your own, --embedder for texts: give one of them.');
  const size =
    chunkSize === undefined && chunkOverlap === undefined ? undefined : { size: chunkSize, overlap: chunkOverlap };
  if (!chunking && size) throw new UsageError('--no-chunking takes no chunk size.');
  return {
    ...(dim !== undefined && { embedder_type: 'identity', embedder_config: { dim } }),
    display_name: displayName,
    embedder,
    search_mode: mode,
    language,
    precision,
    priority_key: priorityKey,
    chunking: chunking ? size && { strategy: 'fixed', ...size } : { strategy: 'none' },
  };
}

export async function renameCollection(
  { client, tenant, collection }: Target,
  newName: string,
  { stdout }: Output,
): Promise<void> {
  await client.moveCollection(tenant, collection, newName);
  line(stdout, `${tenant}/${collection} is ${tenant}/${newName} now.`);
}

export async function deleteCollection(
  { client, tenant, collection }: Target,
  isSure: boolean,
  { stdout }: Output,
): Promise<void> {
  const { doc_count: documents } = await client.collectionDetail(tenant, collection);
  if (!isSure)
    throw new UsageError(
      `${tenant}/${collection} has ${count(documents, 'document')}: say --yes to delete it with all of them.`,
    );
  await client.deleteCollection(tenant, collection);
  line(stdout, `${tenant}/${collection} is deleted, with ${count(documents, 'document')}.`);
}
