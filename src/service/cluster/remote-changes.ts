// What other nodes of a cluster have done. Changes of the catalog are applied to the catalog in memory as one's own are,
// and what has left the catalog is forgotten here too; the shards are told by commands of their own. Documents are noted
// where a job follows their collection. Runs on the main thread.
import type { Result } from '../../api/errors.js';
import type { DocId } from '../../api/ids.js';
import { type ShardAnswer, type ShardCommand, type ShardOp, traitsOf } from '../../engine/write/commands.js';
import { type StoredCollection, logIdOf } from '../../storage/catalog-commands.js';
import { unpackDocument, unpackDocuments } from '../../text/prepared-document.js';
import type { ReindexContext } from '../reindex/jobs.js';
import { takeJob } from '../reindex/run-job.js';
import type { CatalogContext } from '../collections/catalog-changes.js';
import { type Applied, type CatalogEvent, isCatalogOp } from '../collections/catalog-state.js';

/** Applies the commands that were not refused, in order. */
export function applyRemoteChanges(
  context: CatalogContext,
  reindex: ReindexContext,
  commands: readonly ShardCommand[],
  results: readonly Result<ShardAnswer<ShardOp>>[],
): void {
  commands.forEach((command, i) => {
    const result = results[i];
    if (!result || !('value' in result) || !isCatalogOp(command.op)) return;
    const { op, ...request } = command;
    const event = { op, request, answer: result.value } as unknown as CatalogEvent;
    const left = leavingBy(context, event);
    forget(context, left, context.state.apply(event));
    takeJobIn(reindex, event);
  });
}

/** Notes the documents that commands of a shard may have changed, if a job follows any collection. */
export function noteRemoteWrites(
  { written }: Pick<ReindexContext, 'written'>,
  commands: () => readonly ShardCommand[],
): void {
  if (!written.isFollowing) return;
  for (const command of commands())
    if (traitsOf(command.op).isOfClient)
      written.note((command as ClientWrite).collection.id, docidsIn(command as ClientWrite));
}

type ClientWrite = Extract<
  ShardCommand,
  { op: 'put' | 'putMany' | 'patchDocument' | 'patchDocuments' | 'deleteDocument' | 'deleteDocuments' }
>;

/** The documents that a client's write names. */
function docidsIn(command: ClientWrite): readonly DocId[] {
  if (command.op === 'put') return [unpackDocument(command.document).docid];
  if (command.op === 'putMany') return unpackDocuments(command.documents, command.ends).map(({ docid }) => docid);
  return 'docids' in command ? command.docids : [command.docid];
}

/** Takes the record of a reindex job that a change creates, saves or ends. */
function takeJobIn(context: ReindexContext, event: CatalogEvent): void {
  if (event.op === 'createJob') takeJob(context, event.answer.job, event.request.forget);
  if (event.op === 'saveJob') takeJob(context, event.request.job);
  if (event.op === 'switchCollection' && event.request.job) takeJob(context, event.request.job);
}

/** The collections that a change removes. */
function leavingBy({ catalog }: CatalogContext, event: CatalogEvent): StoredCollection[] {
  if (event.op === 'deleteTenant') return event.answer;
  if (event.op === 'replaceDataset') return event.answer.gone;
  const found = event.op === 'deleteCollection' && catalog.findById(event.request.collection.id);
  return found ? [found] : [];
}

function forget({ catalog, shadows, lifecycle }: CatalogContext, left: StoredCollection[], { gone }: Applied): void {
  for (const collection of left) {
    lifecycle.logAbandoned(logIdOf(collection));
    lifecycle.collectionDeleted(collection);
    lifecycle.idDropped(collection.id);
  }
  for (const { id, collection } of gone) {
    const logId = logIdOf(collection);
    const isKept = [...shadows.all()].some((other) => logIdOf(other.collection) === logId);
    if (!isKept && !catalog.findByLog(logId)) lifecycle.logAbandoned(logId);
    lifecycle.idDropped(id);
  }
}
