// The playground: a query, search settings, hits, and time. The address stores the query and the settings.
import type { SearchAnswer } from '../../api/search.js';
import { queryHint } from '../collections/catalog.js';
import { useDraft, useLoaded, useQueryFocus } from '../hooks.js';
import { ErrorNote } from '../components.tsx';
import { counted, ms } from '../format.js';
import { ask } from './ask.js';
import { paramsOf, settingsOf, type Settings } from './settings.js';
import type { At, Told } from '../api.js';
import { go, place, there } from '../state.js';
import { Suggestions } from '../demo/demo.tsx';
import { HitList, Waterfall } from './hits.tsx';
import { SettingsForm } from './settings-form.tsx';

/** On a narrow page the settings are folded, so that hits come first. The same breakpoint as in views.css. */
const isWide = matchMedia('(min-width: 60rem)').matches;

export function SearchView(at: At) {
  const asked = settingsOf(place.value.params);
  const key = JSON.stringify(asked);
  const [form, setForm] = useDraft(key, asked);
  const run = (settings: Settings) => go({ view: 'search', params: paramsOf(settings) });
  const { value, error, isLoading, reload } = useLoaded(`${at.tenant}/${at.collection}/${key}`, async (signal) =>
    asked.q.trim() || asked.further.trim() ? ask(at, asked, signal) : undefined,
  );
  const submit = (event: Event) => {
    event.preventDefault();
    if (JSON.stringify(form) === key) reload();
    else run(form);
  };
  return (
    <form class="playground" role="search" onSubmit={submit}>
      <QueryLine form={form} onChange={(q) => setForm({ ...form, q })} />
      <FoldedSettings form={form} onChange={(change) => setForm({ ...form, ...change })} />
      <section class="results" aria-live="polite" aria-busy={isLoading}>
        <ErrorNote error={error} />
        {value ? (
          <Results answer={value} query={asked.q} />
        ) : (
          <Suggestions at={at} onChoice={(settings) => run({ ...form, ...settings })} />
        )}
      </section>
    </form>
  );
}

function FoldedSettings({ form, onChange }: { form: Settings; onChange: (change: Partial<Settings>) => void }) {
  return (
    <details class="fold" open={isWide}>
      <summary>Search options</summary>
      <SettingsForm settings={form} onChange={onChange} />
    </details>
  );
}

function QueryLine({ form, onChange }: { form: Settings; onChange: (q: string) => void }) {
  const field = useQueryFocus(form.q);
  return (
    <div class="tools">
      <input
        type="search"
        class="query"
        data-query
        ref={field}
        placeholder={queryHint()}
        aria-label="Query"
        value={form.q}
        onInput={({ currentTarget }) => onChange(currentTarget.value)}
      />
      <button type="submit" class="main">
        Search
      </button>
      <a class="button" href={there({ view: 'compare', params: { ...paramsOf({ ...form, q: '' }, 'a.'), q: form.q } })}>
        Compare
      </a>
    </div>
  );
}

function Results({
  answer: { matches, mode, degraded, query_id: queryId, timing, latency_ms: serverMs, round_ms: roundMs },
  query,
}: {
  answer: Told<SearchAnswer>;
  query: string;
}) {
  return (
    <>
      <p class="faint">
        {counted(matches.length, 'hit')} · {mode ?? 'vector'} · {ms(serverMs)} on the server
        {queryId && (
          <>
            {' · '}
            <a href={there({ view: 'queries', params: { query: queryId } })}>in the log</a>
          </>
        )}
      </p>
      {degraded && <p class="note bad">The embedder did not answer: these hits are ranked by keywords only.</p>}
      <Waterfall timing={timing} serverMs={serverMs} roundMs={roundMs} />
      {matches.length === 0 && (
        <p class="empty">No hits. Loosen the filters, or check under Documents that the collection has documents.</p>
      )}
      <HitList hits={matches} query={query} />
    </>
  );
}
