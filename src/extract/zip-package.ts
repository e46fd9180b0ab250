// Zip packages (OOXML, ODF, EPUB) by JSZip, with what they unpack to counted while it is inflated: no length that the
// archive states is trusted. Nothing is written to disk and no archive inside is opened, so entry names and nesting
// mean nothing. And the XML in them, as events.
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

  /** Throws AppError `file_encrypted` or `file_unreadable`. `budget` bounds all that is read. */
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

  /** The text of an entry; undefined where there is none of that name. */
  async text(name: string): Promise<string | undefined> {
    const entry = this.entry(name);
    return entry && decodeText(Buffer.concat(await this.inflate(entry)));
  }

  async bytes(name: string): Promise<Uint8Array | undefined> {
    const entry = this.entry(name);
    return entry && Buffer.concat(await this.inflate(entry));
  }

  /**
   * Inflates every entry and keeps nothing: for parsers that unpack the same bytes by the same library, without a
   * bound.
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

/** Names of elements come without their namespace prefix, those of attributes with it. */
interface XmlEvents {
  open?(name: string, attributes: Attributes): void;
  text?(text: string): void;
  close?(name: string): void;
}

/**
 * XML by htmlparser2. Document types are passed over, so there are neither entities of the file's own (no entity bomb)
 * nor external ones (nothing is fetched or read).
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

/** Relationship ids of an OOXML part and the entries they name. `folder`: of the part, with a slash at its end. */
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

/** An entry named relative to a folder of the package: `../media/a.png` from `ppt/slides/` is `ppt/media/a.png`. */
export const resolveEntry = (folder: string, target: string): string =>
  posix.normalize(target.startsWith('/') ? target.slice(1) : folder + target);

/** The folder of an entry, with a slash at its end; '' at the top. */
export const folderOf = (entry: string): string => entry.slice(0, entry.lastIndexOf('/') + 1);
