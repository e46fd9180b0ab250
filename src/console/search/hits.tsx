// Hits in their order: the passage that fits with its words marked, what the score is made of, and the way to the chunk
// among its neighbours. A part of the search view, of comparisons and of replays.
import type { SearchHit } from '../../contract/api/search.js';
import { Marked } from '../parts/marked.tsx';
import { score as scoreWords } from '../parts/words.js';
import { docidOf } from '../plain/chunk-ids.js';
import { inUnits, wordsIn, wordsToMark } from '../plain/marks.js';
import { fileNameBeside } from '../plain/own-fields.js';
import { moveOf, type Against } from '../plain/rank-diff.js';
import { chunkLink } from '../state/place.js';
import { ScoreParts } from './score-parts.tsx';

interface Props {
  readonly hits: readonly SearchHit[];
  readonly query: string;
  readonly against?: Against | undefined;
}

export function HitList({ hits, query, against }: Props) {
  return (
    <ol class="hits">
      {hits.map((hit, i) => (
        <Hit key={hit.id} hit={hit} rank={i + 1} query={query} against={against} />
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
        <a data-entry href={chunkLink(hit.id, wordsToMark(query, hit.highlight))}>
          {hit.id}
        </a>
        <span class="faint">{fileNameBeside(docidOf(hit.id), hit.meta.filename)}</span>
        <span class="score">
          {hit.relevance !== undefined && (
            <span title="How probable it is that it is relevant">{Math.round(hit.relevance * 100)} %</span>
          )}{' '}
          <strong title="Score">{scoreWords(hit.score)}</strong>
        </span>
      </header>
      <Passage hit={hit} query={query} />
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
