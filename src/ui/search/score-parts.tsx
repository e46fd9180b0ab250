// What a hit's score is made of, and its metadata: opened where wanted.
// A part of a hit.
import type { Explanation, SearchHit } from '../../contract/api/search.js';
import { score } from '../parts/words.js';

const ALWAYS_THERE = new Set(['docid', 'ingested_at', 'offset', 'filename']);

export function ScoreParts({ hit: { match_reason: reason, meta, explain } }: { hit: SearchHit }) {
  const own = Object.entries(meta).filter(([name]) => !ALWAYS_THERE.has(name));
  return (
    <details class="parts">
      <summary>
        {own.slice(0, 6).map(([name, value]) => (
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

function Explained({ explain: { vector, lexical, boost, fusion, rerank, priority, fused } }: { explain: Explanation }) {
  return (
    <dl class="meta">
      {vector && <Part name="by vector" value={`cosine ${score(vector.cosine)}${ranked(vector.rank)}`} />}
      {lexical && <Part name="by words" value={`BM25 ${score(lexical.bm25)}${ranked(lexical.rank)}`} />}
      {lexical?.terms.map(({ term, bm25 }) => <Part name={`“${term}”`} value={score(bm25)} />)}
      {boost && <Part name="exact words" value={`${boost.matched} of ${boost.wanted}, +${score(boost.boost)}`} />}
      {fusion && <Part name="fusion" value={`${fusion.method}, weights ${fusion.weights.vector} and ${fusion.weights.lexical}`} />}
      {rerank && <Part name={`reranked by ${rerank.instance}`} value={score(rerank.score)} />}
      {priority !== undefined && <Part name="priority" value={String(priority)} />}
      <Part name="score of the mode" value={score(fused)} />
    </dl>
  );
}

const ranked = (rank: number | undefined): string => (rank === undefined ? '' : `, rank ${rank}`);

function Part({ name, value }: { name: string; value: string }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{value}</dd>
    </div>
  );
}
