// What a hit's score is made of, and its metadata: opened where wanted.
// A part of a hit.
import type { Explanation, SearchHit } from '../../contract/api/search.js';
import { Term } from '../parts/term.tsx';
import { score } from '../parts/words.js';
import { ownFields } from '../plain/own-fields.js';

export function ScoreParts({ hit: { match_reason: reason, meta, explain } }: { hit: SearchHit }) {
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

function Explained({ explain: { vector, lexical, boost, fusion, rerank, priority, fused } }: { explain: Explanation }) {
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
      {rerank && <Term name={`reranked by ${rerank.instance}`}>{score(rerank.score)}</Term>}
      {priority !== undefined && <Term name="priority">{String(priority)}</Term>}
      <Term name="score of the mode">{score(fused)}</Term>
    </dl>
  );
}

const ranked = (rank: number | undefined): string => (rank === undefined ? '' : `, rank ${rank}`);
