// Files that nothing uses. What is shipped must be reached from what runs (the entry point, a worker, a load program, a
// script): being tested is not being used. Everything else must be reached from something that runs or from a test.
import { importsOf, resolve, urlsOf } from './imports.js';
import type { SourceFile } from './project.js';

const ENTRIES = [
  /^src\/main\.ts$/,
  /^src\/ui\/main\.tsx$/,
  /^workers\/[^/]+\/worker\.ts$/,
  /^workers\/[^/]+\/assembly\/index\.ts$/,
  /^src\/base\/assembly\/[^/]+\.ts$/,
  /^load\/[^/]+\.ts$/,
  /^scripts\/[^/]+\.mjs$/,
];
/** Tests, and declarations, which the compiler finds by itself. */
const TESTS = /^test\/.*\.test\.ts$|\.d\.ts$/;

export function orphanComplaints(files: readonly SourceFile[]): string[] {
  const run = reached(files, (path) => ENTRIES.some((entry) => entry.test(path)));
  const used = reached(files, (path) => TESTS.test(path) || run.has(path));
  return files.flatMap(({ path }) => {
    const shipped = /^(src|workers)\//.test(path);
    if ((shipped ? run : used).has(path)) return [];
    return [
      shipped && used.has(path)
        ? `${path} is used by tests only: use it, delete it or move it below test/`
        : `${path} is used by nothing: use it or delete it`,
    ];
  });
}

/** Every file reached by imports from those that `isEntry` names. */
function reached(files: readonly SourceFile[], isEntry: (path: string) => boolean): Set<string> {
  const byPath = new Map(files.map((file) => [file.path, file]));
  const found = new Set<string>();
  const pending = files.filter(({ path }) => isEntry(path));
  for (let file = pending.pop(); file; file = pending.pop()) {
    if (found.has(file.path)) continue;
    found.add(file.path);
    for (const specifier of [...importsOf(file).map((each) => each.specifier), ...urlsOf(file)]) {
      const target = specifier.startsWith('.') ? byPath.get(resolve(file, specifier)) : undefined;
      if (target) pending.push(target);
    }
  }
  return found;
}
