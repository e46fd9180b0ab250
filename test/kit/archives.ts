// Downloads, changes and restores archives over HTTP, and reads the contents of a collection through the API so that
// two collections can be compared.
import { createHash } from 'node:crypto';
import JSZip from 'jszip';
import { Packr } from 'msgpackr';
import { fileForm, type Answer, type TestServer } from './server.js';

type Caller = Pick<TestServer, 'url' | 'call'>;

export interface Downloaded {
  status: number;
  headers: Headers;
  bytes: Uint8Array;
}

export async function download(
  { url }: Pick<TestServer, 'url'>,
  path: string,
  headers: Record<string, string> = {},
): Promise<Downloaded> {
  const response = await fetch(url + path, { headers });
  return { status: response.status, headers: response.headers, bytes: new Uint8Array(await response.arrayBuffer()) };
}

export const upload = (
  { call }: Pick<TestServer, 'call'>,
  method: 'POST' | 'PUT',
  path: string,
  bytes: Uint8Array,
  headers: Record<string, string> = {},
): Promise<Answer> => call(method, path, fileForm('archive.zip', bytes), headers);

/**
 * Everything that can be read of a collection, without its name and without the fields that differ between two
 * collections of the same contents.
 */
export async function contentsOf(server: Caller, tenant: string, name: string): Promise<unknown> {
  const base = `/v1/collections/${tenant}/${name}`;
  const { json: detail } = await server.call('GET', `${base}/detail`);
  const { json: listing } = await server.call('GET', `${base}/documents`);
  const documents = [];
  for (const { docid } of listing.documents) documents.push(await documentOf(server, base, docid));
  const { json: queries } = await server.call('GET', `${base}/queries?limit=500`);
  const {
    ok: _ok,
    latency_ms: _latency,
    request_id: _request,
    memory: _memory,
    tenant: _tenant,
    name: _name,
    display_name: _label,
    partitions: _partitions,
    ...settings
  } = detail;
  return { settings, documents, queries: queries.queries };
}

async function documentOf(server: Caller, base: string, docid: string): Promise<unknown> {
  const at = encodeURIComponent(docid);
  const [{ json: document }, { json: chunks }] = await Promise.all([
    server.call('GET', `${base}/documents/${at}`),
    server.call('GET', `${base}/documents/${at}/chunks`),
  ]);
  const texts = [];
  for (const { rid } of chunks.chunks)
    texts.push((await server.call('GET', `${base}/chunks/${encodeURIComponent(rid)}/content`)).text.slice(0, 2000));
  const { version, ingested_at, metadata, chunk_ids, expires_at } = document;
  return {
    docid,
    version,
    ingested_at,
    metadata,
    ...(expires_at && { expires_at }),
    chunk_ids,
    chunks: chunks.chunks,
    texts: texts.map((text) => (text.startsWith('{"ok":false') ? null : text)),
  };
}

/** Unpacks the archive with another zip library, applies `change`, and packs it again. */
export async function rewritten(
  archive: Uint8Array,
  change: (zip: JSZip) => void | Promise<void>,
): Promise<Uint8Array> {
  const zip = await JSZip.loadAsync(archive);
  await change(zip);
  return zip.generateAsync({ type: 'uint8array', compression: 'STORE' });
}

const packr = new Packr({ useRecords: false });

/** The archive with a changed manifest. */
export const withManifest = (
  archive: Uint8Array,
  change: (manifest: Record<string, any>) => unknown,
): Promise<Uint8Array> =>
  rewritten(archive, async (zip) => {
    const manifest = await manifestIn(zip);
    change(manifest);
    zip.file('manifest.json', JSON.stringify(manifest));
  });

/** The archive with other records in a segment, and a manifest whose counts and checksums match them. */
export const withRecords = (
  archive: Uint8Array,
  segment: string,
  change: (records: Record<string, any>[]) => unknown[],
): Promise<Uint8Array> =>
  rewritten(archive, async (zip) => {
    const records = packr.unpackMultiple(await (zip.file(segment) as JSZip.JSZipObject).async('nodebuffer')) as Record<
      string,
      any
    >[];
    const bytes = Buffer.concat(change(records).map((record) => packr.pack(record)));
    const manifest = await manifestIn(zip);
    const entry = manifest.entries.find(({ name }: { name: string }) => name === segment);
    Object.assign(entry, { bytes: bytes.length, sha256: createHash('sha256').update(bytes).digest('hex') });
    zip.file(segment, bytes);
    zip.file('manifest.json', JSON.stringify(manifest));
  });

export const manifestOf = async (archive: Uint8Array): Promise<Record<string, any>> =>
  manifestIn(await JSZip.loadAsync(archive));

async function manifestIn(zip: JSZip): Promise<Record<string, any>> {
  return JSON.parse(await (zip.file('manifest.json') as JSZip.JSZipObject).async('string')) as Record<string, any>;
}
