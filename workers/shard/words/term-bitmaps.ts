// Which chunks of an index have which terms, as bitmaps: phrases, prefixes, parts of terms, sets and ranges of them.
// The half of WordIndex that filters use; any thread with a Kernel of its own may ask.
import { assert } from '../../../src/base/assert.js';
import { countOf, type Instance } from '../instance.js';
import type { Bitmap } from './word-answers.js';
import { WordInput } from './word-input.js';

export class TermBitmaps {
  protected readonly input: WordInput;

  /** `root` is the address of the index; another thread's Kernel attaches by it. */
  constructor(
    protected readonly instance: Instance,
    readonly root: number,
  ) {
    this.input = new WordInput(instance);
  }

  /**
   * The chunks in which the tokens, at least one, follow each other; of the last, with `lastIsPrefix`, perhaps only the
   * beginning.
   */
  phrase(tokens: readonly string[], lastIsPrefix = false): Bitmap {
    assert(tokens.length > 0, 'a phrase without a token');
    this.input.setTerms(tokens);
    return this.copyBitmap(
      this.instance.calls.findPhrase(this.instance.scratch, this.root, tokens.length, lastIsPrefix),
    );
  }

  /**
   * The chunks that have a token with `piece` in it; with `atEnd`, one that ends with it. For those that begin with it:
   * `phrase`.
   */
  containing(piece: string, atEnd = false): Bitmap {
    this.input.setTerms([piece]);
    return this.copyBitmap(this.instance.calls.findContaining(this.instance.scratch, this.root, atEnd));
  }

  /** The chunks that have any of the terms. */
  any(terms: readonly string[]): Bitmap {
    this.input.setTerms(terms);
    return this.copyBitmap(this.instance.calls.findAny(this.instance.scratch, this.root, terms.length));
  }

  /**
   * The chunks that have a term from `from` on to before `to`, in the order of bytes; with a `piece`, one that has it
   * behind `from`, or ends with it.
   */
  range(from: string, to: string, piece = '', atEnd = false): Bitmap {
    this.input.setTerms([from, to, piece]);
    return this.copyBitmap(this.instance.calls.findRange(this.instance.scratch, this.root, atEnd));
  }

  /** All chunks. */
  every(): Bitmap {
    return this.copyBitmap(this.instance.calls.findLive(this.instance.scratch, this.root));
  }

  private copyBitmap(words: number): Bitmap {
    return this.instance.copyWords(this.instance.output, countOf(words));
  }
}
