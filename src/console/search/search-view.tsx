// The playground: a query, search settings, hits, and time. The address stores the query and the settings.
import type { SearchAnswer } from '../../api/search.js';
import { queryHint } from '../collections/catalog.js';
import { useEffect, useRef } from 'preact/hooks';
import { useDraft, useLoaded, useQueryFocus } from '../hooks.js';
import { ErrorNote, Field, Tick } from '../components.tsx';
import { counted, ms } from '../format.js';
import { ask } from './ask.js';
import { CopyAs } from './copy-as.tsx';
import { Facets } from './facets.tsx';
import { type Settings, bodyOf, facetsOf, othersOf, paramsOf, settingsOf } from './settings.js';
import { type At, type Told, addressOf } from '../api.js';
import { apiKey, go, goInPlace, place, there } from '../state.js';
import { Suggestions } from '../demo/demo.tsx';
import { HitList, Waterfall } from './hits.tsx';
import { SettingsForm } from './settings-form.tsx';

/** On a narrow page the settings are folded, so that hits come first. The same breakpoint as in views.css. */
const isWide = matchMedia('(min-width: 60rem)').matches;

/** After so long without a key, what has been typed is searched. */
const TYPING_MS = 150;

export function SearchView(at: At) {
  const asked = settingsOf(place.value.params);
  const key = JSON.stringify(asked);
  const [form, setForm] = useDraft(key, asked);
  const run = (settings: Settings) => go({ view: 'search', params: paramsOf(settings) });
  const { value, error, isLoading, reload } = useLoaded(`${at.tenant}/${at.collection}/${key}`, async (signal) =>
    asked.q.trim() || asked.further.trim() ? ask(at, asked, signal) : undefined,
  );
  const timer = useRef<ReturnType<typeof setTimeout>>();
  useEffect(() => () => clearTimeout(timer.current), []);
  const type = (q: string) => {
    const typed = { ...form, q };
    setForm(typed);
    clearTimeout(timer.current);
    if (form.typing)
      timer.current = setTimeout(() => goInPlace({ view: 'search', params: paramsOf(typed) }), TYPING_MS);
  };
  const submit = (event: Event) => {
    event.preventDefault();
    if (JSON.stringify(form) === key) reload();
    else run(form);
  };
  return (
    <form class="playground" role="search" onSubmit={submit}>
      <QueryLine form={form} onChange={type} />
      <FoldedSettings form={form} onChange={(change) => setForm({ ...form, ...change })} />
      <section class="results" aria-live="polite" aria-busy={isLoading}>
        <ErrorNote error={error} />
        {value ? (
          <>
            {facetsOf(asked).length > 0 && (
              <Facets at={at} settings={asked} onChoice={(change) => run({ ...asked, ...change })} />
            )}
            <Results answer={value} query={asked.q} />
            <CopyAs
              search={{
                url: addressOf([]).replace(/\/$/, ''),
                at,
                others: othersOf(asked),
                body: bodyOf(asked),
                hasKey: apiKey.value !== '',
              }}
            />
          </>
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
      <div class="settings">
        <Tick
          label="Search while I type"
          isOn={form.typing !== ''}
          onTurn={(isOn) => onChange({ typing: isOn ? '1' : '' })}
        />
        <Field label="Count the values of" hint="Metadata fields; each value is then a button that filters by it.">
          <input
            value={form.facets}
            placeholder="fields, with commas"
            spellcheck={false}
            autocomplete="off"
            onInput={({ currentTarget }) => onChange({ facets: currentTarget.value })}
          />
        </Field>
      </div>
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
