// A logged search: its settings, its hits then, and the hits of a replay.
import { useEffect, useState } from 'preact/hooks';
import { SEARCH_MODES } from '../api/choices.js';
import type { QueryEntry, QuerySummary, ReplayAnswer } from '../api/queries.js';
import { type At, type Told, getQuery, listQueries, replayQuery } from './api.js';
import { ErrorNote, Tick } from './components.tsx';
import { count, counted, moment, ms } from './format.js';
import { useAction, useInSight, useLoaded, usePages } from './hooks.js';
import { DiffSummary, HitList, Waterfall } from './search/hits.tsx';
import { rankDiff } from './search/results.js';
import { chunkLink, place, there } from './state.js';
import { Rows } from './virtual-table.tsx';

function QueryPane({ at, id }: { at: At; id: string }) {
  const { value, error } = useLoaded(`${at.tenant}/${at.collection}/${id}`, (signal) => getQuery(at, id, signal));
  const [replay, setReplay] = useState<Told<ReplayAnswer>>();
  const action = useAction();
  const pane = useInSight();
  return (
    <article ref={pane} class="pane" aria-label="Logged search">
      <header>
        <h2>{value?.query.query_text || 'Logged search'}</h2>
        <button
          type="button"
          class="main"
          disabled={action.isBusy}
          onClick={() => action.run(async () => setReplay(await replayQuery(at, id)))}
        >
          Replay
        </button>
        <a class="button" href={there({ view: 'queries' })} aria-label="Close the logged search">
          ✕
        </a>
      </header>
      <ErrorNote error={error ?? action.error} />
      {value && <Made entry={value.query} />}
      {value &&
        (replay ? (
          <Replayed entry={value.query} replay={replay} />
        ) : (
          <Found ids={value.query.result_ids} query={value.query.query_text} />
        ))}
    </article>
  );
}

function Made({
  entry: {
    k,
    mode,
    actor,
    executed_at: at,
    latency_ms: latency,
    filters,
    content_filter: contentFilter,
    fusion,
    timing,
  },
}: {
  entry: QueryEntry;
}) {
  const told = {
    ...(filters && { filters }),
    ...(contentFilter && { content_filter: contentFilter }),
    ...(fusion && { fusion }),
  };
  return (
    <>
      <p class="faint">
        {mode}, k {k} · by {actor} · {moment(at)}
      </p>
      {Object.keys(told).length > 0 && <pre>{JSON.stringify(told, undefined, 1)}</pre>}
      {latency !== undefined && <Waterfall timing={timing} serverMs={latency} roundMs={latency} />}
    </>
  );
}

function Found({ ids, query }: { ids: readonly string[]; query: string }) {
  return (
    <>
      <h3>{counted(ids.length, 'hit')} then</h3>
      <ol class="ids">
        {ids.map((id) => (
          <li>
            <a href={chunkLink(id, query)}>{id}</a>
          </li>
        ))}
      </ol>
    </>
  );
}

const PLACES = ['then', 'now'] as const;

function Replayed({ entry, replay }: { entry: QueryEntry; replay: Told<ReplayAnswer> }) {
  const now = replay.matches.map(({ id }) => id);
  const gone = entry.result_ids.filter((id) => !now.includes(id));
  return (
    <>
      <h3>Then and now</h3>
      <DiffSummary
        a={entry.result_ids}
        b={now}
        aMs={replay.original_latency_ms ?? entry.latency_ms}
        bMs={replay.latency_ms}
        places={PLACES}
      />
      {gone.length > 0 && <p class="note">No longer found: {gone.join(', ')}</p>}
      {gone.length === 0 && <p class="faint">All hits of that search are still found, in {ms(replay.latency_ms)}.</p>}
      <HitList
        hits={replay.matches}
        query={entry.query_text}
        against={{ diff: rankDiff(now, entry.result_ids), places: PLACES, isFirst: false }}
      />
    </>
  );
}

// The query log, latest first, with the chosen search beside it.

const PAGE_QUERIES = 200;
const ROW_PX = 36;
const LIVE_MS = 2000;
const COLUMNS = ['Query', 'Hits', 'Time', 'When', 'Mode', 'By'];

