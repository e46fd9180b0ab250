// Puts questions and chunks where the kernel's calls on words take them from. Terms go as UTF-8, each with a zero byte.
// One for each WordIndex, on its thread.
import type { Instance } from '../instance.js';

export class WordInput {
  constructor(private readonly instance: Instance) {}

  /** The tokens of a chunk; answers the bytes written. */
  setTokens(tokens: readonly string[]): number {
    const text = tokens.join('\0');
    const at = this.instance.reserveInput(3 * text.length + 1);
    return this.instance.writeText(at, text);
  }

  /** The tokens of a chunk as they are written. */
  setWritten(bytes: Uint8Array): void {
    this.instance.bytesAt(this.instance.reserveInput(bytes.length), bytes.length).set(bytes);
  }

  /** The terms of a question, behind their factors. */
  setTerms(terms: readonly string[], factors?: Float32Array): void {
    const text = terms.join('\0');
    const at = this.instance.reserveInput(4 * terms.length + 3 * text.length + 1);
    if (factors) this.instance.writeFloats(at, factors);
    this.instance.writeText(at + 4 * terms.length, text);
  }
}
