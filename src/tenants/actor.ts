// Who calls, and what for: the words between authentication, the route table and the use cases. Types only.

/** Who may call a route: anyone; the admin (metrics, admin); the tenant in the path or the admin; any valid key. */
export type Access = 'public' | 'metrics' | 'admin' | 'tenant' | 'any';

/** What a key or token may be used for. `search`: search and read; `ingest`: write and delete documents; `manage`: make, change, archive and delete collections. */
export type Scope = 'search' | 'ingest' | 'manage';

export interface Actor {
  /** For the search log. */
  readonly name: string;
  readonly admin: boolean;
  /** The tenants the key is good for; undefined for all. */
  readonly tenants?: readonly string[];
  /** undefined for all. */
  readonly scopes?: readonly Scope[];
  /** The collections the key sees; undefined for all. */
  readonly collections?: readonly string[];
  /** Metadata filters that are ANDed to every search of this actor. */
  readonly filters?: Readonly<Record<string, unknown>>;
}

export interface Credentials {
  /** Header value by lower-case name; '' when absent. */
  header(name: string): string;
  readonly params: Readonly<Record<string, string>>;
}
