// What the stores of all frameworks have in common: writing many documents, and reading those that match.
import type { DocumentRequest, SearchHit, SearchRequest, SheafClient } from 'sheaf-client';

/** A collection of a server. */
export interface CollectionOptions {
  readonly client: SheafClient;
  /** `default` if absent. */
  readonly tenant?: string;
  readonly collection: string;
}

/** Metadata filters of the server. */
export type Filters = Record<string, unknown>;

const PAGE = 500;

export class StoredCollection {
  private readonly client: SheafClient;
  private readonly tenant: string;
  private readonly name: string;

  constructor({ client, tenant = 'default', collection }: CollectionOptions) {
    this.client = client;
    this.tenant = tenant;
    this.name = collection;
  }

  /** Writes documents, which replace those with the same ids. Throws for the first one that is refused. */
  async add(documents: readonly DocumentRequest[]): Promise<void> {
    for await (const { index, ok, error } of this.client.ingestStream(this.tenant, this.name, documents))
      if (!ok) throw new Error(`document ${documents[index]?.docid ?? index}: ${error}`);
  }

  async search(search: SearchRequest): Promise<SearchHit[]> {
    const { matches } = await this.client.search(this.tenant, this.name, search);
    return matches;
  }

  /** Deletes documents by their ids or by filters. */
  async delete(which: { docids: string[] } | { filters: Filters } | { filters: Filters; all: true }): Promise<void> {
    await this.client.deleteDocuments(this.tenant, this.name, which);
  }

  /** All chunks that match, in the order of their documents. */
  async chunks(filters: Filters): Promise<SearchHit[]> {
    const found: SearchHit[] = [];
    const search: SearchRequest = { filters, sort: { field: 'docid' }, k: PAGE };
    for await (const hit of this.client.eachHit(this.tenant, this.name, search)) found.push(hit);
    return found;
  }

  /** The vectors of texts by an embedder of the server. */
  async embed(texts: string[], model: string): Promise<number[][]> {
    if (texts.length === 0) return [];
    const { data } = await this.client.embeddings({ input: texts, model });
    return data.map(({ embedding }) => embedding as number[]);
  }
}
