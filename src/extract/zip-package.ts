// Reads zip packages (OOXML, ODF, EPUB) with JSZip, and their XML as events. Bytes are counted while they are inflated;
// lengths stated in the archive are not trusted. Nothing is written to disk and nested archives are not opened, so
// entry names and nesting are harmless.
import { posix } from 'node:path';
import { Parser } from 'htmlparser2';
import JSZip from 'jszip';
import { AppError } from '../api/errors.js';
import { decodeText } from '../text/decode.js';
import type { Budget } from './extracted.js';

const ENTRIES_MAX = 65_535;

export class ZipPackage {
  private constructor(
    private readonly zip: JSZip,
    private readonly budget: Budget,
  ) {}

  /** Throws AppError `file_encrypted` or `file_unreadable`. `budget` limits everything that is read. */
  static async open(bytes: Uint8Array, budget: Budget): Promise<ZipPackage> {
    let zip: JSZip;
    try {
      zip = await new JSZip().loadAsync(bytes);
    } catch (error) {
      throw new AppError(/encrypted/i.test((error as Error).message) ? 'file_encrypted' : 'file_unreadable');
    }
    if (Object.keys(zip.files).length > ENTRIES_MAX)
      throw new AppError('file_unreadable', `The archive has more than ${ENTRIES_MAX} entries.`);
    return new ZipPackage(zip, budget);
  }

  get names(): string[] {
    return Object.keys(this.zip.files);
  }

  has(name: string): boolean {
    return this.entry(name) !== undefined;
  }

  /** The text of an entry; undefined if there is no entry with this name. */
  async text(name: string): Promise<string | undefined> {
    const entry = this.entry(name);
    return entry && decodeText(Buffer.concat(await this.inflate(entry)));
  }

  async bytes(name: string): Promise<Uint8Array | undefined> {
    const entry = this.entry(name);
    return entry && Buffer.concat(await this.inflate(entry));
  }

  /**
   * Inflates every entry and discards the bytes, to check the budget before a parser unpacks the same bytes without a
   * limit.
   */
  async measure(): Promise<void> {
    for (const name of this.names) {
      const entry = this.entry(name);
      if (entry) await this.inflate(entry, false);
    }
  }

  private entry(name: string): JSZip.JSZipObject | undefined {
    const entry = this.zip.files[name.replace(/^\//, '')];
    return entry && !entry.dir ? entry : undefined;
  }

  private inflate(entry: JSZip.JSZipObject, isKept = true): Promise<Uint8Array[]> {
    return new Promise((resolve, reject) => {
      const pieces: Uint8Array[] = [];
      const stream = entry.nodeStream('nodebuffer');
      const fail = (error: unknown): void => {
        stream.pause();
        stream.removeAllListeners('data');
        reject(error instanceof AppError ? error : new AppError('file_unreadable'));
      };
      stream.on('data', (piece: Uint8Array) => {
        try {
          this.budget.spend(piece.length);
          if (isKept) pieces.push(piece);
        } catch (error) {
          fail(error);
        }
      });
      stream.on('error', fail);
      stream.on('end', () => resolve(pieces));
    });
  }
}

export type Attributes = Readonly<Record<string, string>>;

/** Element names are without their namespace prefix, attribute names with it. */
interface XmlEvents {
  open?(name: string, attributes: Attributes): void;
  text?(text: string): void;
  close?(name: string): void;
}

/**
 * Parses XML with htmlparser2. Document types are ignored, so entities that the file defines are not expanded (no
 * entity bombs), and nothing external is read.
 */
export function walkXml(xml: string, events: XmlEvents): void {
  const parser = new Parser(
    {
      onopentag: (name, attributes) => events.open?.(localName(name), attributes),
      ontext: (text) => events.text?.(text),
      onclosetag: (name) => events.close?.(localName(name)),
    },
    { xmlMode: true, decodeEntities: true },
  );
  parser.end(xml);
}

const localName = (name: string): string => name.slice(name.indexOf(':') + 1);

/** The targets of an OOXML part's relationships by id. `folder` is that of the part, with a trailing slash. */
export function relationshipTargets(xml: string, folder: string): Map<string, string> {
  const targets = new Map<string, string>();
  walkXml(xml, {
    open: (name, { Id, Target, TargetMode }) => {
      if (name === 'Relationship' && Id && Target && TargetMode !== 'External')
        targets.set(Id, resolveEntry(folder, Target));
    },
  });
  return targets;
}

/**
 * Resolves an entry name relative to a folder of the package: `../media/a.png` from `ppt/slides/` is `ppt/media/a.png`.
 */
export const resolveEntry = (folder: string, target: string): string =>
  posix.normalize(target.startsWith('/') ? target.slice(1) : folder + target);

/** The folder of an entry, with a trailing slash; '' for the top level. */
export const folderOf = (entry: string): string => entry.slice(0, entry.lastIndexOf('/') + 1);
