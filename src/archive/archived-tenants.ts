// The tenants and keys of an archive: checked as those are that the admin makes. Pure; used where archives are verified.
import typia, { type tags } from 'typia';
import { isDeeperThan } from '../base/levels.js';
import type { QuotaBody } from '../contract/api/tenants.js';
import { isSlug } from '../contract/ids.js';
import { KEY_FILTERS_BYTES_MAX, METADATA_LEVELS_MAX } from '../contract/limits.js';
import type { Scope, StoredTenants } from '../contract/tenants.js';
import { parseFilter } from '../rank/parse-filter.js';

type Time = string & tags.Format<'date-time'>;
type Label = string & tags.MaxLength<512>;

interface ArchivedTenants {
  tenants: (Required<Omit<QuotaBody, 'max_concurrent'>> & {
    tenant: string;
    display_name: Label | null;
    created_at: Time;
  })[];
  keys: {
    tenant: string;
    key_id: string & tags.Format<'uuid'>;
    label: Label;
    digest: string & tags.Pattern<'^[0-9a-f]{64}$'>;
    created_at: Time;
    expires: Time | null;
    revoked_at: Time | null;
    scopes: Scope[] | null;
    collections: string[] | null;
    filters: Record<string, unknown> | null;
  }[];
}

const isOfShape = typia.createIs<ArchivedTenants>();
const prune = typia.misc.createPrune<ArchivedTenants>();

/** Whether it is tenants and keys; what is none of their fields goes. */
export function areTenants(value: unknown): value is StoredTenants {
  if (!isOfShape(value) || isDeeperThan(METADATA_LEVELS_MAX, value)) return false;
  prune(value);
  const { tenants, keys } = value;
  const names = [...tenants, ...keys].map(({ tenant }) => tenant);
  const collections = keys.flatMap(({ collections: own }) => own ?? []);
  return (
    [...names, ...collections].every(isSlug) && keys.every(({ filters }) => filters === null || areFilters(filters))
  );
}

function areFilters(filters: Record<string, unknown>): boolean {
  try {
    parseFilter(filters, { stringOperators: false });
    return Buffer.byteLength(JSON.stringify(filters)) <= KEY_FILTERS_BYTES_MAX;
  } catch {
    return false;
  }
}
