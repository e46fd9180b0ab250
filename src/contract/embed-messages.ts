// The messages between the front thread and the embed workers. Types only; plain data, as in messages.ts.
// Used by src/pool/embed-pool.ts and workers/embed.

export interface EmbedQueries {
  kind: 'queries';
  texts: string[];
}

export interface EmbedDocument {
  kind: 'document';
  document: Uint8Array;
}

export interface EmbedAnswer {
  vectors: Float32Array;
  /** The document handed back: its bytes were moved, not copied. */
  document?: Uint8Array;
}
