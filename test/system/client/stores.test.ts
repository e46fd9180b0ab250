// The package `sheaf-stores` as another project installs it, with the real LangChain and LlamaIndex, against a real server.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { before, test } from 'node:test';
import { promisify } from 'node:util';
import { startTestServer } from '../../kit/server.js';
import { tempDirectory } from '../../kit/temp.js';

const run = promisify(execFile);
const project = tempDirectory();

/** Packs a package of the repository, and puts it in place as npm does. */
async function install(folder: string, name: string): Promise<void> {
  const packed = tempDirectory();
  await run('npm', ['pack', '--loglevel=error', '--pack-destination', packed], { cwd: folder });
  const [file] = readdirSync(packed);
  const installed = join(project, 'node_modules', name);
  mkdirSync(installed, { recursive: true });
  await run('tar', ['-xzf', join(packed, file as string), '-C', installed, '--strip-components=1']);
}

before(async () => {
  await install('clients/typescript', 'sheaf-client');
  await install('clients/stores', 'sheaf-stores');
  for (const name of ['@langchain', '@llamaindex'])
    symlinkSync(resolve('node_modules', name), join(project, 'node_modules', name));
  writeFileSync(join(project, 'package.json'), '{ "type": "module" }');
});

async function runProgram(program: string): Promise<unknown> {
  const { url } = await startTestServer();
  writeFileSync(join(project, 'program.js'), program);
  const { stdout } = await run(process.execPath, ['program.js', url], { cwd: project });
  return JSON.parse(stdout);
}

test('LangChain: add, search, filters, vectors, MMR, retrievers, delete', async () => {
  const told = await runProgram(`
    import { Document } from '@langchain/core/documents';
    import { SheafClient } from 'sheaf-client';
    import { SheafEmbeddings, SheafVectorStore } from 'sheaf-stores/langchain';

    const client = new SheafClient({ url: process.argv[2] });
    const documents = [
      new Document({ id: 'nemo', pageContent: 'Captain Nemo commands the Nautilus.', metadata: { year: 1870 } }),
      new Document({ id: 'ahab', pageContent: 'Captain Ahab hunts the white whale.', metadata: { year: 1851 } }),
      new Document({ id: 'bread', pageContent: 'Bread rises in a warm oven.', metadata: { year: 1900 } }),
    ];
    const store = await SheafVectorStore.ofDocuments(documents, { client, collection: 'docs' });
    const ids = (found) => found.map(({ id }) => id);
    const [[first, score]] = await store.similaritySearchWithScore('the captain of the Nautilus', 1);
    const [vector] = await new SheafEmbeddings(client).embedDocuments(['a white whale']);
    const refused = await store.addDocuments([new Document({ id: 'x'.repeat(5000), pageContent: 'x' })]).catch(({ message }) => message);
    const told = {
      first: [first.id, first.pageContent, first.metadata.year, score > 0.3],
      filtered: ids(await store.similaritySearch('captain', 3, { year: { $lt: 1860 } })),
      byVector: ids((await store.similaritySearchVectorWithScore(vector, 1)).map(([document]) => document)),
      diverse: ids(await store.maxMarginalRelevanceSearch('captain', { k: 2, fetchK: 3, lambda: 0 })).length,
      retrieved: ids(await store.asRetriever({ k: 1, filter: { year: 1900 } }).invoke('captain')),
      hybrid: ids(await new SheafVectorStore({ client, collection: 'docs', search: { mode: 'hybrid' } }).similaritySearch('oven', 1)),
      again: await store.addDocuments([{ ...first, pageContent: 'Nemo again.' }]),
      refused: /^document x+: /.test(refused),
    };
    await store.delete({ ids: ['ahab'] });
    await store.delete({ filter: { year: 1900 } });
    console.log(JSON.stringify({ ...told, left: (await store.similaritySearch('captain', 5)).map(({ id, pageContent }) => [id, pageContent]) }));
  `);
  assert.deepEqual(told, {
    first: ['nemo', 'Captain Nemo commands the Nautilus.', 1870, true],
    filtered: ['ahab'],
    byVector: ['ahab'],
    diverse: 2,
    retrieved: ['bread'],
    hybrid: ['bread'],
    again: ['nemo'],
    refused: true,
    left: [['nemo', 'Nemo again.']],
  });
});

test('LlamaIndex: nodes, filters, modes, documents, delete', async () => {
  const told = await runProgram(`
    import { NodeRelationship, TextNode } from '@llamaindex/core/schema';
    import { VectorStoreQueryMode } from '@llamaindex/core/vector-store';
    import { SheafClient } from 'sheaf-client';
    import { SheafEmbedding, SheafVectorStore } from 'sheaf-stores/llamaindex';

    const client = new SheafClient({ url: process.argv[2] });
    const store = new SheafVectorStore({ client, collection: 'nodes' });
    const nodes = [0, 1, 2, 3, 4].map((n) => new TextNode({
      id_: 'n' + n, text: 'The whale number ' + n + '.', metadata: { n },
      relationships: { [NodeRelationship.SOURCE]: { nodeId: n < 2 ? 'early' : 'late', metadata: {} } },
    }));
    const added = await store.add(nodes);
    const query = async (fields) => (await store.query({ similarityTopK: 5, mode: VectorStoreQueryMode.DEFAULT, ...fields })).ids;
    const where = async (operator, value) => (await store.getNodes({ filters: [{ key: 'n', operator, value }] })).map(({ id_ }) => id_);
    const best = await store.query({ queryStr: 'whale number 3', similarityTopK: 1, mode: VectorStoreQueryMode.DEFAULT });
    const [vector] = await new SheafEmbedding(client).getTextEmbeddings(['whale number 3']);
    const told = {
      added,
      best: [best.ids[0], best.nodes[0].getText(), best.nodes[0].metadata, best.nodes[0].sourceNode.nodeId],
      byVector: (await query({ queryEmbedding: vector }))[0],
      hybrid: (await query({ queryStr: 'number 2', mode: VectorStoreQueryMode.HYBRID }))[0],
      diverse: (await query({ queryStr: 'whale', mode: VectorStoreQueryMode.MMR, similarityTopK: 2 })).length,
      ofDocument: (await query({ queryStr: 'whale', docIds: ['early'] })).sort(),
      either: (await query({ queryStr: 'whale', filters: { condition: 'or', filters: [
        { key: 'n', operator: '==', value: 0 }, { key: 'n', operator: '>', value: 3 } ] } })).sort(),
      filters: [await where('!=', 2), await where('<=', 1), await where('in', [0, 4]), await where('nin', [0, 4]), await where('is_empty')],
      refused: await query({ queryStr: 'x', mode: VectorStoreQueryMode.SVM }).catch(({ message }) => message),
    };
    await store.delete('late');
    const left = (await store.getNodes()).map(({ id_ }) => id_);
    await store.clear();
    console.log(JSON.stringify({ ...told, left, cleared: (await store.getNodes()).length }));
  `);
  assert.deepEqual(told, {
    added: ['n0', 'n1', 'n2', 'n3', 'n4'],
    best: ['n3', 'The whale number 3.', { n: 3 }, 'late'],
    byVector: 'n3',
    hybrid: 'n2',
    diverse: 2,
    ofDocument: ['n0', 'n1'],
    either: ['n0', 'n4'],
    filters: [['n0', 'n1', 'n3', 'n4'], ['n0', 'n1'], ['n0', 'n4'], ['n1', 'n2', 'n3'], []],
    refused: 'Sheaf has no search for the mode svm',
    left: ['n0', 'n1'],
    cleared: 0,
  });
});
