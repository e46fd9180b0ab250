// The query log: searches that were made, the latest first, and the one that is chosen beside them.
// A view.
import type { QuerySummary } from '../../contract/api/queries.js';
import { ErrorNote } from '../parts/error-note.tsx';
import { usePages } from '../parts/pages.js';
import { Rows } from '../parts/rows.tsx';
import { count, moment, ms } from '../parts/words.js';
import { listQueries, type At } from '../server/api.js';
import { place, there } from '../state/place.js';
import { QueryPane } from './query-pane.tsx';

const PAGE_QUERIES = 200;
const ROW_PX = 36;
const COLUMNS = ['Query', 'Hits', 'Time', 'When'];

export function QueriesView(at: At) {
  const pages = usePages<QuerySummary>(`${at.tenant}/${at.collection}`, async (cursor, signal) => {
    const { queries, next_cursor: next } = await listQueries(at, PAGE_QUERIES, cursor, signal);
    return { entries: queries, next };
  });
  const { query } = place.value.params;
  if (pages.entries.length === 0 && !pages.isLoading)
    return pages.error === undefined ? <Nothing /> : <ErrorNote error={pages.error} />;
  return (
    <div class={query === undefined ? 'panes' : 'panes two'}>
      <section>
        <div class="tools">
          <button type="button" onClick={pages.reload}>
            Look again
          </button>
          <ErrorNote error={pages.error} />
        </div>
        <Rows
          label="Logged searches"
          columns={COLUMNS}
          entries={pages.entries}
          rowHeight={ROW_PX}
          isChosen={({ query_id: id }) => id === query}
          onEnd={pages.more}
          cellsOf={cellsOf}
        />
      </section>
      {query !== undefined && <QueryPane key={query} at={at} id={query} />}
    </div>
  );
}

function cellsOf({
  query_id: id,
  query_text: text,
  result_count: hits,
  latency_ms: latency,
  executed_at: at,
  replay_of: replayOf,
}: QuerySummary) {
  return [
    <a data-entry href={there({ view: 'queries', params: { query: id } })}>
      {replayOf !== undefined && <span class="chip">replay</span>}
      {text || '(by vector)'}
    </a>,
    count(hits),
    latency === undefined ? '–' : ms(latency),
    moment(at),
  ];
}

function Nothing() {
  return (
    <div class="empty">
      <h2>No searches yet</h2>
      <p>
        What is searched for in this collection is listed here, unless <code>query_log.enabled</code> is off.
      </p>
      <a class="button main" href={there({ view: 'search' })}>
        Search
      </a>
    </div>
  );
}
