// Which fields a filter names, for the match_reason of the hits. Pure.
// Called by the search use case on the front thread.
import type { Filter } from '../contract/filter.js';

/** The fields a filter names, each once, in their order. */
export function fieldsOf(filter: Filter): string[] {
  const fields = new Set<string>();
  const visit = (part: Filter): void => {
    if ('field' in part) fields.add(part.field);
    else if ('not' in part) visit(part.not);
    else ('all' in part ? part.all : part.any).forEach(visit);
  };
  visit(filter);
  return [...fields];
}
