// `sheaf archive` and `sheaf restore`: an archive of a collection, or of everything, into a file, and back. A file
// appears under its name only when it is whole. Called by archive-commands.ts.
import { createWriteStream, openAsBlob } from 'node:fs';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { SheafClient } from '../client/client.js';
import { SheafUnreachable } from '../client/errors.js';
import type { ArchiveCounts } from '../contract/archived.js';
import { startBytes } from './byte-progress.js';
import { UsageError } from './explain-error.js';
import { INTERRUPTED, withInterrupt } from './interrupt.js';
import { count, duration, line, type Output } from './output.js';
import { wantedFile } from './wanted-file.js';
import { writtenWhole } from './written-file.js';

/** Without a collection: everything. */
export interface ArchiveTarget {
  client: SheafClient;
  collection: { tenant: string; name: string } | undefined;
}

export interface RestoreFlags {
  replace: boolean;
  dryRun: boolean;
  /** The collection in an archive of everything. */
  from: string | undefined;
}

/** Exit code: 0 when the archive is whole, 1 when collections were left out of it, 130 after Ctrl-C. */
export async function archive(
  { client, collection }: ArchiveTarget,
  file: string,
  replace: boolean,
  output: Output,
): Promise<number> {
  const startedAtMs = performance.now();
  return withInterrupt(async (signal) => {
    try {
      const { written, leftOut } = await writtenWhole(file, replace, async (draft) => {
        const download = collection
          ? await client.archives.dumpCollection(collection.tenant, collection.name, { signal })
          : await client.archives.dump({ signal });
        return { written: await save(download.bytes, draft, output, signal), leftOut: download.leftOut };
      });
      const seconds = (performance.now() - startedAtMs) / 1000;
      line(output.stdout, `${file}: ${megabytes(written)} in ${duration(seconds)}.`);
      for (const name of leftOut) line(output.stderr, `Left out, for its records are damaged: ${name}`);
      return leftOut.length > 0 ? 1 : 0;
    } catch (error) {
      if (signal.aborted) return INTERRUPTED;
      throw explained(error);
    }
  });
}

async function save(
  bytes: ReadableStream<Uint8Array>,
  path: string,
  { stderr }: Output,
  signal: AbortSignal,
): Promise<number> {
  const progress = startBytes(stderr);
  try {
    const counted = async function* (source: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
      for await (const piece of source) {
        progress.add(piece.length);
        yield piece;
      }
    };
    await pipeline(
      Readable.fromWeb(bytes as never),
      counted,
      createWriteStream(path, { flags: 'wx', mode: 0o600, flush: true }),
      { signal },
    );
    return progress.bytes;
  } finally {
    progress.stop();
  }
}

/** Exit code: 0 when it is restored, or verified; 130 after Ctrl-C. */
export async function restore(
  { client, collection }: ArchiveTarget,
  file: string,
  { replace, dryRun, from }: RestoreFlags,
  output: Output,
): Promise<number> {
  const startedAtMs = performance.now();
  await wantedFile(file, 'Name the archive.');
  const blob = await openAsBlob(file);
  if (!collection && !replace && !dryRun)
    throw new UsageError(
      'An archive of everything takes the place of all that is there: say so with --replace, or name a collection with --collection.',
    );
  if (!collection && from !== undefined)
    throw new UsageError('--from is for one collection: say with --collection under which name it is to be restored.');
  return withInterrupt(async (signal) => {
    try {
      const { counts } = collection
        ? await client.archives.restoreCollection(collection.tenant, collection.name, blob, {
            replace,
            dryRun,
            from,
            signal,
          })
        : await client.archives.restore(blob, { dryRun, signal });
      const where = collection ? `${collection.tenant}/${collection.name}` : 'everything';
      line(
        output.stdout,
        `${where} ${dryRun ? 'can be restored' : 'restored'} from ${file}: ${told(counts)}, ${duration((performance.now() - startedAtMs) / 1000)}.`,
      );
      return 0;
    } catch (error) {
      if (signal.aborted) return INTERRUPTED;
      throw error;
    }
  });
}

const megabytes = (bytes: number): string => `${(bytes / 1e6).toFixed(1)} MB`;

function told({ collections, documents, chunks, queries }: ArchiveCounts & { collections?: number }): string {
  const parts = [count(documents, 'document'), count(chunks, 'chunk'), count(queries, 'logged search')];
  return [...(collections === undefined ? [] : [count(collections, 'collection')]), ...parts].join(', ');
}

function explained(error: unknown): unknown {
  return error instanceof SheafUnreachable
    ? Object.assign(error, { message: `${error.message} (the archive broke off and was not kept)` })
    : error;
}
