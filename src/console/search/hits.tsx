// The list of hits: the best passage with marked words, the parts of the score, and a link to the chunk with its
// neighbours.
import type { Explanation, SearchHit, SearchTiming } from '../../api/search.js';
import { docidOf } from '../address.js';
import { Marked, Term } from '../components.tsx';
import { fileNameBeside, inUnits, ms, ownFields, score, score as scoreWords, wordsIn, wordsToMark } from '../format.js';
import { chunkLink, place } from '../state.js';
import { type Against, barsOf, moveOf, rankDiff } from './results.js';

// The parts of a hit's score and its metadata, folded.

function ScoreParts({ hit: { match_reason: reason, meta, explain } }: { hit: SearchHit }) {
  return (
    <details class="parts">
      <summary>
        {ownFields(meta)
          .slice(0, 6)
          .map(([name, value]) => (
            <span class="chip">
              {name}: {typeof value === 'string' ? value : JSON.stringify(value)}
            </span>
          ))}
        <span class="faint">{reason}</span>
      </summary>
      {explain && <Explained explain={explain} />}
      <pre>{JSON.stringify(meta, undefined, 1)}</pre>
    </details>
  );
}

function Explained({ explain }: { explain: Explanation }) {
  const { vector, lexical, boost, fusion, boost_by: boostBy, rerank, priority, fused } = explain;
  return (
    <dl class="meta">
      {vector && <Term name="by vector">{`cosine ${score(vector.cosine)}${ranked(vector.rank)}`}</Term>}
      {lexical && <Term name="by words">{`BM25 ${score(lexical.bm25)}${ranked(lexical.rank)}`}</Term>}
      {lexical?.terms.map(({ term, bm25 }) => (
        <Term name={`“${term}”`}>{score(bm25)}</Term>
      ))}
      {boost && <Term name="exact words">{`${boost.matched} of ${boost.wanted}, +${score(boost.boost)}`}</Term>}
      {fusion && (
        <Term name="fusion">{`${fusion.method}, weights ${fusion.weights.vector} and ${fusion.weights.lexical}`}</Term>
      )}
      {boostBy?.fields.map(({ field, gives, weight }) => (
        <Term name={`boosted by ${field}`}>{`${score(weight)} × ${score(gives)}`}</Term>
      ))}
      {rerank && <Term name={`reranked by ${rerank.instance}`}>{score(rerank.score)}</Term>}
      {priority !== undefined && <Term name="priority">{String(priority)}</Term>}
      <Term name="score of the ranking mode">{score(fused)}</Term>
    </dl>
  );
}

const ranked = (rank: number | undefined): string => (rank === undefined ? '' : `, rank ${rank}`);

interface HitListProps {
  readonly hits: readonly SearchHit[];
  readonly query: string;
  readonly against?: Against | undefined;
}

export function HitList({ hits, query, against }: HitListProps) {
  return (
    <ol class="hits">
      {hits.map((hit, i) => (
        <Hit key={`${hit.collection}/${hit.id}`} hit={hit} rank={i + 1} query={query} against={against} />
      ))}
    </ol>
  );
}

function Hit({
  hit,
  rank,
  query,
  against,
}: {
  hit: SearchHit;
  rank: number;
  query: string;
  against: Against | undefined;
}) {
  return (
    <li class="hit">
      <header>
        <span class="rank">{rank}</span>
        {against && <Moved id={hit.id} rank={rank} against={against} />}
        <a
          data-entry
          href={chunkLink(hit.id, wordsToMark(query, hit.highlight), {
            tenant: hit.tenant,
            collection: hit.collection,
          })}
        >
          {hit.id}
        </a>
        {hit.collection !== place.value.collection && <span class="chip">{hit.collection}</span>}
        <span class="faint">{fileNameBeside(docidOf(hit.id), hit.meta.filename)}</span>
        {hit.group !== undefined && <span class="chip">group {String(hit.group)}</span>}
        <span class="score">
          {hit.relevance !== undefined && (
            <span title="Estimated probability that the hit is relevant">{Math.round(hit.relevance * 100)} %</span>
          )}{' '}
          <strong title="Score">{scoreWords(hit.score)}</strong>
        </span>
      </header>
      <Passage hit={hit} query={query} />
      {hit.context && (
        <details class="parts">
          <summary>with its neighbours: {hit.context.chunks.length} chunks</summary>
          <p class="text">{hit.context.text}</p>
        </details>
      )}
      <ScoreParts hit={hit} />
    </li>
  );
}

function Moved({ id, rank, against }: { id: string; rank: number; against: Against }) {
  const { kind, words, label } = moveOf(id, rank, against);
  return (
    <span class={`move ${kind}`} role="img" aria-label={label} title={label}>
      {words}
    </span>
  );
}

function Passage({ hit: { highlight, text }, query }: { hit: SearchHit; query: string }) {
  if (highlight)
    return (
      <p class="text">
        <Marked text={highlight.text} ranges={inUnits(highlight.text, highlight.matches)} />
      </p>
    );
  if (text === undefined) return <p class="faint">A vector without a text.</p>;
  return (
    <p class="text">
      <Marked text={text} ranges={wordsIn(text, query)} />
    </p>
  );
}

// Time of a search: a bar per phase on a common axis, with milliseconds as text.

interface WaterfallProps {
  readonly timing: SearchTiming | undefined;
  readonly serverMs: number;
  readonly roundMs: number;
}

export function Waterfall({ timing, serverMs, roundMs }: WaterfallProps) {
  const share = (value: number): string => `${(100 * value) / roundMs}%`;
  return (
    <table class="waterfall" aria-label="Time of the search">
      <tbody>
        {barsOf(timing, serverMs, roundMs).map(({ name, start, length, isPart }) => (
          <tr class={isPart && 'part'}>
            <th scope="row">{name}</th>
            <td class="track">
              <span
                class={`time ${name.replace(/ /g, '-')}`}
                style={{ marginLeft: share(start), width: share(length) }}
              />
            </td>
            <td class="number">{ms(length)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

// Differences between two lists of hits, as a summary.

interface DiffSummaryProps {
  readonly a: readonly string[];
  readonly b: readonly string[];
  readonly aMs: number | undefined;
  readonly bMs: number | undefined;
  /** Names of the two lists, such as `in A`. */
  readonly places: readonly [string, string];
}

export function DiffSummary({ a, b, aMs, bMs, places }: DiffSummaryProps) {
  const { overlap, shift } = rankDiff(a, b);
  return (
    <>
      <dl class="figures" aria-label="Difference">
        <Term name="shared hits">{`${Math.round(overlap * 100)} %`}</Term>
        <Term name="mean rank change">{shift === null ? '–' : `${shift.toFixed(1)} ranks`}</Term>
        <Term name="same first hit">{a.length > 0 && a[0] === b[0] ? 'yes' : 'no'}</Term>
        <Term name="time">{`${aMs === undefined ? '–' : ms(aMs)} and ${bMs === undefined ? '–' : ms(bMs)}`}</Term>
      </dl>
      <p class="faint">
        Beside each hit: its rank {places[0]} → {places[1]}.
      </p>
    </>
  );
}
