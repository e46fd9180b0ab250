// Use case: start a reindex job. What can be refused is refused before anything is staged.
// Called by the reindex endpoints; front thread.
import type { ReindexBody } from '../../contract/api/reindex.js';
import { AppError, invalidField } from '../../contract/errors.js';
import type { CollectionName, Tenant } from '../../contract/ids.js';
import type { StoredJob } from '../../contract/reindex.js';
import { logIdOf, type Collection, type Space } from '../../contract/resources.js';
import { asksForEmbedder } from '../../embedding/selection.js';
import { IDENTITY_TYPE } from '../../embedding/spaces.js';
import { changeCatalog } from '../change-catalog.js';
import type { Context } from '../context.js';
import { countCollection } from '../count-collections.js';
import { QueryIds } from '../query-ids.js';
import { beginRun } from './begin-runs.js';
import { forgetStaged } from '../stage-collection.js';

const ids = new QueryIds();

/**
 * Throws 404 `collection_not_found`, 400 `reindex_invalid`, 409 `reindex_conflict`, 422 where nothing is asked for, 503
 * `embedder_unavailable`.
 */
export async function startReindex(
  context: Context,
  tenant: Tenant,
  name: CollectionName,
  wish: ReindexBody,
): Promise<StoredJob> {
  const live = context.catalog.get(tenant, name);
  const space = targetOf(context, live, wish);
  return context.reindexJobs.claim(logIdOf(live), async () => {
    if (space !== live) await checkCopyable(context, live, space);
    const { chunks } = await countCollection(context, live);
    const job = plannedJob(context, live, space, wish, chunks);
    const created = await createJob(context, live, space, job);
    beginRun(context, created);
    return context.reindexJobs.find(created.job_id) as StoredJob;
  });
}

/** The collection itself where nothing but memory and graph is to be new. */
function targetOf({ embedders }: Context, live: Collection, wish: ReindexBody): Space {
  const isAsked = asksForEmbedder(wish);
  if (wish.compact && isAsked) throw new AppError('reindex_invalid', 'A compaction keeps the embedder.');
  if (wish.compact) return live;
  if (!isAsked) throw invalidField(['body'], 'an embedder is wanted, or compact', 'value_error');
  if (live.embedder_type === IDENTITY_TYPE)
    throw new AppError('reindex_invalid', 'The collection holds vectors only: there is nothing to embed.');
  const space = spaceFor(() => embedders.spaceFor(live.tenant, wish));
  if (space.embedder_type === IDENTITY_TYPE)
    throw new AppError('reindex_invalid', "Vectors of one's own cannot be made from texts.");
  if (space.vector_space_key === live.vector_space_key)
    throw new AppError('reindex_invalid', 'The collection is in this space already.');
  return space;
}

function spaceFor(choose: () => Space): Space {
  try {
    return choose();
  } catch (error) {
    if (error instanceof AppError && error.code === 'invalid_embedder_config')
      throw new AppError('reindex_invalid', error.message);
    throw error;
  }
}

async function checkCopyable(context: Context, live: Collection, space: Space): Promise<void> {
  await context.embedders.preflight(space, live.tenant);
  const { shards } = context;
  await Promise.all(
    Array.from({ length: shards.size }, async (_, shard) => {
      for (let after: string | null | undefined; after !== null; ) {
        const found: { after: string | null; docid: string | null } = await shards.ask(shard, 'findTextless', {
          collection: live.id,
          after,
        });
        if (found.docid !== null)
          throw new AppError('reindex_invalid', 'The collection has chunks without a text.', {
            details: { docid: found.docid },
          });
        ({ after } = found);
      }
    }),
  );
}

function plannedJob(
  { nowMs, shards }: Context,
  live: Collection,
  space: Space,
  { compact, gate, keep_previous_seconds: kept }: ReindexBody,
  chunks: number,
): StoredJob {
  const now = new Date(nowMs()).toISOString();
  const { embed_model, embedder_type, embedder_config } = space;
  return {
    job_id: ids.next(nowMs()),
    tenant: live.tenant,
    collection: live.name,
    status: 'queued',
    target: { embed_model, embedder_type, embedder_config },
    total_chunks: chunks,
    completed_chunks: 0,
    created_at: now,
    updated_at: now,
    started_at: null,
    finished_at: null,
    ...(compact && { compact: true as const }),
    ...(gate && { gate }),
    keep_previous_seconds: kept ?? 0,
    log_id: logIdOf(live),
    staged_id: null,
    cursors: Array.from({ length: shards.size }, () => ''),
  };
}

/** What failed before makes room: a new job takes its place. */
async function createJob(context: Context, live: Collection, space: Space, job: StoredJob): Promise<StoredJob> {
  const { staged, reindexJobs } = context;
  const { id: replaces, log_id: _, ...settings } = live;
  const { embedder_type, embed_model, embedder_config, vector_space_key, dim } = space;
  const collection = { ...settings, embedder_type, embed_model, embedder_config, vector_space_key, dim };
  const unstage = staged.beside(live.id, 'reindex').map(({ id }) => id);
  const forget = reindexJobs.surplus(job.log_id);
  const request = {
    job,
    unstage,
    forget,
    staged: { purpose: 'reindex' as const, replaces, created_at: job.created_at, collection },
  };
  const { created, forgetting } = await changeCatalog(context, 'createJob', request, (made) => {
    for (const failed of reindexJobs.ofCollection(job.log_id)) reindexJobs.put({ ...failed, staged_id: null });
    reindexJobs.forget(forget);
    const forgotten = unstage.map((id) => forgetStaged(context, id));
    staged.put(made.staged);
    return { created: reindexJobs.put(made.job), forgetting: forgotten };
  });
  await Promise.all(forgetting);
  return created;
}
