// Hits in their order: the passage that fits with its words marked, what the score is made of, and the way to the chunk among its neighbours.
// A part of the search view, of comparisons and of replays.
import type { SearchHit } from '../../contract/api/search.js';
import { Marked } from '../parts/marked.tsx';
import { score as scoreWords } from '../parts/words.js';
import { inUnits, wordsIn, wordsToMark } from '../plain/marks.js';
import type { RankDiff } from '../plain/rank-diff.js';
import { there } from '../state/place.js';
import { ScoreParts } from './score-parts.tsx';

interface Props {
  readonly hits: readonly SearchHit[];
  readonly query: string;
  /** Against another list. */
  readonly diff?: RankDiff;
}

export function HitList({ hits, query, diff }: Props) {
  return (
    <ol class="hits">
      {hits.map((hit, i) => (
        <Hit key={hit.id} hit={hit} rank={i + 1} query={query} diff={diff} />
      ))}
    </ol>
  );
}

function Hit({ hit, rank, query, diff }: { hit: SearchHit; rank: number; query: string; diff: RankDiff | undefined }) {
  const docid = hit.id.slice(0, hit.id.lastIndexOf('::'));
  return (
    <li class="hit">
      <header>
        <span class="rank">{rank}</span>
        {diff && <Move rank={rank} other={diff.otherRank.get(hit.id)} />}
        <a data-entry href={there({ view: 'documents', params: { document: docid, chunk: hit.id, q: wordsToMark(query, hit.highlight) } })}>
          {hit.id}
        </a>
        <span class="grow" />
        {hit.relevance !== undefined && <span title="How probable it is that it is relevant">{Math.round(hit.relevance * 100)} %</span>}
        <strong title="Score">{scoreWords(hit.score)}</strong>
      </header>
      <Passage hit={hit} query={query} />
      <ScoreParts hit={hit} />
    </li>
  );
}

/** How it stands in the other list. */
function Move({ rank, other }: { rank: number; other: number | undefined }) {
  if (other === undefined) return <span class="move new">only here</span>;
  if (other === rank) return <span class="move">same</span>;
  return <span class={`move ${other > rank ? 'up' : 'down'}`}>{other > rank ? `▲ from ${other}` : `▼ from ${other}`}</span>;
}

function Passage({ hit: { highlight, text }, query }: { hit: SearchHit; query: string }) {
  if (highlight) return <p class="text"><Marked text={highlight.text} ranges={inUnits(highlight.text, highlight.matches)} /></p>;
  if (text === undefined) return <p class="faint">A vector without a text.</p>;
  return <p class="text"><Marked text={text} ranges={wordsIn(text, query)} /></p>;
}
