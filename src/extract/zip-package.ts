// Zip packages (OOXML, ODF, EPUB) by JSZip, with what they unpack to counted while it is inflated: no length that the
// archive states is trusted. Nothing is written to disk and no archive inside is opened, so entry names and nesting
// mean nothing.
import JSZip from 'jszip';
import { AppError } from '../../../src/contract/errors.js';
import { decodeText } from '../../../src/text/decode.js';
import type { Budget } from './budget.js';

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
