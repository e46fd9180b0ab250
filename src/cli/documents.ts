// `sheaf docs`: list, show and delete the documents of a collection, and show their chunks.
import type { DeleteDocumentsBody } from '../api/documents.js';
import { SheafError } from '../client/errors.js';
import { encodePath } from '../client/url.js';
import {
  type CommandLine,
  EXIT,
  type Target,
  type TargetFlags,
  type Filters,
  examples,
  filterWord,
  integerBetween,
  jsonObject,
  targetOf,
  tellMissing,
  withTarget,
} from './command-line.js';
import { UsageError } from './errors.js';
import { type Output, count, line, oneLine, ownFields } from './output.js';

const LIMIT_MAX = 1_000_000_000;

type JsonFlags = TargetFlags & { json?: true };

interface SelectionFlags {
  filter?: Filters;
  filters?: Filters;
  all?: true;
  dryRun?: true;
}

export function addDocumentCommands({ program, env, output, ended }: CommandLine): void {
  const docs = program
    .command('docs')
    .description('list, show and delete documents of a collection')
    .addHelpText(
      'after',
      examples(
        'sheaf docs list -c notes',
        'sheaf docs show guide.md -c notes',
        'sheaf docs chunks guide.md -c notes',
        'sheaf docs delete guide.md old.md -c notes',
        'sheaf docs delete --filter lang=en --filter "year<2000" --dry-run -c notes',
      ),
    );
  withTarget(docs.command('list', { isDefault: true }))
    .description('list documents by id, with version, number of chunks and time')
    .option('-n, --limit <n>', 'maximum number of documents; default: all', integerBetween(1, LIMIT_MAX))
    .option('--json', 'print one document per line, as JSON')
    .action((flags: JsonFlags & { limit?: number }) =>
      listDocuments(targetOf(flags, env), { limit: flags.limit ?? Infinity, json: flags.json === true }, output),
    );
  withTarget(docs.command('show').argument('<docid>'))
    .description('show the metadata of a document, as JSON')
    .action((docid: string, flags: TargetFlags) => showDocument(targetOf(flags, env), docid, output));
  withTarget(docs.command('chunks').argument('<docid>'))
    .description('list the chunks of a document with their texts')
    .option('--json', 'print one chunk per line, as JSON')
    .action((docid: string, flags: JsonFlags) => showChunks(targetOf(flags, env), docid, flags.json === true, output));
  withTarget(docs.command('delete').argument('[docid...]'))
    .description('delete documents by id or by metadata; exit code 1 if one did not exist')
    .option('--filter <field=value>', 'documents whose metadata match; as in sheaf search', filterWord)
    .option('--filters <json>', 'filters as in a request body; {} with --all for every document', jsonObject)
    .option('--all', 'filters without a condition are meant')
    .option('--dry-run', 'only count the documents that match the filters')
    .action(async (docids: string[], { filter, filters, all, dryRun, ...flags }: TargetFlags & SelectionFlags) => {
      const both = filter && filters ? { $and: [filter, filters] } : (filter ?? filters);
      if ((docids.length === 0) === (both === undefined)) throw new UsageError('Give either document ids or a filter.');
      if (both) await deleteMatching(targetOf(flags, env), { filters: both, all, dry_run: dryRun }, output);
      else if (dryRun || all) throw new UsageError('--all and --dry-run go with --filter and --filters.');
      else ended(await deleteDocuments(targetOf(flags, env), docids, output));
    });
}

/** Prints lines as they arrive, because a collection may have millions of documents. */
async function listDocuments(
  target: Target,
  { limit, json }: { limit: number; json: boolean },
  output: Output,
): Promise<void> {
  const { client, tenant, collection } = target;
  const { stdout, stderr } = output;
  let listed = 0;
  for await (const document of client.eachDocument(tenant, collection)) {
    const { docid, version, chunk_count: chunks, ingested_at: at } = document;
    line(
      stdout,
      json ? JSON.stringify(document) : `${at}  v${version}  ${String(chunks).padStart(6)}  ${oneLine(docid)}`,
    );
    if (++listed >= limit || stdout.isClosed) break;
  }
  if (listed > 0) return;
  line(stderr, `${tenant}/${collection} has no documents.`);
  await tellMissing(target, output);
}

async function showDocument({ client, tenant, collection }: Target, docid: string, { stdout }: Output): Promise<void> {
  const document = ownFields(await client.getDocument(tenant, collection, docid));
  line(stdout, JSON.stringify(document, null, 2));
}

/** Throws SheafNotFound if the document does not exist. */
async function showChunks(target: Target, docid: string, json: boolean, { stdout }: Output): Promise<void> {
  const { client, tenant, collection } = target;
  await client.getDocument(tenant, collection, docid);
  for await (const chunk of client.eachChunk(tenant, collection, docid)) {
    const text = await contentOf(target, chunk.rid);
    line(
      stdout,
      json
        ? JSON.stringify({ ...chunk, text })
        : `${chunk.chunk_path}  ${text === undefined ? '(a vector without text)' : oneLine(text)}`,
    );
    if (stdout.isClosed) break;
  }
}

async function contentOf({ client, tenant, collection }: Target, rid: string): Promise<string | undefined> {
  try {
    return await client.chunkContent(tenant, collection, rid);
  } catch (error) {
    if (error instanceof SheafError && error.code === 'chunk_content_not_found') return undefined;
    throw error;
  }
}

/** Exit code: 1 if a document did not exist. */
async function deleteDocuments(
  { client, tenant, collection }: Target,
  docids: readonly string[],
  { stdout, stderr }: Output,
): Promise<number> {
  // Validates all ids before the first deletion.
  encodePath(docids);
  let missing = 0;
  for (const docid of docids) {
    const { chunks_deleted: chunks } = await client.deleteDocument(tenant, collection, docid);
    if (chunks === 0) missing += 1;
    line(
      chunks === 0 ? stderr : stdout,
      chunks === 0
        ? `${oneLine(docid)} does not exist.`
        : `${oneLine(docid)} is deleted, with ${count(chunks, 'chunk')}.`,
    );
  }
  return missing > 0 ? EXIT.failed : EXIT.done;
}

async function deleteMatching(
  { client, tenant, collection }: Target,
  body: DeleteDocumentsBody,
  { stdout }: Output,
): Promise<void> {
  const { documents, chunks, dry_run: isDryRun } = await client.deleteDocuments(tenant, collection, body);
  const what = `${count(documents, 'document')} with ${count(chunks, 'chunk')}`;
  line(stdout, isDryRun ? `${what} would be deleted.` : `${what} deleted.`);
}
