// What the OpenAPI document says before its operations: conventions, keys, groups.
// Used by document.ts. Constants.
import type { Tag } from './operation.js';

export const DESCRIPTION = `A tenant owns collections; a collection holds documents; a document is cut into chunks; a search returns the chunks nearest
to a text or a vector, each with its metadata and the reason of its rank.

- **Names.** Slugs of tenants and collections have up to 128 of \`A-Z a-z 0-9 . _ -\`. Paths are split first and decoded after: a \`/\` in a document id is \`%2F\`.
- **Successes** in JSON carry \`ok\`, \`latency_ms\` and \`request_id\`. \`X-Request-ID\` is taken from the request, or made, and is on every answer.
- **Errors** are one envelope with a stable \`code\`. Each status below names its codes. A 422 has \`detail\`, an entry for each field that is wrong.
- **Bodies** may come compressed (\`Content-Encoding: gzip\` or \`br\`, \`zstd\` where the server's Node has it); what they unpack to obeys the same limits. JSON has at most
  256 KiB, a search 2 MiB more for its vector, a batch what is configured; the text of a search 64 KiB. Heads have at most 16 KiB (431 \`request_head_too_large\`).
- **Query strings** have no other parameters than those below.
- **Other sites.** A server without keys answers 403 \`auth_forbidden\` to pages of other sites and to host names that it was not told.
- **Other paths** are 404 \`not_found\`, other methods 405 \`method_not_allowed\` with \`Allow\`. HEAD works where GET does.
- **Retries** help for 429 and 503 with \`Retry-After\`: nothing has been done then.
- **Optional fields** of request bodies may be \`null\`, which is as good as absent. Unknown fields are refused.`;

export const SECURITY_SCHEMES = {
  bearer: { type: 'http', scheme: 'bearer', description: 'A key, or a signed token where the server takes those.' },
  apiKey: { type: 'apiKey', in: 'header', name: 'X-API-Key', description: 'A key.' },
} as const;

export const TAGS: readonly { readonly name: Tag; readonly description: string }[] = [
  { name: 'Search', description: 'In a collection, or in the shared scope.' },
  { name: 'Documents', description: 'Documents and their chunks.' },
  { name: 'Collections', description: 'Documents with one embedding space and one chunking.' },
  { name: 'Archives', description: 'Backups: all of a collection, or of everything, in a zip; and back.' },
  {
    name: 'Logged searches',
    description: "What was searched, and what it found; searched again on today's documents.",
  },
  {
    name: 'Reindex jobs',
    description: 'Another embedding space for a collection, built beside the one that is searched.',
  },
  { name: 'Embedders', description: 'What turns texts into vectors.' },
  { name: 'Agents', description: 'The Model Context Protocol.' },
  { name: 'Tenants and keys', description: 'For the admin.' },
  { name: 'Health', description: 'Open to everybody.' },
  { name: 'Metrics', description: 'Counters and latencies.' },
  { name: 'Documentation', description: 'This document, a page that shows it, and the console.' },
];
