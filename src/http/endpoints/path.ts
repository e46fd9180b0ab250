// Path parameters as the ids they are.
// Called by the handlers of the other files here, on the front thread; throws AppError for bad slugs.
import { asCollectionName, asTenant, type CollectionName, type Tenant } from '../../contract/ids.js';
import type { Request } from '../route.js';

export const tenantOf = ({ params }: Request): Tenant => asTenant(params.tenant ?? '');

/** Tenant and collection; the specification calls the latter {name} here and {collection} there. */
export function collectionOf(request: Request): [Tenant, CollectionName] {
  const tenant = tenantOf(request);
  return [tenant, asCollectionName(request.params.name ?? request.params.collection ?? '')];
}

export const param = ({ params }: Request, name: string): string => params[name] ?? '';
