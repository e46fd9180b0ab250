// The form of a workload, as its YAML file has it: what is filled, what is asked and how fast, what goes on beside it.
// README.md of load tells each key to its users. Read by read-workload.ts, which checks files against it.
import type { tags } from 'typia';

type Whole<Min extends number> = number & tags.Type<'uint32'> & tags.Minimum<Min>;
type Seconds = number & tags.Minimum<0> & tags.Maximum<3600>;
type Rate = number & tags.ExclusiveMinimum<0> & tags.Maximum<1_000_000>;
type Slug = string & tags.Pattern<'^[a-z][a-z0-9-]{0,39}$'>;

export interface Workload {
  name: Slug;
  title: string;
  about: string;
  /** Of a server of its own: configuration by environment variables. */
  server?: Record<string, string>;
  fill: Fill[] & tags.MinItems<1>;
  traffic?: RequestKind[] & tags.MinItems<1>;
  /** As fast as so many connections carry the traffic. */
  closed_loop?: { connections: Whole<1>; seconds: Seconds; warm_up_seconds?: Seconds };
  /** On a schedule: at shares of what the closed loop reached, or at rates, a second. */
  open_loop?: { shares?: (number & tags.ExclusiveMinimum<0> & tags.Maximum<2>)[]; rates?: Rate[]; seconds: Seconds };
  /** The first rate of the open loop again, beside each of these. */
  beside?: Beside[];
  /** Searches by vector again, exactly: how many, and of how many hits. */
  recall?: { queries: Whole<1>; k: Whole<1> };
  /** Stops the server and kills it, and starts it again each time. */
  restart?: boolean;
}

export interface Fill {
  /** Of the collection; several get a number behind it. */
  name: Slug;
  of: 'vectors' | 'texts';
  documents: Whole<1>;
  /** Of vectors; 384 where it is not given. Only these can be real ones. */
  dim?: Whole<2>;
  collections?: Whole<1>;
  /** Collections of one tenant share its lane in the server's queues. */
  tenant?: Slug;
}

export interface RequestKind {
  kind: 'search' | 'ingest' | 'read' | 'health';
  /** In the report. */
  name?: string;
  /** Of all requests, by weight; 1 where it is not given. */
  share?: number & tags.ExclusiveMinimum<0>;
  /** Of `fill`; its first where it is not given. */
  collection?: Slug;
  /** Of a search, beside its `q` or `v`: k, mode, filters and so on. */
  body?: Record<string, unknown>;
  /** Of an ingest: how many documents it replaces at once. */
  documents?: Whole<1>;
}

export interface Beside {
  name: string;
  /** `traffic` on connections of its own as fast as they carry it, `reindex` jobs or `archive`s one after the other. */
  kind: 'traffic' | 'reindex' | 'archive';
  traffic?: RequestKind[] & tags.MinItems<1>;
  connections?: Whole<1>;
  /** What is reindexed or archived; the first of `fill` where it is not given. */
  collection?: Slug;
}
