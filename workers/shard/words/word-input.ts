// Puts questions and chunks where the kernel's calls on words take them from. Terms go as UTF-8, each with a zero byte.
// One for each WordIndex, on its thread.
import type { Instance } from '../instance.js';

export class WordInput {
  constructor(private readonly instance: Instance) {}

  /** A text, and room behind it for the kernel to split it; answers its bytes. */
  setText(text: string): number {
    const at = this.instance.reserveInput(6 * text.length + 8);
    return this.instance.writeText(at, text) - 1;
  }

  /** The tokens of a chunk; answers the bytes written. */
  setTokens(tokens: readonly string[]): number {
    const text = tokens.join('\0');
    const at = this.instance.reserveInput(3 * text.length + 1);
    return this.instance.writeText(at, text);
  }

  /** The terms of a question, behind their factors. */
  setTerms(terms: readonly string[], factors?: Float32Array): void {
    const text = terms.join('\0');
    const at = this.instance.reserveInput(4 * terms.length + 3 * text.length + 1);
    if (factors) this.instance.writeFloats(at, factors);
    this.instance.writeText(at + 4 * terms.length, text);
  }
}
