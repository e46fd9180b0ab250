// `sheaf demo`: a tour on real text that every checkout has. Ingests each README.md below node_modules and runs five
// searches. Called by ingest-commands.ts, in the process of the command line.
import { stat } from 'node:fs/promises';
import { UsageError } from './explain-error.js';
import { compileGlob } from './glob.js';
import { ingest } from './ingest.js';
import { line, type Output } from './output.js';
import { showHits } from './show-hits.js';
import type { Target } from './target.js';

const DEMO_QUERIES: readonly string[] = [
  'progress bar for the terminal',
  'run heavy computations on worker threads',
  'convert text between character encodings',
  'compare version numbers of packages',
  'read command line arguments',
];
const HITS_EACH = 3;

/** Exit code as of `ingest`. Throws UsageError where `folder` is missing. */
export async function demo(target: Target, folder: string, concurrency: number, output: Output): Promise<number> {
  await target.client.health();
  const folderExists = await stat(folder).then(
    (stats) => stats.isDirectory(),
    () => false,
  );
  if (!folderExists)
    throw new UsageError(
      `There is no folder ${folder} here. Run the demo in the project's folder, or name a folder of README.md files.`,
    );
  const code = await ingest(
    target,
    { roots: [folder], accepts: compileGlob('README.md'), skipFolders: new Set(), concurrency },
    output,
  );
  if (code !== 0) return code;
  for (const query of DEMO_QUERIES) {
    const { matches } = await target.client.search(target.tenant, target.collection, { q: query, k: HITS_EACH });
    line(output.stdout, `\nsheaf search --collection ${target.collection} "${query}"`);
    line(output.stdout, showHits(matches, query));
  }
  return 0;
}
