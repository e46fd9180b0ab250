// Demo queries that show what each search mode is good for.
import type { IngestBody } from '../../api/documents.js';
import { type At, createCollection, ingestBatch } from '../api.js';
import { loadCatalog } from '../collections/catalog.js';
import { ErrorNote } from '../components.tsx';
import { useAction } from '../hooks.js';
import type { Settings } from '../search/settings.js';
import { go } from '../state.js';

const DEMO_COLLECTION = 'demo';

interface DemoQuery extends Partial<Settings> {
  readonly q: string;
  readonly words: string;
}

const SCIENCE = JSON.stringify([{ field: 'topic', operator: '=', value: 'sky' }]);
const OLD = JSON.stringify([{ field: 'year', operator: '<', value: '1900' }]);

const DEMO_QUERIES: readonly DemoQuery[] = [
  { q: 'a ship under the water', mode: 'vector', words: 'by meaning' },
  { q: 'bread without yeast from the shop', mode: 'hybrid', words: 'meaning and words together' },
  { q: 'why is the sea salty', mode: 'boost', words: 'a little more for exact words' },
  { q: 'why does it shine', filters: SCIENCE, words: 'only where topic is sky' },
  { q: 'messages over long distances', filters: OLD, words: 'only before 1900' },
  { q: 'what happens to my data when the power fails', mode: 'hybrid', words: 'a question' },
];

// Creates the demo collection and ingests its corpus, which is fetched on demand.

/** Small chunks, so that a document has several. */
const CHUNKING = { strategy: 'fixed', size: 240, overlap: 48 } as const;

/** Rejects like the API calls; an existing collection of that name with other settings is a conflict. */
async function loadDemo(tenant: string): Promise<void> {
  const at = { tenant, collection: DEMO_COLLECTION };
  const [{ documents }] = await Promise.all([import('./corpus.json') as Promise<{ documents: IngestBody[] }>, createCollection(at, { chunking: CHUNKING })]);
  const { failed, documents: results } = await ingestBatch(at, documents);
  if (failed > 0) throw new Error(results.find(({ ok }) => !ok)?.error ?? 'Some documents were rejected.');
  await loadCatalog(tenant);
  go({ tenant, collection: DEMO_COLLECTION, view: 'search' });
}

// First steps on a server without collections: load the demo, or create a collection.

export function FirstSteps({ tenant }: { tenant: string }) {
  const { isBusy, error, run } = useAction();
  return (
    <section class="empty card">
      <h2>Nothing here yet</h2>
      <p>Begin with the demo: about forty short texts about the sea, the sky, kitchens, books and machines. It loads in a second and suggests queries.</p>
      <p class="tools">
        <button type="button" class="main" disabled={isBusy} onClick={() => run(() => loadDemo(tenant))}>
          {isBusy ? 'Loading …' : 'Load the demo'}
        </button>
        <button type="button" onClick={() => document.querySelector<HTMLElement>('[data-new-collection]')?.click()}>
          Make a collection
        </button>
      </p>
      <ErrorNote error={error} />
    </section>
  );
}

// Suggested queries: those of the demo in its collection, a hint elsewhere.

export function Suggestions({ at, onChoice }: { at: At; onChoice: (settings: Partial<Settings>) => void }) {
  if (at.collection !== DEMO_COLLECTION) return <p class="empty">Type a query and press Enter. The key “/” opens this field from anywhere.</p>;
  return (
    <section class="empty" aria-label="Suggestions">
      <h2>Try one of these</h2>
      <ul class="suggestions">
        {DEMO_QUERIES.map(({ words, ...settings }) => (
          <li>
            <button type="button" data-entry onClick={() => onChoice(settings)}>
              {settings.q}
            </button>
            <span class="faint">{words}</span>
          </li>
        ))}
      </ul>
    </section>
  );
}
