// Who may import whom: a file sees its own folder and those of lower rank, and no import leads back to where it
// started. RANKS is the one place where the order of the folders is written down; a new folder gets its rank here.
import { importsOf, resolve, type Import } from './imports.js';
import type { SourceFile } from './project.js';

/** Folders of src. Equal ranks do not see each other. Files in src itself compose the rest; nothing imports main.ts. */
const RANKS: Readonly<Record<string, number>> = {
  base: 0,
  contract: 1,
  client: 1,
  rank: 2,
  text: 2,
  ui: 2,
  pool: 3,
  store: 3,
  archive: 3,
  tenants: 4,
  embedding: 4,
  jobs: 5,
  service: 6,
  http: 7,
  '': 8,
  cli: 9,
};
const MAIN_RANK = 10;
/**
 * Nothing but constants, of which a bundler takes those that are used: the console shows the same bounds that the
 * server checks.
 */
const CONSTANTS: ReadonlySet<string> = new Set(['src/contract/limits.ts', 'src/contract/language.ts']);
const WORKERS_SEE = ['base', 'contract', 'text', 'store', 'rank', 'archive'];
/** The search workers read what the shard workers write, by the same code. */
const SEEN_BY_WORKERS: Readonly<Record<string, string>> = { search: 'shard' };

export function rankComplaints(files: readonly SourceFile[]): string[] {
  return files.flatMap((file) =>
    importsOf(file).flatMap((found) => {
      if (!found.specifier.startsWith('.')) return [];
      const why = refusal(file.path, resolve(file, found.specifier), found);
      return why === undefined ? [] : [`${found.at} imports ${found.specifier}: ${why}`];
    }),
  );
}

function refusal(from: string, to: string, { typeOnly }: Import): string | undefined {
  const [fromTop, toTop] = [topOf(from), topOf(to)];
  if (fromTop === 'workers') return workerRefusal(from, to);
  if (fromTop !== 'src') return undefined;
  if (toTop !== 'src') return `src knows nothing of ${toTop}; what both need belongs in src/contract`;
  const [folder, target] = [folderOf(from), folderOf(to)];
  if (folder === 'ui' && CONSTANTS.has(to)) return undefined;
  if ((folder === 'client' || folder === 'ui') && target === 'contract')
    return typeOnly
      ? undefined
      : `the ${folder === 'ui' ? 'console' : folder} takes only types from src/contract: use import type`;
  const [rank, targetRank] = [rankOf(from), rankOf(to)];
  if (rank === undefined || targetRank === undefined)
    return `src/${rank === undefined ? folder : target} has no rank: give it one in test/kit/tidy/ranks.ts`;
  if (folder === target && targetRank !== MAIN_RANK) return undefined;
  return rank > targetRank
    ? undefined
    : `rank ${rank} sees only lower ranks, and this is rank ${targetRank}: move the shared part down or pass it as an argument`;
}

function workerRefusal(from: string, to: string): string | undefined {
  if (topOf(to) === 'workers') {
    return folderOf(from) === folderOf(to) || SEEN_BY_WORKERS[folderOf(from)] === folderOf(to)
      ? undefined
      : 'workers do not see each other: what both need belongs in src/contract, src/text or src/base';
  }
  return topOf(to) === 'src' && WORKERS_SEE.includes(folderOf(to))
    ? undefined
    : `workers see only their own folder and src/{${WORKERS_SEE.join(',')}}`;
}

const topOf = (path: string): string => path.split('/')[0] as string;
const folderOf = (path: string): string => (path.split('/').length > 2 ? (path.split('/')[1] as string) : '');
const rankOf = (path: string): number | undefined => (path === 'src/main.ts' ? MAIN_RANK : RANKS[folderOf(path)]);

/** Import cycles, each once, as the files on it. */
export function cycleComplaints(files: readonly SourceFile[]): string[] {
  const targets = new Map(
    files.map((file) => [
      file.path,
      importsOf(file)
        .filter(({ specifier }) => specifier.startsWith('.'))
        .map(({ specifier }) => resolve(file, specifier)),
    ]),
  );
  const done = new Set<string>();
  const complaints: string[] = [];
  const visit = (path: string, trail: readonly string[]): void => {
    const start = trail.indexOf(path);
    if (start >= 0)
      complaints.push(
        `import cycle: ${[...trail.slice(start), path].join(' -> ')}; move what they share to a file of its own`,
      );
    if (start >= 0 || done.has(path)) return;
    for (const target of targets.get(path) ?? []) visit(target, [...trail, path]);
    done.add(path);
  };
  for (const path of targets.keys()) visit(path, []);
  return complaints;
}
