// Examines one collection in one shard as a whole: documents against members, members against chunks, chunks against
// vectors and texts. Damaged records are included as damaged, so that what they lose can be reported. It only reads.
// Runs in a command-line process.
import type { CollectionId } from '../../api/ids.js';
import { collectionPrefix } from '../keys.js';
import { expiriesIn } from '../expiries.js';
import { decodeBlock } from '../large-removal.js';
import {
  decodeChunk,
  decodeDocument,
  decodeMembers,
  type ChunkRecord,
  type DocumentRecord,
  type MembersRecord,
} from '../records.js';
import type { SHARD_TABLES } from '../shard-reader.js';
import type { Tables } from '../table.js';

export type ShardTables = Tables<(typeof SHARD_TABLES)[number]>;
type ChunkTable = 'chunks' | 'texts' | 'vectors';

/** A document with missing or damaged records. */
interface BrokenDocument {
  key: Buffer;
  docid?: string;
  why: string;
  /** Its members, reconstructed from its chunks; present if nothing else is missing. */
  members?: MembersRecord;
}

/** The result of examining a collection. The counts cover intact documents only. */
export interface CollectionState {
  id: CollectionId;
  documents: number;
  chunks: number;
  prioritized: number;
  broken: BrokenDocument[];
  /** Whether the index of expiring documents has the intact documents, their seconds and their number, and no others. */
  areExpiriesRight: boolean;
  /** Keys of records that belong to no intact document, by table. */
  stray: Record<ChunkTable | 'documents' | 'members', Buffer[]>;
}

/** Records by ordinal; null for a damaged one. */
type Found<T> = Map<number, { key: Buffer; record: T | null }>;

export function inspectCollection(tables: ShardTables, id: CollectionId): CollectionState {
  return new Inspection(tables, id).state();
}

class Inspection {
  private readonly chunks: Found<ChunkRecord>;
  private readonly texts: Found<true>;
  private readonly vectors: Found<true>;
  private readonly taken = new Set<number>();
  /** The seconds in which intact documents expire, by key. */
  private readonly expiring = new Map<string, number>();

  constructor(
    private readonly tables: ShardTables,
    private readonly id: CollectionId,
  ) {
    this.chunks = this.read('chunks', decodeChunk);
    this.texts = this.read('texts', () => true);
    this.vectors = this.read('vectors', () => true);
  }

  state(): CollectionState {
    const state: CollectionState = {
      id: this.id,
      documents: 0,
      chunks: 0,
      prioritized: 0,
      broken: [],
      areExpiriesRight: true,
      stray: { documents: [], members: [], chunks: [], texts: [], vectors: [] },
    };
    const members = new Map(
      [...this.tables.members.inspect(collectionPrefix(this.id))].map(({ key, value }) => [
        key.toString('hex'),
        { key, record: value ? attempt(() => decodeMembers(value)) : null },
      ]),
    );
    // Chunks under removal are not damage; the next start deletes them.
    for (const { value } of this.tables.leaving.inspect(collectionPrefix(this.id)))
      for (const ordinal of value ? (attempt(() => decodeBlock(value))?.ordinals ?? []) : []) this.taken.add(ordinal);
    for (const { key, value } of this.tables.documents.inspect(collectionPrefix(this.id))) {
      const own = members.get(key.toString('hex'));
      members.delete(key.toString('hex'));
      this.judge(state, key, value ? attempt(() => decodeDocument(value)) : null, own ? own.record : undefined);
    }
    state.areExpiriesRight = this.areExpiriesRight();
    for (const { key } of members.values()) state.broken.push({ key, why: 'its record is missing' });
    for (const table of ['chunks', 'texts', 'vectors'] as const)
      for (const [ordinal, { key }] of this[table]) if (!this.taken.has(ordinal)) state.stray[table].push(key);
    return state;
  }

  /** Judges one document. `members` is undefined if the record is missing, null if it is damaged. */
  private judge(
    state: CollectionState,
    key: Buffer,
    document: DocumentRecord | null,
    members: MembersRecord | null | undefined,
  ): void {
    if (!document) return void state.broken.push({ key, why: 'its record is damaged' });
    const made = members ?? this.membersOf(document);
    const why = this.internalErrorOf(document, made);
    if (why === undefined) {
      for (const ordinal of made.ordinals) this.taken.add(ordinal);
      state.documents++;
      state.chunks += document.chunkCount;
      state.prioritized += document.priority === 0 ? 0 : 1;
      if (document.expiresAtS !== 0) this.expiring.set(key.toString('hex', 4), document.expiresAtS);
    }
    const whyMembers = members === null ? 'the list of its chunks is damaged' : 'the list of its chunks is missing';
    if (why !== undefined)
      state.broken.push({ key, docid: document.docid, why: members ? why : `${whyMembers}, and ${why}` });
    else if (!members) state.broken.push({ key, docid: document.docid, why: whyMembers, members: made });
  }

  private areExpiriesRight(): boolean {
    const indexed = attempt(() => expiriesIn(this.tables.expiries, this.id));
    if (!indexed?.areCountsRight || indexed.seconds.size !== this.expiring.size) return false;
    return [...this.expiring].every(([key, second]) => indexed.seconds.get(key) === second);
  }

  private internalErrorOf(
    { docid, chunkCount }: DocumentRecord,
    { ordinals, paths }: MembersRecord,
  ): string | undefined {
    if (ordinals.length !== chunkCount || paths.length !== chunkCount)
      return `it lists ${ordinals.length} of its ${chunkCount} chunks`;
    for (const [index, ordinal] of ordinals.entries()) {
      const chunk = this.chunks.get(ordinal);
      if (!chunk) return `chunk ${paths[index]} is missing`;
      if (!chunk.record) return `chunk ${paths[index]} is damaged`;
      if (chunk.record.docid !== docid || chunk.record.index !== index || chunk.record.path !== paths[index])
        return `chunk ${paths[index]} belongs to another document or position`;
      if (!this.vectors.get(ordinal)?.record)
        return `the vector of chunk ${paths[index]} is ${this.vectors.has(ordinal) ? 'damaged' : 'missing'}`;
      if (this.texts.get(ordinal)?.record === null) return `the text of chunk ${paths[index]} is damaged`;
    }
    return undefined;
  }

  /** Reconstructs the members from the chunks, since each chunk names its document. */
  private membersOf({ docid }: DocumentRecord): MembersRecord {
    const own = [...this.chunks].flatMap(([ordinal, { record }]) =>
      record?.docid === docid && !this.taken.has(ordinal) ? [{ ordinal, ...record }] : [],
    );
    own.sort((a, b) => a.index - b.index);
    return { ordinals: own.map(({ ordinal }) => ordinal), paths: own.map(({ path }) => path) };
  }

  /** Reads a table by ordinal, which is in the last four bytes of these keys. */
  private read<T>(table: ChunkTable, decode: (bytes: Buffer) => T): Found<T> {
    const found: Found<T> = new Map();
    for (const { key, value } of this.tables[table].inspect(collectionPrefix(this.id))) {
      found.set(key.readUInt32BE(key.length - 4), { key, record: value ? attempt(() => decode(value)) : null });
    }
    return found;
  }
}

/** Returns null if `decode` throws. */
function attempt<T>(decode: () => T): T | null {
  try {
    return decode();
  } catch {
    return null;
  }
}
