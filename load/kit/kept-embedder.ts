// The vectors of an embedder for texts in any order: those kept by an earlier program, and the embedder itself for the
// rest, which is then started. Used by load/retrieval-quality.ts, load/long-queries.ts and load/relevance.ts.
import { availableParallelism } from 'node:os';
import { keepRows, keptRows } from './kept-vectors.js';
import { startEmbedder, type LoadEmbedder } from './load-embedders.js';

export class KeptEmbedder {
  /** Texts that no program had kept. */
  missed = 0;
  private readonly rows = new Map<string, Float32Array>();
  private started: Promise<LoadEmbedder | undefined> | undefined;

  constructor(readonly name: string) {}

  /** Looks for what an earlier program may have kept of just this list. */
  load(texts: readonly string[]): void {
    keptRows(this.name, texts)?.forEach((row, i) => this.rows.set((texts[i] as string).trim(), row));
  }

  /** Looks for just this list, and where nothing has been kept of it, embeds and keeps it for the next program. */
  async keep(texts: readonly string[]): Promise<void> {
    this.load(texts);
    if (!keptRows(this.name, texts)) keepRows(this.name, texts, await this.vectorsOf(texts));
  }

  /** Passages and queries alike: no embedder here tells them apart. Throws where its model is absent. */
  async vectorsOf(texts: readonly string[]): Promise<Float32Array[]> {
    const missing = [...new Set(texts.map((text) => text.trim()))].filter((text) => !this.rows.has(text));
    if (missing.length > 0) await this.embed(missing);
    return texts.map((text) => this.rows.get(text.trim()) as Float32Array);
  }

  async close(): Promise<void> {
    await (await this.started)?.close();
  }

  private async embed(texts: readonly string[]): Promise<void> {
    const embedder = await (this.started ??= startEmbedder(this.name, availableParallelism()));
    if (!embedder) throw new Error(`there is no model for ${this.name}`);
    this.missed += texts.length;
    (await embedder.passages(texts)).forEach((row, i) => this.rows.set(texts[i] as string, row));
  }
}
