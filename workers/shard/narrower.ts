// Decides which chunks of a part a search may rank: evaluates its metadata filters and its content filter on the stored
// records. Made once a search; remembers its verdicts, because two rankings may ask about the same chunk. Shard worker only.
import type { Ordinal } from '../../src/contract/ids.js';
import type { Narrowing } from '../../src/contract/ranking.js';
import { compileFilter, type MetaLayers, type MetaTest } from '../../src/rank/match-filter.js';
import type { ShardTxn } from '../../src/store/shard-txn.js';
import { createContentTest } from '../../src/text/match-content.js';
import { readDocument } from './documents.js';
import type { ParsedMetadata } from './parsed-metadata.js';
import type { Part } from './part.js';

type Json = Record<string, unknown>;

const UNKNOWN = 0;
const ADMITTED = 1;
const REFUSED = 2;

/** Metadata of documents is kept during the search up to so many characters of JSON: their chunks share it. */
const DOCUMENT_CHARACTERS_MAX = 8 * 1024 * 1024;
/** What an entry weighs beside its metadata. */
const ENTRY_CHARACTERS = 64;

interface ParsedDocument {
  readonly metadata: Json;
  readonly characters: number;
}

export class Narrower {
  private readonly tests: readonly MetaTest[];
  private readonly fitsContent: ((text: string) => boolean) | undefined;
  private verdicts = new Uint8Array(1024);
  private readonly documents = new Map<string, ParsedDocument>();
  private documentCharacters = 0;

  constructor(
    private readonly txn: ShardTxn,
    private readonly part: Part,
    private readonly parsed: ParsedMetadata,
    { filters, content }: Narrowing,
  ) {
    this.tests = filters.map(compileFilter);
    this.fitsContent = content && createContentTest(content);
  }

  admits(ordinal: number): boolean {
    const known = this.verdicts[ordinal] ?? UNKNOWN;
    if (known !== UNKNOWN) return known === ADMITTED;
    const admitted = this.fitsFilters(ordinal as Ordinal) && this.fitsText(ordinal as Ordinal);
    this.remember(ordinal, admitted ? ADMITTED : REFUSED);
    return admitted;
  }

  private fitsFilters(ordinal: Ordinal): boolean {
    if (this.tests.length === 0) return true;
    const meta = this.metadataOf(ordinal);
    return this.tests.every((fits) => fits(meta));
  }

  private fitsText(ordinal: Ordinal): boolean {
    if (!this.fitsContent) return true;
    const text = this.txn.text(this.part.ref.id, ordinal)?.toString();
    return text !== undefined && this.fitsContent(text);
  }

  private metadataOf(ordinal: Ordinal): MetaLayers {
    const { id } = this.part.ref;
    const stamp = this.part.index.stampOf(ordinal);
    const known = this.parsed.get(id, ordinal, stamp);
    if (known) return known;
    const { docid, metaJson } = this.txn.chunk(id, ordinal);
    const document = this.document(docid);
    const layers = [JSON.parse(metaJson) as Json, document.metadata];
    this.parsed.put(id, ordinal, { stamp, layers, characters: ENTRY_CHARACTERS + metaJson.length + document.characters });
    return layers;
  }

  private document(docid: string): ParsedDocument {
    const known = this.documents.get(docid);
    if (known) return known;
    const { metadataJson } = readDocument(this.txn, this.part.ref.id, docid);
    const parsed = { metadata: JSON.parse(metadataJson) as Json, characters: metadataJson.length };
    if (this.documentCharacters > DOCUMENT_CHARACTERS_MAX) {
      this.documents.clear();
      this.documentCharacters = 0;
    }
    this.documentCharacters += parsed.characters;
    this.documents.set(docid, parsed);
    return parsed;
  }

  private remember(ordinal: number, verdict: number): void {
    if (ordinal >= this.verdicts.length) {
      const grown = new Uint8Array(Math.max(ordinal + 1, 2 * this.verdicts.length));
      grown.set(this.verdicts);
      this.verdicts = grown;
    }
    this.verdicts[ordinal] = verdict;
  }
}