/** Which searches are listed; '' for all. */
interface Wanted {
  readonly q: string;
  readonly mode: string;
  readonly actor: string;
}

const ALL: Wanted = { q: '', mode: '', actor: '' };

export function QueriesView(at: At) {
  const [wanted, setWanted] = useState(ALL);
  const [isLive, setIsLive] = useState(false);
  const asked = Object.fromEntries(Object.entries(wanted).filter(([, value]) => value !== ''));
  const name = `${at.tenant}/${at.collection}/${JSON.stringify(asked)}`;
  const pages = usePages<QuerySummary>(name, async (cursor, signal) => {
    const { queries, next_cursor: next } = await listQueries(at, { ...asked, limit: PAGE_QUERIES, cursor, signal });
    return { entries: queries, next };
  });
  useEffect(() => {
    const timer = isLive ? setInterval(pages.reload, LIVE_MS) : undefined;
    return () => clearInterval(timer);
  }, [isLive, pages.reload]);
  const { query } = place.value.params;
  if (pages.entries.length === 0 && !pages.isLoading && wanted === ALL)
    return pages.error === undefined ? <Nothing /> : <ErrorNote error={pages.error} />;
  return (
    <div class={query === undefined ? 'panes' : 'panes two'}>
      <section>
        <div class="tools">
          <WantedForm wanted={wanted} onWant={(change) => setWanted({ ...wanted, ...change })} />
          <span class="grow" />
          <Tick label="Live" isOn={isLive} onTurn={setIsLive} />
          <button type="button" onClick={pages.reload}>
            Refresh
          </button>
          <ErrorNote error={pages.error} />
        </div>
        {pages.entries.length === 0 && pages.isWhole && <p class="faint">No logged search is like this.</p>}
        <Rows
          label="Logged searches"
          columns={COLUMNS}
          entries={pages.entries}
          rowHeight={ROW_PX}
          isChosen={({ query_id: id }) => id === query}
          onEnd={pages.more}
          cellsOf={(entry) => cellsOf(entry, (actor) => setWanted({ ...wanted, actor }))}
        />
      </section>
      {query !== undefined && <QueryPane key={query} at={at} id={query} />}
    </div>
  );
}

function WantedForm({ wanted, onWant }: { wanted: Wanted; onWant: (change: Partial<Wanted>) => void }) {
  return (
    <>
      <input
        type="search"
        placeholder="Search the queries"
        aria-label="Search the queries"
        spellcheck={false}
        onInput={({ currentTarget }) => onWant({ q: currentTarget.value.trim() })}
      />
      <select
        aria-label="Mode"
        value={wanted.mode}
        onChange={({ currentTarget }) => onWant({ mode: currentTarget.value })}
      >
        <option value="">any mode</option>
        {SEARCH_MODES.map((mode) => (
          <option key={mode}>{mode}</option>
        ))}
      </select>
      {wanted.actor !== '' && (
        <button type="button" onClick={() => onWant({ actor: '' })}>
          by {wanted.actor} ✕
        </button>
      )}
    </>
  );
}

function cellsOf(
  {
    query_id: id,
    query_text: text,
    mode,
    actor,
    result_count: hits,
    latency_ms: latency,
    executed_at: at,
    replay_of: replayOf,
  }: QuerySummary,
  onActor: (actor: string) => void,
) {
  return [
    <a data-entry href={there({ view: 'queries', params: { query: id } })}>
      {replayOf !== undefined && <span class="chip">replay</span>}
      {text || '(by vector)'}
    </a>,
    count(hits),
    latency === undefined ? '–' : ms(latency),
    moment(at),
    mode,
    <button type="button" class="plain" onClick={() => onActor(actor)} title={`Only searches by ${actor}`}>
      {actor}
    </button>,
  ];
}

function Nothing() {
  return (
    <div class="empty">
      <h2>No searches yet</h2>
      <p>
        Searches of this collection are listed here, unless <code>query_log.enabled</code> is off.
      </p>
      <a class="button main" href={there({ view: 'search' })}>
        Search
      </a>
    </div>
  );
}
