// Ids of documents that are uploaded as files without an id. Different file names can give the same id (`a b.txt` and
// `a-b.txt` both give `A_B_TXT`): the first file gets that id, another one gets a distinct id with a digest of its
// name. A file that is uploaded again finds its document by the file name that is stored with it. Runs on the main
// thread, which every upload passes, so decisions about one id are serialized.
import { createHash } from 'node:crypto';
import { asDocId, baseNameOf, docIdFromFilename, type CollectionName, type DocId, type Tenant } from '../../api/ids.js';
import type { UploadedFile } from '../../extract/messages.js';

/** The length to which an id is cut before a digest is appended, so that the longest ids stay valid. */
const DISTINCT_DOCID_STEM_MAX = 499;

/** An id that is reserved while the document is being stored. */
export interface FileId {
  /** '' if the file name gives no id. */
  readonly docid: string;
  /** The id that the file name gives, if `docid` had to be made distinct from it. */
  readonly taken?: string;
  release(): void;
}

interface Upload {
  readonly filename: string;
  uses: number;
}

/** A file without an id, and the collection that it is uploaded to. */
export interface UnnamedFile {
  readonly tenant: Tenant;
  readonly collection: CollectionName;
  readonly file: UploadedFile;
  /** Returns the document of the collection with this id as JSON text. */
  find(docid: string): Promise<string | undefined>;
}

export class FileIds {
  /** Documents that are being stored, by collection and id. */
  private readonly underWay = new Map<string, Upload>();
  /** The latest unfinished decision about an id, by collection and id. */
  private readonly decisions = new Map<string, Promise<unknown>>();

  /**
   * Reserves an id for the file; the caller must call `release` in the end. Throws AppError `invalid_docid` if the id
   * derived from the name is too long.
   */
  async acquire(unnamed: UnnamedFile): Promise<FileId> {
    const { tenant, collection, file } = unnamed;
    const plain = docIdFromFilename(file.name);
    if (plain === undefined) return { docid: '', release: () => undefined };
    const place = `${tenant}/${collection}/`;
    const docid = await this.inTurn(place + plain, () => this.decided(unnamed, place, plain));
    const key = place + docid;
    return { docid, ...(docid !== plain && { taken: plain }), release: () => this.leave(key) };
  }

  /** Serializes decisions with the same key. */
  private async inTurn<T>(key: string, decide: () => Promise<T>): Promise<T> {
    const before = this.decisions.get(key) ?? Promise.resolve();
    const decision = before.then(decide);
    const settled = decision.catch(() => undefined);
    this.decisions.set(key, settled);
    void settled.then(() => {
      if (this.decisions.get(key) === settled) this.decisions.delete(key);
    });
    return decision;
  }

  /** The id under which this file is stored, else the first free one of the plain id and its distinct variants. */
  private async decided(unnamed: UnnamedFile, place: string, plain: DocId): Promise<DocId> {
    const filename = nameOf(unnamed.file.name);
    let free: DocId | undefined;
    for (let docid = plain; ; docid = distinctDocId(docid, filename)) {
      // Uploads in progress are checked first, because they may be stored before the shard answers.
      const coming = this.underWay.get(place + docid)?.filename;
      const holder = coming ?? (await holderOf(unnamed, docid));
      if (holder === filename) return this.enter(place + docid, filename, docid);
      if (holder === undefined) free ??= docid;
      if (free !== undefined && docid !== plain) return this.enter(place + free, filename, free);
    }
  }

  private enter(key: string, filename: string, docid: DocId): DocId {
    const upload = this.underWay.get(key) ?? { filename, uses: 0 };
    upload.uses += 1;
    this.underWay.set(key, upload);
    return docid;
  }

  private leave(key: string): void {
    const upload = this.underWay.get(key);
    if (upload && --upload.uses === 0) this.underWay.delete(key);
  }
}

/** Deterministic: the same file always gets the same id. */
function distinctDocId(docid: DocId, filename: string): DocId {
  const digest = createHash('sha256').update(`${docid}\0${filename}`).digest('hex').toUpperCase();
  return asDocId(`${docid.slice(0, DISTINCT_DOCID_STEM_MAX)}_${digest.slice(0, 12)}`);
}

/** The form in which file names are compared; NFC, because systems encode accents differently. */
const nameOf = (name: string): string => baseNameOf(name).normalize('NFC');

/**
 * The name of the file that is stored under an id; undefined if there is no document, null if the document has no file
 * name.
 */
async function holderOf({ file, find }: UnnamedFile, docid: string): Promise<string | null | undefined> {
  const document = await find(docid);
  if (!document) return undefined;
  const { filename } = JSON.parse(document) as { filename?: unknown };
  if (typeof filename !== 'string') return null;
  // The caller may store another name in the metadata than the one of the uploaded file.
  return filename === filenameIn(file.metadata) ? nameOf(file.name) : nameOf(filename);
}

function filenameIn(metadata: string): unknown {
  try {
    return (JSON.parse(metadata) as { filename?: unknown } | null)?.filename;
  } catch {
    return undefined;
  }
}
