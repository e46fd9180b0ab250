// The searches that all databases are asked for: by vector, under filters, by text; each with the requests of one of
// them and the right answers. Used by load/suite/peers.ts.
import type { CannonRequest } from '../../kit/hammer.js';
import type { Contestant } from './field.js';
import type { Judged } from './measure.js';
import { send, type Filter } from './peer.js';
import { HUNDREDTH, K, nearest, TENTH, type questions, type RowSet } from './rows.js';

export interface Workload {
  /** In words of the command line. */
  readonly name: string;
  readonly title: string;
  readonly about: string;
  readonly takesPart: (contestant: Contestant) => boolean;
  readonly requests: (contestant: Contestant) => CannonRequest[];
  /** Absent where nobody knows the right answers. */
  readonly judged?: (contestant: Contestant) => Judged;
}

/** What is searched, without a full stop. */
export const searchedIn = ({ rows, source }: RowSet): string =>
  `${rows.length.toLocaleString('en-US')} vectors of 384 numbers (${source}), k ${K}, text and metadata returned`;

/** `judged`: over so many queries recall is taken. */
export function vectorWorkloads(set: RowSet, judged: number): Workload[] {
  const over = searchedIn(set);
  return [
    vectorWorkload(set, judged, { name: 'peers-vectors', title: 'Search by vector', about: `${over}.` }),
    vectorWorkload(
      set,
      judged,
      {
        name: 'peers-filter-10',
        title: 'Search by vector under a filter that one row in 10 fits',
        about: `${over}; a metadata field equals a string.`,
      },
      TENTH,
    ),
    vectorWorkload(
      set,
      judged,
      {
        name: 'peers-filter-1',
        title: 'Search by vector under a filter that one row in 100 fits',
        about: `${over}; a metadata field equals a string.`,
      },
      HUNDREDTH,
    ),
  ];
}

function vectorWorkload(
  set: RowSet,
  judged: number,
  words: Pick<Workload, 'name' | 'title' | 'about'>,
  filter?: Filter,
): Workload {
  const truth = nearest(set, judged, filter);
  const requests = ({ driver }: Contestant): CannonRequest[] =>
    set.queries.map((query) => driver.byVector(query, K, filter));
  return {
    ...words,
    takesPart: () => true,
    requests,
    judged: (contestant) => ({
      requests: requests(contestant).slice(0, truth.length),
      hits: contestant.driver.hits,
      truth,
      textOf: (row) => set.rows[row]!.text,
    }),
  };
}

export const takesTexts = ({ driver }: Contestant): boolean => driver.texts !== undefined;

/** `truth`: rows of the judged questions, where there is who tells them. */
export function textWorkload(
  texts: readonly string[],
  { judged, unseen }: ReturnType<typeof questions>,
  truth: readonly (readonly number[])[] | undefined,
): Workload {
  return {
    name: 'peers-texts',
    title: 'Search by text',
    about: `${texts.length.toLocaleString('en-US')} texts of 22 words, k ${K}; each database embeds the questions itself, through all-MiniLM-L6-v2, and has seen none of them before. Right are the nearest by Sheaf's exact scan.`,
    takesPart: takesTexts,
    requests: ({ driver }) => {
      const ask = (text: string): CannonRequest => driver.texts!.byText(text, K);
      return [{ ...ask(''), setupRequest: () => ask(unseen()) }];
    },
    ...(truth && {
      judged: ({ driver }: Contestant): Judged => ({
        requests: judged.map((text) => driver.texts!.byText(text, K)),
        hits: driver.texts!.hits,
        truth,
        textOf: (row) => texts[row]!,
      }),
    }),
  };
}

/** The nearest rows of each question, every vector scored. */
export async function exactByText({ driver, url }: Contestant, asked: readonly string[]): Promise<number[][]> {
  const rows: number[][] = [];
  for (const text of asked)
    rows.push(driver.texts!.hits(await send(url, driver.texts!.byText(text, K, true))).map(({ row }) => row));
  return rows;
}
