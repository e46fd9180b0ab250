// How much a file may still give: text taken out of it, or bytes it unpacks to. Counted where they come into being, so
// that no length that the file states of itself is trusted. Made for each file by read-file.ts.
import { AppError } from '../../../src/contract/errors.js';

export class Budget {
  private leftBytes: number;

  constructor(private readonly bytesMax: number) {
    this.leftBytes = bytesMax;
  }

  /** Throws AppError `file_unreadable` once more is spent than there was. */
  spend(bytes: number): void {
    this.leftBytes -= bytes;
    if (this.leftBytes < 0)
      throw new AppError(
        'file_unreadable',
        `The file has or unpacks to more than ${this.bytesMax} bytes, the limit for text of one file.`,
        { details: { limit_bytes: this.bytesMax } },
      );
  }

  /** The same for a text, which is returned. */
  spendText(text: string): string {
    this.spend(Buffer.byteLength(text));
    return text;
  }
}
