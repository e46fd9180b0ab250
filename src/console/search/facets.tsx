// How often the values of metadata fields occur among the chunks that match; a value is a button that filters by it.
import type { Facet, FacetValue } from '../../api/count.js';
import { type At, countMatches } from '../api.js';
import { ErrorNote } from '../components.tsx';
import { count } from '../format.js';
import { useLoaded } from '../hooks.js';
import { type Settings, bodyOf, facetsOf, withCondition } from './settings.js';

interface FacetsProps {
  readonly at: At;
  readonly settings: Settings;
  readonly onChoice: (change: Partial<Settings>) => void;
}

const VALUES = 8;

export function Facets({ at, settings, onChoice }: FacetsProps) {
  const fields = facetsOf(settings);
  const { q, filters, content_filter: contentFilter } = bodyOf(settings);
  const asked = {
    ...(q && { q }),
    ...(filters && { filters }),
    ...(contentFilter && { content_filter: contentFilter }),
    facets: fields.map((field) => ({ field, size: VALUES })),
  };
  const key = JSON.stringify(asked);
  const { value, error } = useLoaded(`${at.tenant}/${at.collection}/${key}`, (signal) =>
    countMatches(at, asked, signal),
  );
  return (
    <section class="facets" aria-label="Facets">
      <ErrorNote error={error} />
      {value?.facets.map((facet) => (
        <Values facet={facet} onChoice={(chosen) => onChoice(withCondition(settings, facet.field, chosen))} />
      ))}
    </section>
  );
}

function Values({
  facet: { field, values, distinct },
  onChoice,
}: {
  facet: Facet;
  onChoice: (value: FacetValue['value']) => void;
}) {
  return (
    <p>
      <b>{field}</b>{' '}
      {values.map(({ value, count: times }) => (
        <button type="button" class="chip" onClick={() => onChoice(value)}>
          {String(value)} <span class="faint">{count(times)}</span>
        </button>
      ))}
      {distinct > values.length && <span class="faint">and {count(distinct - values.length)} more</span>}
      {distinct === 0 && <span class="faint">no chunk has this field</span>}
    </p>
  );
}
