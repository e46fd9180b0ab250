"""The quality of rankings by judged queries."""

from __future__ import annotations

from math import log2
from typing import Dict, List, Sequence, Tuple

from .types import Evaluation, SearchHit


def documents_of(hits: Sequence[SearchHit]) -> List[str]:
    """The documents of hits, the best first, each once."""
    return list(dict.fromkeys(hit["id"].rsplit("::", 1)[0] for hit in hits))


def scores_of(ranked: Sequence[str], judgements: Dict[str, float], k: int) -> Tuple[float, float, float]:
    """nDCG with the grades as gains (Järvelin and Kekäläinen, 2002), recall and reciprocal rank of the ``k`` best."""
    best = ranked[:k]
    gains = [judgements.get(docid, 0) for docid in best]
    ideal = sorted(judgements.values(), reverse=True)[:k]
    discounted = [sum(gain / log2(rank + 2) for rank, gain in enumerate(all_gains)) for all_gains in (gains, ideal)]
    relevant = {docid for docid, grade in judgements.items() if grade > 0}
    found = [rank for rank, docid in enumerate(best) if docid in relevant]
    return (
        discounted[0] / discounted[1] if discounted[1] > 0 else 0.0,
        len(found) / len(relevant) if relevant else 0.0,
        1 / (found[0] + 1) if found else 0.0,
    )


def evaluation_of(all_scores: Sequence[Tuple[float, float, float]], k: int) -> Evaluation:
    """The means over all queries."""
    count = len(all_scores)
    ndcg, recall, reciprocal_rank = (
        (sum(scores[i] for scores in all_scores) / count if count else 0.0) for i in range(3)
    )
    return {"queries": count, "k": k, "ndcg": ndcg, "recall": recall, "reciprocal_rank": reciprocal_rank}
