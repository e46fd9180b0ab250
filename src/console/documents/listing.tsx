// Which documents are listed, in what order, and with which metadata beside them; the address keeps it. Without a filter
// and in the order of ids the listing is that of the collection; else it is a sorted search, of whose chunks each document
// is shown once.
import { useMemo, useRef } from 'preact/hooks';
import type { DocumentSummary } from '../../api/documents.js';
import { docidOf } from '../address.js';
import { type At, listDocuments, search } from '../api.js';
import { Choice, Tick } from '../components.tsx';
import { ownFields } from '../format.js';
import { type Pages, usePages } from '../hooks.js';
import { FilterRows } from '../search/filter-rows.tsx';
import { filtersOf, parseRows } from '../search/settings.js';
import { goInPlace, place } from '../state.js';

/** A search does not tell the version of a document and how many chunks it has. */
export type Listed = Pick<DocumentSummary, 'docid' | 'filename' | 'metadata'> &
  Partial<Pick<DocumentSummary, 'chunk_count' | 'version' | 'ingested_at'>>;

export interface Wish {
  /** Conditions as the search settings have them. */
  readonly filters: string;
  /** A metadata field; '' for the order of ids. */
  readonly sort: string;
  readonly order: 'asc' | 'desc';
  /** Metadata fields that are shown. */
  readonly columns: readonly string[];
}

export function wishOf({ filters = '', sort = '', order, columns }: Readonly<Record<string, string>>): Wish {
  return {
    filters,
    sort,
    order: order === 'desc' ? 'desc' : 'asc',
    columns: columns === undefined ? [] : columns.split(',').filter(Boolean),
  };
}

/** The parameters of the address, in which the document that is open stays. */
function paramsOf({ filters, sort, order, columns }: Wish): Record<string, string> {
  const { document = '' } = place.value.params;
  return { document, filters, sort, order: order === 'desc' ? order : '', columns: columns.join(',') };
}

export const isPlain = ({ filters, sort, order }: Wish): boolean =>
  sort === '' && order === 'asc' && filtersOf(parseRows(filters)) === undefined;

const PAGE_DOCUMENTS = 500;
/** The server's maximum page size. */
const PAGE_DOCUMENTS_MAX = 10_000;
const PAGE_CHUNKS = 500;

export function useListing(at: At, wish: Wish): Pages<Listed> {
  const { sort, order } = wish;
  const filters = filtersOf(parseRows(wish.filters));
  // Of a document with chunks on two pages.
  const last = useRef('');
  return usePages(JSON.stringify([at, filters, sort, order]), async (cursor, signal, lengthBefore) => {
    if (isPlain(wish)) {
      const limit = Math.min(PAGE_DOCUMENTS_MAX, Math.max(PAGE_DOCUMENTS, lengthBefore));
      const { documents, next_cursor: next } = await listDocuments(at, limit, cursor, signal);
      return { entries: documents, next };
    }
    const body = { sort: { ...(sort && { field: sort }), order }, ...(filters && { filters }) };
    const page = { k: PAGE_CHUNKS, with_text: false, cursor: cursor ?? '*' };
    const { matches, next_cursor: next } = await search(at, { ...body, ...page }, signal);
    if (cursor === undefined) last.current = '';
    const entries: Listed[] = [];
    for (const { id, meta } of matches) {
      const docid = docidOf(id);
      if (docid === last.current) continue;
      last.current = docid;
      entries.push({
        docid,
        metadata: Object.fromEntries(ownFields(meta)),
        ...(typeof meta.filename === 'string' && { filename: meta.filename }),
        ...(typeof meta.ingested_at === 'string' && { ingested_at: meta.ingested_at }),
      });
    }
    return { entries, next };
  });
}

/** Fields that are offered. */
const FIELDS_MAX = 40;

/** The metadata fields of the listed documents, in the order of their names. */
export const useFields = (entries: readonly Listed[], { sort, columns }: Wish): readonly string[] =>
  useMemo(() => {
    const found = new Set([...columns, ...(sort ? [sort] : [])]);
    for (const { metadata = {} } of entries)
      for (const [name, value] of ownFields(metadata))
        if (found.size < FIELDS_MAX && (typeof value !== 'object' || Array.isArray(value))) found.add(name);
    return [...found].sort();
  }, [entries, sort, columns.join()]);

export function ListTools({ wish, fields }: { wish: Wish; fields: readonly string[] }) {
  const change = (changes: Partial<Wish>) => goInPlace({ params: paramsOf({ ...wish, ...changes }) });
  const { filters, sort, order, columns } = wish;
  const turn = (name: string, isOn: boolean) =>
    change({ columns: isOn ? [...columns, name] : columns.filter((each) => each !== name) });
  return (
    <details class="list-tools" open={!isPlain(wish) || columns.length > 0}>
      <summary>Filter, sort, columns</summary>
      <div>
        <FilterRows value={filters} onChange={(value) => change({ filters: value })} />
        <fieldset>
          <legend>Order</legend>
          <Choice
            label="Sort by"
            value={sort}
            choices={[['', 'document id'], ...fields.map((name) => [name, name] as const)]}
            onChoice={(value) => change({ sort: value })}
          />
          <Tick
            label="descending"
            isOn={order === 'desc'}
            onTurn={(isOn) => change({ order: isOn ? 'desc' : 'asc' })}
          />
        </fieldset>
        <fieldset>
          <legend>Columns</legend>
          {fields.length === 0 && <p class="faint">The listed documents have no metadata.</p>}
          {fields.map((name) => (
            <Tick label={name} isOn={columns.includes(name)} onTurn={(isOn) => turn(name, isOn)} />
          ))}
        </fieldset>
      </div>
    </details>
  );
}

/** The value of a metadata field as a cell. */
export function cellOf({ metadata = {} }: Listed, field: string): string {
  const value = metadata[field];
  if (value === undefined || value === null) return '';
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}
