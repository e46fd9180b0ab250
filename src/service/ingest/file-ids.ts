// Ids of documents that come as files without one. A file's name gives an id that other names give too (`a b.txt` and
// `a-b.txt` both give `A_B_TXT`), so the first of them has it, and another file's is made distinct by a digest of its
// name. A file that comes again finds its own document by the name that is stored with it. Front thread: every upload
// passes here, so that of two at once one is decided behind the other.
import { createHash } from 'node:crypto';
import { asDocId, baseNameOf, docIdFromFilename, type CollectionName, type DocId, type Tenant } from '../../api/ids.js';
import type { UploadedFile } from '../../extract/messages.js';

/** What a digest leaves of the longest id. */
const DISTINCT_DOCID_STEM_MAX = 499;

/** An id while the document is on its way to the store. */
export interface FileId {
  /** '' where the name gives none. */
  readonly docid: string;
  /** The id that the name gives, where `docid` had to be made distinct from it. */
  readonly taken?: string;
  release(): void;
}

interface Upload {
  readonly filename: string;
  uses: number;
}

/** A file that comes without an id, and the collection that it comes to. */
export interface UnnamedFile {
  readonly tenant: Tenant;
  readonly collection: CollectionName;
  readonly file: UploadedFile;
  /** The document of the collection that is stored under an id. */
  find(docid: string): Promise<string | undefined>;
}

export class FileIds {
  /** Documents on their way, by place and id. */
  private readonly underWay = new Map<string, Upload>();
  /** The last decision about an id of a name, by place and id, while there is one. */
  private readonly decisions = new Map<string, Promise<unknown>>();

  /** Throws AppError `invalid_docid` for a name that gives too long an id. `release` is to be called in the end. */
  async claim(unnamed: UnnamedFile): Promise<FileId> {
    const { tenant, collection, file } = unnamed;
    const plain = docIdFromFilename(file.name);
    if (plain === undefined) return { docid: '', release: () => undefined };
    const place = `${tenant}/${collection}/`;
    const docid = await this.inTurn(place + plain, () => this.decided(unnamed, place, plain));
    const key = place + docid;
    return { docid, ...(docid !== plain && { taken: plain }), release: () => this.leave(key) };
  }

  /** Decisions about one id come one behind the other. */
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

  /** The id under which the file is, else the first that is free: the one of its name, then those made distinct. */
  private async decided(unnamed: UnnamedFile, place: string, plain: DocId): Promise<DocId> {
    const filename = nameOf(unnamed.file.name);
    let free: DocId | undefined;
    for (let docid = plain; ; docid = distinctDocId(docid, filename)) {
      // What is under way is looked at first: before the store has answered it may be stored.
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

/** The same file always gets the same. */
function distinctDocId(docid: DocId, filename: string): DocId {
  const digest = createHash('sha256').update(`${docid}\0${filename}`).digest('hex').toUpperCase();
  return asDocId(`${docid.slice(0, DISTINCT_DOCID_STEM_MAX)}_${digest.slice(0, 12)}`);
}

/** As names are compared: systems differ in how they write an accent. */
const nameOf = (name: string): string => baseNameOf(name).normalize('NFC');

/** Whose file is stored under an id: undefined where nothing is, null where it is no file's. */
async function holderOf({ file, find }: UnnamedFile, docid: string): Promise<string | null | undefined> {
  const document = await find(docid);
  if (!document) return undefined;
  const { filename } = JSON.parse(document) as { filename?: unknown };
  if (typeof filename !== 'string') return null;
  // A caller may store another name with its file than the one it sends.
  return filename === filenameIn(file.metadata) ? nameOf(file.name) : nameOf(filename);
}

function filenameIn(metadata: string): unknown {
  try {
    return (JSON.parse(metadata) as { filename?: unknown } | null)?.filename;
  } catch {
    return undefined;
  }
}
