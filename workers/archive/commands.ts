// Writes an archive of one collection, or of all, to standard output. First every record is read once: a collection
// that is damaged is named before the first byte goes out, and what follows cannot fail of it, for it is read from the
// same snapshots. Archive process only.
import { pipeline } from 'node:stream/promises';
import { setImmediate as turn } from 'node:timers/promises';
import { ArchiveWriter } from '../../src/archive/archive-writer.js';
import { folderOf, headingAt, MANIFEST, TENANTS, type DatasetManifest } from '../../src/archive/manifest.js';
import { assert } from '../../src/base/assert.js';
import type { ArchivedMoment, ArchivedSource, WriteTask } from '../../src/contract/archive-messages.js';
import type { LeftOut } from '../../src/contract/archived.js';
import { AppError } from '../../src/contract/errors.js';
import { DatasetSnapshot } from '../../src/store/dataset-snapshot.js';
import { DamagedRecord } from '../../src/store/damage.js';
import { nextOrder, tell, yieldCpu } from './line.js';
import { storedDocuments } from './stored-documents.js';
import { refOf, writeCollection } from './write-collection.js';

const DOCUMENTS_PER_TURN = 1024;

export async function writeArchive({ directory, shards }: WriteTask): Promise<void> {
  const take = await DatasetSnapshot.prepare(directory, shards, whenHeld);
  const ordered = nextOrder();
  await tell({ told: 'ready' });
  const order = await ordered;
  assert(order.order === 'snap', 'the order to take the snapshots');
  await write(take(), order.moment);
}

/** The server keeps the owner of the store from committing until it is told that it is open. */
async function whenHeld<T>(place: number, open: () => T): Promise<T> {
  const ordered = nextOrder();
  await tell({ told: 'opens', place });
  const { order } = await ordered;
  assert(order === 'open', 'the order to open a store');
  const opened = open();
  await tell({ told: 'open' });
  return opened;
}

async function write(snapshot: DatasetSnapshot, moment: ArchivedMoment): Promise<void> {
  // However this process ends: a snapshot that is not ended keeps its pages until the server stops.
  process.once('exit', () => snapshot.end());
  await tell({ told: 'opened' });
  yieldCpu();
  const { sound, damaged } = await checked(snapshot, moment.sources);
  if (!moment.dataset && damaged[0])
    throw new AppError('archive_failed', `The collection is damaged: ${damaged[0].reason}`);
  const leftOut = [...(moment.dataset?.leftOut ?? []), ...damaged];
  await tell({ told: 'begun', leftOut });
  const writer = new ArchiveWriter(new Date(moment.createdAtMs));
  const writing = async (): Promise<void> => {
    if (moment.dataset) await writeDataset(writer, snapshot, moment, sound, leftOut);
    else for (const source of sound) await writeCollection(writer, snapshot, source, '', createdAt(moment));
    writer.end();
  };
  await Promise.all([writing(), drained(writer)]);
}

const createdAt = ({ createdAtMs }: ArchivedMoment): string => new Date(createdAtMs).toISOString();

async function writeDataset(
  writer: ArchiveWriter,
  snapshot: DatasetSnapshot,
  moment: ArchivedMoment,
  sound: readonly ArchivedSource[],
  leftOut: LeftOut[],
): Promise<void> {
  const collections: DatasetManifest['collections'] = [];
  for (const [place, source] of sound.entries()) {
    const { tenant, name } = source.collection;
    const folder = folderOf(place);
    collections.push({
      tenant,
      name,
      folder,
      manifest: await writeCollection(writer, snapshot, source, folder, createdAt(moment)),
    });
  }
  const tenants = await writer.addJson(TENANTS, moment.dataset?.tenants);
  const manifest: DatasetManifest = {
    format: 'sheaf-dataset',
    ...headingAt(createdAt(moment)),
    collections,
    left_out: leftOut,
    tenants,
  };
  await writer.addJson(MANIFEST, manifest);
}

/** Resolves when standard output has all of it. */
async function drained(writer: ArchiveWriter): Promise<void> {
  await pipeline(writer.output, process.stdout, { end: false });
  await new Promise<void>((resolve, reject) =>
    process.stdout.write('', (error) => (error ? reject(error) : resolve())),
  );
}

async function checked(
  snapshot: DatasetSnapshot,
  sources: readonly ArchivedSource[],
): Promise<{ sound: ArchivedSource[]; damaged: LeftOut[] }> {
  const sound: ArchivedSource[] = [];
  const damaged: LeftOut[] = [];
  for (const source of sources) {
    const reason = await damageOf(snapshot, source);
    if (reason === undefined) sound.push(source);
    else damaged.push({ tenant: source.collection.tenant, name: source.collection.name, reason });
  }
  return { sound, damaged };
}

async function damageOf(snapshot: DatasetSnapshot, { collection }: ArchivedSource): Promise<string | undefined> {
  let read = 0;
  try {
    for (const txn of snapshot.shards) {
      for (const _ of storedDocuments(txn, refOf(collection))) if (++read % DOCUMENTS_PER_TURN === 0) await turn();
    }
    return undefined;
  } catch (error) {
    if (error instanceof DamagedRecord) return error.message;
    throw error;
  }
}
