// The entries of an archive as a stream of bytes between two processes: before each entry its record, as JSON with its
// length. Nothing of it is kept in this form.
import { once } from 'node:events';
import { PassThrough } from 'node:stream';
import type { EntryRecord } from './format.js';
import { type EntryWriter, recordOf } from './writer.js';

const LENGTH_BYTES = 4;

export class EntryStream implements EntryWriter {
  readonly output = new PassThrough();

  async add(name: string, bytes: Buffer): Promise<EntryRecord> {
    const record = recordOf(name, bytes);
    const head = Buffer.from(JSON.stringify(record));
    const length = Buffer.alloc(LENGTH_BYTES);
    length.writeUInt32LE(head.length);
    this.output.write(Buffer.concat([length, head]));
    if (!this.output.write(bytes)) await once(this.output, 'drain');
    return record;
  }

  end(): void {
    this.output.end();
  }
}

export interface StreamedEntry {
  readonly record: EntryRecord;
  readonly bytes: Buffer;
}

/** The entries in what an `EntryStream` has written. Rejects if it ends within one. */
export async function* entriesIn(stream: AsyncIterable<Uint8Array>): AsyncGenerator<StreamedEntry> {
  const source = stream[Symbol.asyncIterator]();
  let pieces: Uint8Array[] = [];
  let held = 0;
  /** The next bytes, or fewer at the end. */
  const take = async (length: number): Promise<Buffer> => {
    while (held < length) {
      const { done, value } = await source.next();
      if (done) break;
      pieces.push(value);
      held += value.length;
    }
    const [first] = pieces;
    const all =
      first && pieces.length === 1 ? Buffer.from(first.buffer, first.byteOffset, held) : Buffer.concat(pieces, held);
    pieces = [all.subarray(length)];
    held = Math.max(0, held - length);
    return all.subarray(0, length);
  };
  const whole = async (length: number): Promise<Buffer> => {
    const bytes = await take(length);
    if (bytes.length < length) throw new Error('the archive ends within an entry');
    return bytes;
  };
  try {
    for (;;) {
      const length = await take(LENGTH_BYTES);
      if (length.length === 0) return;
      if (length.length < LENGTH_BYTES) throw new Error('the archive ends within an entry');
      const record = JSON.parse((await whole(length.readUInt32LE())).toString()) as EntryRecord;
      yield { record, bytes: await whole(record.bytes) };
    }
  } finally {
    await source.return?.();
  }
}
