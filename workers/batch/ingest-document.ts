// What an ingest body says once it is read, whatever kind of body it was. Types only.
// Made by json-document.ts and file-document.ts, used by prepare.ts in the batch worker.
import type { Extracted } from './extract/extracted.js';

/** What the readers of the body kinds have in common. Exactly one of `text`, `content` and `vector` is there. */
export interface IngestDocument {
  docid?: string;
  filename?: string;
  metadata: Record<string, unknown>;
  text?: string;
  /** What was taken out of a file. */
  content?: Extracted;
  vector?: number[];
}
