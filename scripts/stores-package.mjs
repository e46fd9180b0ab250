// Builds the package `sheaf-stores` (clients/stores), against the types of the client as it is built.
import { spawnSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const folder = join(root, 'clients', 'stores');
rmSync(join(folder, 'dist'), { recursive: true, force: true });
const compiler = join(root, 'node_modules', 'typescript', 'bin', 'tsc');
const { status } = spawnSync(process.execPath, [compiler, '-p', folder], { stdio: ['ignore', 2, 2] });
process.exitCode = status ?? 1;
