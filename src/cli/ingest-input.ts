// `sheaf ingest -`: what is piped in becomes one document.
// Called by ingest-commands.ts.
import { EXIT } from './command-line.js';
import { UsageError } from './explain-error.js';
import { count, line, type Input, type Output } from './output.js';
import type { Target } from './target.js';

/** The path that stands for it, as usual. */
export const STANDARD_INPUT = '-';
/** It is held whole; the server takes no larger file by default. */
const INPUT_BYTES_MAX = 512 * 2 ** 20;

export interface InputDocument {
  docid: string | undefined;
  metadata: Record<string, unknown> | undefined;
}

/** Throws UsageError without a name for the document, and where there is nothing to read. */
export async function ingestInput(
  { client, tenant, collection }: Target,
  stdin: Input,
  { docid, metadata }: InputDocument,
  { stdout }: Output,
): Promise<number> {
  if (docid === undefined) throw new UsageError('Name the document that comes by standard input with --docid.');
  const content = new Blob(await piecesOf(stdin));
  if (content.size === 0) throw new UsageError('Standard input is empty.');
  const { chunks } = await client.ingestFile(tenant, collection, { name: nameOf(docid), content, docid, metadata });
  line(stdout, `${docid} (${count(chunks, 'chunk')}) ingested into ${tenant}/${collection}.`);
  return EXIT.done;
}

/** The extension of the id tells the type, as a file's would; without one the content does. */
const nameOf = (docid: string): string => docid.slice(docid.lastIndexOf('/') + 1) || 'stdin.txt';

async function piecesOf(stdin: Input): Promise<Uint8Array<ArrayBuffer>[]> {
  const pieces: Uint8Array<ArrayBuffer>[] = [];
  let bytes = 0;
  for await (const piece of stdin) {
    pieces.push(Uint8Array.from(Buffer.from(piece)));
    bytes += piece.length;
    if (bytes > INPUT_BYTES_MAX)
      throw new UsageError('Standard input is longer than 512 MiB: cut it, or send it as NDJSON with --ndjson.');
  }
  return pieces;
}
