// Downloads an embedding model from the model hub: npm run model -- sentence-transformers/all-MiniLM-L6-v2
// This is for users with a network connection; the server itself downloads nothing. The program ends with the settings
// that use the folder. Run again after an interruption, it resumes; run again later, it checks the files. Exits 1 with
// one line that names the remedy.
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

/** The exit codes that shells expect of a program that a signal ended. */
const SIGNALS = { SIGINT: 130, SIGTERM: 143 };

/** Rejects when the user stops the program, so that the download ends as with any other failure. */
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

/**
 * One line for the user about an expected failure; the stack trace for anything else, which is a bug of this program.
 */
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
  process.exit(error.status ?? 1); // A download may still be running.
}
