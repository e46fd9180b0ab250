// Builds the pages of /docs: docs/**/*.md, CHANGELOG.md and CONTRIBUTING.md become HTML with a list of all pages beside
// them, so that the server needs no Markdown parser. Links between pages become relative addresses, since a proxy may
// serve the server below a path; links to files that are not served become plain text. Each page also has a form
// compressed by brotli. `node scripts/docs-pages.mjs FOLDER` builds the pages alone.
import { createHash } from 'node:crypto';
import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, normalize, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync, constants } from 'node:zlib';

const STYLE = 'scripts/docs-pages.css';
const INDEX = 'index';
/** Pages outside docs/, by their address below /docs. */
const TOP_PAGES = { 'CHANGELOG.md': 'changelog', 'CONTRIBUTING.md': 'contributing' };
/** The titles of sections by folder of docs/; '' holds the pages outside of any section. */
const SECTIONS = {
  guide: 'Guide',
  operations: 'Operations',
  reference: 'Reference',
  internals: 'Internals',
  '': 'More',
};

/** Empties a folder and writes the pages into it. Returns `inputs`, the files that they were made of. */
export async function buildDocs(root, folder) {
  // Packages are imported here, not at the top: setup starts before packages are installed.
  const [{ Marked }, { default: Slugger }] = await Promise.all([import('marked'), import('github-slugger')]);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const pages = listPages(root);
  const style = readFileSync(join(root, STYLE));
  const styleName = `style-${createHash('sha256').update(style).digest('hex').slice(0, 8)}.css`;
  const site = { pages, styleName, version: JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')).version };
  write(folder, styleName, style);
  write(folder, `${INDEX}.html`, wholePage(site, INDEX, 'Documentation', indexOf(pages)));
  const pictures = new Set();
  for (const page of pages) {
    const html = render(new Marked(), new Slugger(), page, { root, pages, pictures });
    write(folder, `${page.address}.html`, wholePage(site, page.address, page.title, html));
  }
  for (const picture of pictures) copyPicture(root, picture, folder);
  const folders = [
    'docs',
    ...Object.keys(SECTIONS)
      .filter(Boolean)
      .map((name) => `docs/${name}`),
  ];
  const read = [...pages.map(({ path }) => path), ...pictures, STYLE, 'README.md', 'package.json'];
  return { inputs: [...read, ...folders.filter((path) => existsSync(join(root, path)))].sort() };
}

/**
 * The pages, in the order of the README's table of pages, then by name. `address` is the path below /docs, without
 * extension.
 */
function listPages(root) {
  const paths = [
    'docs',
    ...Object.keys(SECTIONS)
      .filter(Boolean)
      .map((name) => `docs/${name}`),
  ]
    .filter((path) => existsSync(join(root, path)))
    .flatMap((path) => readdirSync(join(root, path)).map((name) => `${path}/${name}`))
    .filter((path) => path.endsWith('.md'));
  const readme = existsSync(join(root, 'README.md')) ? readFileSync(join(root, 'README.md'), 'utf8') : '';
  const named = Array.from(
    readme.slice(readme.indexOf('## Documentation')).matchAll(/\]\(([^)#]+\.md)/g),
    ([, path]) => path,
  );
  const placeOf = (path) => (named.includes(path) ? named.indexOf(path) : named.length);
  paths.sort((a, b) => placeOf(a) - placeOf(b) || (a < b ? -1 : 1));
  const top = Object.keys(TOP_PAGES).filter((path) => existsSync(join(root, path)));
  return [...paths, ...top].map((path) => {
    const text = readFileSync(join(root, path), 'utf8');
    const address = TOP_PAGES[path] ?? path.slice('docs/'.length, -'.md'.length);
    return { path, address, section: address.includes('/') ? dirname(address) : '', title: titleOf(text, path), text };
  });
}

function titleOf(text, path) {
  const title = /^# (.+)$/m.exec(text)?.[1];
  if (title === undefined) throw new Error(`${path} has no title`);
  return title;
}

/** The HTML of a page's Markdown. */
function render(marked, slugger, page, site) {
  marked.use({
    renderer: {
      heading({ tokens, depth }) {
        const id = slugger.slug(tokens.map(({ text, raw }) => text ?? raw).join(''));
        return `<h${depth} id="${id}">${this.parser.parseInline(tokens)}</h${depth}>\n`;
      },
      link({ href, tokens }) {
        const inner = this.parser.parseInline(tokens);
        const target = targetOf(href, page, site);
        return target === undefined ? inner : `<a href="${escaped(target)}">${inner}</a>`;
      },
      image({ href, text }) {
        const path = normalize(join(dirname(page.path), href));
        site.pictures.add(path);
        const target = addressFrom(page.address, path.slice('docs/'.length));
        return `<img src="${escaped(target)}" alt="${escaped(text)}" loading="lazy">`;
      },
      code({ text, lang }) {
        const language = lang ? ` class="language-${escaped(lang.split(/\s/)[0])}"` : '';
        return `<pre tabindex="0"><code${language}>${escaped(text)}\n</code></pre>\n`;
      },
    },
  });
  const html = marked.parse(page.text);
  return html.replaceAll('<table>', '<div class="table" tabindex="0"><table>').replaceAll('</table>', '</table></div>');
}

/** The address of a link's target relative to a page; undefined for a file that is not served. */
function targetOf(href, page, { pages }) {
  if (/^[a-z]+:|^#/.test(href)) return href;
  const [path, fragment] = href.split('#');
  const target = pages.find((other) => other.path === normalize(join(dirname(page.path), path)));
  if (target === undefined) return undefined;
  return `${addressFrom(page.address, target.address)}${fragment === undefined ? '' : `#${fragment}`}`;
}

/** One address below /docs relative to another. Browsers resolve a relative address against the page's folder. */
const addressFrom = (from, to) => relative(dirname(from), to);

function indexOf(pages) {
  const lists = sectionsOf(pages).map(
    ([name, inside]) =>
      `<h2>${name}</h2>\n<ul>\n${inside.map(({ address, title }) => `<li><a href="${address}">${escaped(title)}</a></li>`).join('\n')}\n</ul>`,
  );
  return `<h1>Documentation</h1>
<p>These are the pages of the version that runs here. The <a href="../docs">API page</a> lists every endpoint and sends requests; the <a href="../ui">console</a> shows the data.</p>
${lists.join('\n')}`;
}

const sectionsOf = (pages) =>
  Object.entries(SECTIONS)
    .map(([folder, name]) => [name, pages.filter(({ section }) => section === folder)])
    .filter(([, inside]) => inside.length > 0);

function wholePage({ pages, styleName, version }, address, title, html) {
  const to = (other) => escaped(addressFrom(address, other));
  const item = (page) =>
    `<li><a href="${to(page.address)}"${page.address === address ? ' aria-current="page"' : ''}>${escaped(page.title)}</a></li>`;
  const lists = sectionsOf(pages).map(([name, inside]) => `<h2>${name}</h2><ul>${inside.map(item).join('')}</ul>`);
  return `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <meta name="color-scheme" content="light dark">
    <title>${escaped(title)} · Sheaf ${version}</title>
    <link rel="icon" href="data:,">
    <link rel="stylesheet" href="${to(styleName)}">
  </head>
  <body>
    <header>
      <a class="title" href="${to(INDEX)}">Sheaf ${version} documentation</a>
      <a class="to-pages" href="#pages">All pages</a>
      <a href="${to('../docs')}">API</a>
      <a href="${to('../ui')}">Console</a>
    </header>
    <div class="columns">
      <nav id="pages" aria-label="Pages">${lists.join('')}</nav>
      <main>
${html}
      </main>
    </div>
  </body>
</html>
`;
}

const escaped = (text) =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');

function write(folder, name, content) {
  const bytes = Buffer.from(content);
  mkdirSync(dirname(join(folder, name)), { recursive: true });
  writeFileSync(join(folder, name), bytes);
  writeFileSync(
    join(folder, `${name}.br`),
    brotliCompressSync(bytes, {
      params: { [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length, [constants.BROTLI_PARAM_QUALITY]: 9 },
    }),
  );
}

function copyPicture(root, path, folder) {
  const target = join(folder, path.slice('docs/'.length));
  mkdirSync(dirname(target), { recursive: true });
  copyFileSync(join(root, path), target);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const root = dirname(dirname(fileURLToPath(import.meta.url)));
  await buildDocs(root, process.argv[2] ?? join(root, 'dist/src/docs'));
}
