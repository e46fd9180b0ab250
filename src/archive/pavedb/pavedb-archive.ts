// A collection archive of PaveDB 0.9.7, opened: a zip with `manifest.json`, `collection.json`, the database `meta.db`,
// and an index of vectors with the ids of the chunks in it. What is read at random is unpacked into a folder. Used by
// the import of the command line; throws ArchiveFault.
import { join } from 'node:path';
import typia from 'typia';
import { ArchiveFault } from '../archive-fault.js';
import { ArchiveReader } from '../archive-reader.js';
import { parsedJson, WHOLE_ENTRY_BYTES_MAX } from '../manifest.js';
import { FlatIndex } from './flat-index.js';
import { MetaDatabase } from './meta-database.js';

const PAVEDB_VERSION = '0.9.7';

export interface PaveManifest {
  archive_format: 'pavedb.collection';
  archive_version: 1;
  pavedb_version: string;
  source: { tenant: string; collection: string };
  collection: { display_name?: string | null; created_at?: string | null };
  embedder_spec: { embedder_type: string; embed_model: string; embedder_config: Record<string, unknown> };
}

const isManifest = typia.createIs<PaveManifest>();
const isIdMap = typia.createIs<{ rid_to_id: Record<string, number> }>();
const INDEX = 'index/faiss.index';
const ID_MAP = 'index/id_map.json';

export class PaveArchive {
  private constructor(
    readonly manifest: PaveManifest,
    readonly database: MetaDatabase,
    /** Undefined where the collection is empty and never had one. */
    private readonly index: FlatIndex | undefined,
    private readonly ids: ReadonlyMap<string, number>,
  ) {}

  /** `folder`: empty, for what is unpacked. */
  static async open(path: string, folder: string): Promise<PaveArchive> {
    const reader = await ArchiveReader.open(path, Number.MAX_SAFE_INTEGER);
    try {
      const manifest = parsedJson(await reader.whole('manifest.json', WHOLE_ENTRY_BYTES_MAX));
      if (!isManifest(manifest)) throw new ArchiveFault('manifest_invalid', 'This is no collection archive of PaveDB.');
      if (manifest.pavedb_version !== PAVEDB_VERSION)
        throw new ArchiveFault(
          'service_version',
          `The archive is of PaveDB ${manifest.pavedb_version}; those of ${PAVEDB_VERSION} can be read.`,
        );
      await reader.extract('meta.db', join(folder, 'meta.db'));
      const hasIndex = reader.names().includes(INDEX);
      if (hasIndex) await reader.extract(INDEX, join(folder, 'faiss.index'));
      const ids = hasIndex ? await readIds(reader) : new Map<string, number>();
      return new PaveArchive(
        manifest,
        MetaDatabase.open(join(folder, 'meta.db')),
        hasIndex ? FlatIndex.open(join(folder, 'faiss.index')) : undefined,
        ids,
      ).checked();
    } finally {
      reader.close();
    }
  }

  /** Of its vectors; undefined where there are none. */
  get dim(): number | undefined {
    return this.index?.dim;
  }

  /** The bytes of a chunk's vector. */
  vector(rid: string): Buffer {
    const id = this.ids.get(rid);
    if (id === undefined || !this.index) throw new ArchiveFault('document_invalid', `Chunk ${rid} has no vector.`);
    return this.index.vector(id);
  }

  close(): void {
    this.database.close();
    this.index?.close();
  }

  private checked(): this {
    const { chunks } = this.database.counts();
    if (chunks !== this.ids.size || chunks !== (this.index?.size ?? 0))
      throw new ArchiveFault(
        'count_mismatch',
        `The archive has ${chunks} chunks and ${this.index?.size ?? 0} vectors.`,
      );
    return this;
  }
}

async function readIds(reader: ArchiveReader): Promise<Map<string, number>> {
  const map = parsedJson(await reader.whole(ID_MAP, Number.MAX_SAFE_INTEGER));
  if (!isIdMap(map)) throw new ArchiveFault('document_invalid', 'The id map of the index has a wrong shape.');
  return new Map(Object.entries(map.rid_to_id));
}
