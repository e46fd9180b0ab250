// `sheaf docs`: list, show, change and delete the documents of a collection, and show their chunks.
import { InvalidArgumentError } from 'commander';
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
    .description('list, show, change and delete documents of a collection')
    .addHelpText(
      'after',
      examples(
        'sheaf docs list -c notes',
        'sheaf docs show guide.md -c notes',
        'sheaf docs chunks guide.md -c notes',
        'sheaf docs patch guide.md --set lang=fr --unset draft -c notes',
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
  withTarget(docs.command('patch').argument('[docid...]'))
    .description('change the metadata or the expiry of documents, by id or by metadata')
    .option('--set <field=value>', 'field to set; a number, true, false and JSON keep their type', setField)
    .option('--unset <field>', 'field to remove', (field: string, before: Fields = {}) => ({
      ...before,
      [field]: null,
    }))
    .option('--metadata <json>', 'fields to set, as in a request body', jsonObject)
    .option('--replace', 'the fields take the place of all metadata')
    .option('--expires-at <time>', 'ISO time or seconds since 1970 at which they are gone; never: they stay')
    .option('--if-version <n>', 'only if the document has this version', integerBetween(1, LIMIT_MAX))
    .option('--filter <field=value>', 'documents whose metadata match; as in sheaf search', filterWord)
    .option('--filters <json>', 'filters as in a request body; {} with --all for every document', jsonObject)
    .option('--all', 'filters without a condition are meant')
    .option('--dry-run', 'only count the documents')
    .action((docids: string[], flags: TargetFlags & SelectionFlags & PatchFlags) =>
      patchDocuments(targetOf(flags, env), docids, flags, output),
    );
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

type Fields = Record<string, unknown>;

interface PatchFlags {
  set?: Fields;
  unset?: Fields;
  metadata?: Fields;
  replace?: true;
  expiresAt?: string;
  ifVersion?: number;
}

/** Adds `field=value` to the fields before it. What is no JSON is a text. */
function setField(word: string, before: Fields = {}): Fields {
  const at = word.indexOf('=');
  if (at < 1) throw new InvalidArgumentError('Use FIELD=VALUE.');
  const text = word.slice(at + 1);
  let value: unknown = text;
  try {
    value = JSON.parse(text);
  } catch {
    // A text.
  }
  return { ...before, [word.slice(0, at)]: value };
}

async function patchDocuments(
  { client, tenant, collection }: Target,
  docids: readonly string[],
  { set, unset, metadata, replace, expiresAt, ifVersion, filter, filters, all, dryRun }: SelectionFlags & PatchFlags,
  { stdout }: Output,
): Promise<void> {
  const both = filter && filters ? { $and: [filter, filters] } : (filter ?? filters);
  if ((docids.length === 0) === (both === undefined)) throw new UsageError('Give either document ids or a filter.');
  const fields = set || unset || metadata ? { ...metadata, ...set, ...unset } : undefined;
  const expires_at = expiresAt !== undefined && /^\d+$/.test(expiresAt) ? Number(expiresAt) : expiresAt;
  if (!fields && expires_at === undefined)
    throw new UsageError('Say what to change: --set, --unset, --metadata or --expires-at.');
  const change = { metadata: fields, replace, expires_at };
  const [docid] = docids;
  if (docid !== undefined && docids.length === 1 && !dryRun) {
    const { version } = await client.patchDocument(tenant, collection, docid, { ...change, if_version: ifVersion });
    return line(stdout, `${oneLine(docid)} has version ${version} now.`);
  }
  if (ifVersion !== undefined) throw new UsageError('--if-version goes with one document id.');
  const aim = both ? { filters: both, all } : { docids: [...docids] };
  const { documents, dry_run: isDryRun } = await client.patchDocuments(tenant, collection, {
    ...change,
    ...aim,
    dry_run: dryRun,
  });
  line(stdout, `${count(documents, 'document')} ${isDryRun ? 'would be changed' : 'changed'}.`);
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
