// Fetches an embedding model from the hub: npm run model -- sentence-transformers/all-MiniLM-L6-v2
// For users with a network; the server itself fetches nothing. Ends with the lines that use the folder. Run again after
// an interruption, it goes on where it was; run once more, it checks what is there. Exits 1 with one line that names
// the remedy.
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { program } from 'commander';
import { chooseGraph } from './model/choose-files.mjs';
import { fetchModel } from './model/fetch-model.mjs';
import { openHub } from './model/hub.mjs';
import { withLock } from './lock.mjs';
import { startProgress } from './model/progress.mjs';
import { Fault, Refusal, Transient } from './model/faults.mjs';
import { usageLines } from './model/usage.mjs';

const say = (line) => console.log(line);

/** The exit codes that shells expect of what a signal ended. */
const SIGNALS = { SIGINT: 130, SIGTERM: 143 };

/** Fails when the user stops the program, so that what is under way ends as with any other failure. */
function interruption() {
  return new Promise((_, reject) => {
    for (const [signal, status] of Object.entries(SIGNALS)) {
      process.once(signal, () =>
        reject(new Fault('stopped: run the command again, and it goes on where it was', status)),
      );
    }
  });
}

async function run(name, { to, revision, file }) {
  if (!/^\w[\w.-]*(\/\w[\w.-]*)?$/.test(name))
    throw new Refusal(`${name} is no name of a model: one is like sentence-transformers/all-MiniLM-L6-v2`);
  const folder = to ?? join('models', name);
  const progress = startProgress(process.stderr);
  const hub = openHub(process.env, progress.note);
  const listing = await hub.list(name, revision);
  const graph = chooseGraph(listing, file);
  mkdirSync(folder, { recursive: true });
  await withLock(join(folder, '.lock'), say, async () => {
    try {
      await Promise.race([interruption(), fetchModel({ hub, listing, graph, folder, say, progress })]);
    } finally {
      progress.stop();
    }
  });
  say(`${folder} is complete, every file checked\n`);
  usageLines(folder, graph).forEach(say);
}

/** What can be said of a failure in one line; anything else is a fault of this program, and keeps its trace. */
function tell(error) {
  if (error instanceof Transient) return `${error.message}: run the command again, and it goes on where it was`;
  if (error instanceof Fault) return error.message;
  if (error.code === 'ENOSPC')
    return `the disk is full (${error.path ?? error.syscall}): make room and run the command again, and it goes on where it was`;
  return error.syscall ? `${error.path ?? error.syscall}: ${error.code}` : error.stack;
}

program
  .name('npm run model --')
  .description('Fetches an embedding model with an ONNX graph from the hub and checks every byte of it.')
  .argument('<name>', 'name of the model, such as sentence-transformers/all-MiniLM-L6-v2')
  .option('--to <folder>', 'where it goes (default: models/<name>)')
  .option('--revision <revision>', 'branch, tag or commit', 'main')
  .option('--file <path>', 'the graph, such as onnx/model_quantized.onnx (default: onnx/model.onnx, else model.onnx)')
  .addHelpText('after', '\nHF_TOKEN is the token for private models, HF_ENDPOINT the address of another hub.')
  .action(run);

try {
  await program.parseAsync();
} catch (error) {
  console.error(`model: ${tell(error)}`);
  process.exit(error.status ?? 1); // A download may still be under way.
}
