// What `sheaf check` finds and `sheaf repair` does, as lines for the operator, and how a collection is named in them.
// Made by the files of this folder, printed by the command line.
import type { CollectionId } from '../../contract/ids.js';

export interface Finding {
  /** Folder of the environment, such as `shard-0`. */
  environment: string;
  /** Tenant and name, or the number of one that the catalog does not know. */
  collection?: string;
  /** Document id, where it is known. */
  document?: string;
  what: string;
}

/** Tenant/name by id. */
export type CollectionNames = ReadonlyMap<CollectionId, string>;

export const nameOf = (names: CollectionNames, id: CollectionId): string => names.get(id) ?? `number ${id}`;

export function findingLine({ environment, collection, document, what }: Finding): string {
  const where = [
    environment,
    collection && `collection ${collection}`,
    document !== undefined && `document ${JSON.stringify(document)}`,
  ];
  return `${where.filter(Boolean).join(', ')}: ${what}`;
}
