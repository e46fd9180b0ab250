// How often the values of metadata fields occur among the chunks that match; a value is a button that filters by it, and
// several of a field are alternatives.
import type { CountBody, Facet, FacetValue } from '../../api/count.js';
import { type At, countMatches } from '../api.js';
import { ErrorNote } from '../components.tsx';
import { count } from '../format.js';
import { useLoaded } from '../hooks.js';
import { type Settings, bodyOf, chosenIn, facetsOf, withChoice, withoutChoice } from './settings.js';

interface FacetsProps {
  readonly at: At;
  readonly settings: Settings;
  readonly onChoice: (change: Partial<Settings>) => void;
}

const VALUES = 8;

export function Facets({ at, settings, onChoice }: FacetsProps) {
  const fields = facetsOf(settings);
  const chosen = fields.filter((field) => chosenIn(settings, field).length > 0);
  const all = fields.filter((field) => !chosen.includes(field));
  // The other values of a field that is chosen from are counted as if it were not.
  const asked = [
    ...(all.length > 0 ? [countsOf(settings, all)] : []),
    ...chosen.map((field) => countsOf({ ...settings, ...withoutChoice(settings, field) }, [field])),
  ];
  const { value, error } = useLoaded(`${at.tenant}/${at.collection}/${JSON.stringify(asked)}`, async (signal) => {
    const answers = await Promise.all(asked.map((body) => countMatches(at, body, signal)));
    const facets = answers.flatMap((answer) => answer.facets);
    return facets.sort((a, b) => fields.indexOf(a.field) - fields.indexOf(b.field));
  });
  return (
    <section class="facets" aria-label="Facets">
      <ErrorNote error={error} />
      {value?.map((facet) => (
        <Values
          facet={facet}
          chosen={chosenIn(settings, facet.field)}
          onChoice={(choice) => onChoice(withChoice(settings, facet.field, choice))}
        />
      ))}
    </section>
  );
}

function countsOf(settings: Settings, fields: readonly string[]): CountBody {
  const { q, filters, content_filter: contentFilter } = bodyOf(settings);
  return {
    ...(q && { q }),
    ...(filters && { filters }),
    ...(contentFilter && { content_filter: contentFilter }),
    facets: fields.map((field) => ({ field, size: VALUES })),
  };
}

function Values({
  facet: { field, values, distinct },
  chosen,
  onChoice,
}: {
  facet: Facet;
  chosen: readonly string[];
  onChoice: (value: FacetValue['value']) => void;
}) {
  return (
    <p>
      <b>{field}</b>{' '}
      {values.map(({ value, count: times }) => (
        <button
          type="button"
          class="chip"
          aria-pressed={chosen.includes(String(value))}
          onClick={() => onChoice(value)}
        >
          {String(value)} <span class="faint">{count(times)}</span>
        </button>
      ))}
      {distinct > values.length && <span class="faint">and {count(distinct - values.length)} more</span>}
      {distinct === 0 && <span class="faint">no chunk has this field</span>}
    </p>
  );
}
