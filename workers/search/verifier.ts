// Looks at the stored records of single chunks: whether metadata and text fit, where an index cannot tell. Made once a
// search; search workers only, called by selection.ts. A chunk that has gone fits nothing.
import type { Ordinal } from '../../src/contract/ids.js';
import type { Narrowing } from '../../src/contract/ranking.js';
import { compileFilter, type MetaTest } from '../../src/rank/match-filter.js';
import type { ShardTxn } from '../../src/store/shard-txn.js';
import { createContentTest } from '../../src/text/match-content.js';
import { readDocument } from '../shard/documents.js';
import type { PartView } from '../shard/part-view.js';

type Json = Record<string, unknown>;

export class Verifier {
  private readonly fits: MetaTest;
  private readonly fitsContent: (text: string) => boolean;
  /** Of the document read last: its chunks stand together. */
  private last: { docid: string; metadata: Json } | undefined;

  constructor(
    private readonly txn: ShardTxn,
    private readonly part: PartView,
    { filters, content }: Narrowing,
  ) {
    this.fits = compileFilter({ all: filters });
    this.fitsContent = content ? createContentTest(content) : () => true;
  }

  fitsFilters(ordinal: Ordinal): boolean {
    const chunk = this.txn.findChunk(this.part.id, this.part.stored(ordinal));
    if (!chunk) return false;
    const { docid, metaJson } = chunk;
    if (this.last?.docid !== docid)
      this.last = { docid, metadata: JSON.parse(readDocument(this.txn, this.part.id, docid).metadataJson) as Json };
    return this.fits([JSON.parse(metaJson) as Json, this.last.metadata]);
  }

  fitsText(ordinal: Ordinal): boolean {
    const text = this.txn.text(this.part.id, this.part.stored(ordinal))?.toString();
    return text !== undefined && this.fitsContent(text);
  }
}
