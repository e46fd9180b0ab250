// A logged search: how it was made, what it found, and what the same search finds now.
// A part of the query log.
import { useState } from 'preact/hooks';
import type { QueryEntry, ReplayAnswer } from '../../contract/api/queries.js';
import { ErrorNote } from '../parts/error-note.tsx';
import { useInSight } from '../parts/in-sight.js';
import { useAction, useLoaded } from '../parts/loaded.js';
import { counted, moment, ms } from '../parts/words.js';
import { rankDiff } from '../plain/rank-diff.js';
import { DiffSummary } from '../search/diff-summary.tsx';
import { HitList } from '../search/hit-list.tsx';
import { Waterfall } from '../search/waterfall.tsx';
import { getQuery, replayQuery, type At } from '../server/api.js';
import type { Told } from '../server/call.js';
import { chunkLink, there } from '../state/place.js';

export function QueryPane({ at, id }: { at: At; id: string }) {
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
        {mode ?? 'vector'}, k {k} · by {actor} · {moment(at)}
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
      {gone.length === 0 && <p class="faint">All that was found then is found now, in {ms(replay.latency_ms)}.</p>}
      <HitList
        hits={replay.matches}
        query={entry.query_text}
        against={{ diff: rankDiff(now, entry.result_ids), places: PLACES, isFirst: false }}
      />
    </>
  );
}
