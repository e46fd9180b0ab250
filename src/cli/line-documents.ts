// Documents out of lines of JSON, and where each came from, until the server has answered for it. What is no document
// is told and left out; what the server has already is left out where that is wanted. Used by ingest-lines.ts.
import { createInterface } from 'node:readline';
import { changedNumber } from '../base/exact-numbers.js';
import type { IngestBody } from '../contract/api/documents.js';
import { LocalFailure, UsageError } from './explain-error.js';
import { reasonOf } from './find-files.js';
import type { Input } from './output.js';
import type { StoredDocuments } from './stored-documents.js';

export interface LineInput {
  /** What the number of a line is put behind. */
  name: string;
  stream: Input;
  /** When its content was last changed; 0 where that is unknown, and whatever the server has is taken for newer. */
  changedAtMs: number;
}

export interface LineOptions {
  stored: StoredDocuments;
  /** Fields that every document gets; its own come first. */
  metadata: Record<string, unknown> | undefined;
  failed: (place: string, reason: string) => void;
}

/** A document that was sent. */
export interface Sent {
  place: string;
  /** Bytes of all input up to its end. */
  endBytes: number;
}

const METADATA: ReadonlySet<string> = new Set(['metadata']);

export class LineDocuments {
  /** Left out because the server has them. */
  skipped = 0;
  readonly #underWay = new Map<number, Sent>();
  #sent = 0;
  #bytes = 0;

  constructor(readonly options: LineOptions) {}

  async *of(inputs: AsyncIterable<LineInput>): AsyncGenerator<IngestBody, void> {
    for await (const { name, stream, changedAtMs } of inputs) {
      let number = 0;
      for await (const text of linesOf(stream, name)) {
        this.#bytes += Buffer.byteLength(text) + 1;
        const place = `${name} ${++number}`;
        const document = text.trim() === '' ? undefined : this.#parse(text, place);
        if (document === undefined || this.#isStored(document, changedAtMs, place)) continue;
        this.#underWay.set(this.#sent++, { place, endBytes: this.#bytes });
        yield this.#withMetadata(document);
      }
    }
  }

  /** Where the document came from for which the server has answered, by its number in the stream. Once for each. */
  answered(index: number): Sent {
    const sent = this.#underWay.get(index) ?? { place: `document ${index}`, endBytes: this.#bytes };
    this.#underWay.delete(index);
    return sent;
  }

  #parse(text: string, place: string): IngestBody | undefined {
    try {
      const value: unknown = JSON.parse(text);
      const number = changedNumber(text, METADATA);
      if (number !== undefined) {
        this.options.failed(
          place,
          `${number} in its metadata has more digits than a number keeps: send it as a string`,
        );
        return undefined;
      }
      if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as IngestBody;
      this.options.failed(place, 'no JSON object');
    } catch (error) {
      this.options.failed(place, `no JSON (${(error as Error).message})`);
    }
    return undefined;
  }

  #isStored({ docid }: IngestBody, changedAtMs: number, place: string): boolean {
    const { stored } = this.options;
    if (stored.size === 0) return false;
    if (docid == null || docid === '')
      throw new UsageError(
        `${place} has no docid: with --resume each document needs one, or it would be stored twice.`,
      );
    const storedAtMs = stored.get(docid);
    if (storedAtMs === undefined || storedAtMs <= changedAtMs) return false;
    this.skipped += 1;
    return true;
  }

  #withMetadata(document: IngestBody): IngestBody {
    const { metadata } = this.options;
    return metadata ? { ...document, metadata: { ...metadata, ...document.metadata } } : document;
  }
}

/** Throws LocalFailure behind the last line where the stream breaks off. */
async function* linesOf(stream: Input, name: string): AsyncGenerator<string> {
  try {
    yield* createInterface({ input: stream, crlfDelay: Infinity });
  } catch (error) {
    throw new LocalFailure(`${name}: it cannot be read on: ${reasonOf(error as NodeJS.ErrnoException)}.`);
  }
}
