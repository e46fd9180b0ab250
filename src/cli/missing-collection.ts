// A collection that is not there answers like an empty one. To somebody at a terminal that is said, since it is mostly
// a name that was left out or mistyped. Called by the commands that found nothing.
import { SheafNotFound } from '../client/errors.js';
import { line, type Output } from './output.js';
import type { Target } from './target.js';

export async function tellMissing({ client, tenant, collection }: Target, { stderr }: Output): Promise<void> {
  const failure: unknown = await client.collectionDetail(tenant, collection).then(
    () => undefined,
    (error: unknown) => error,
  );
  if (failure instanceof SheafNotFound)
    line(
      stderr,
      `There is no collection ${tenant}/${collection}: name another with -c and -t. sheaf collections lists what there is.`,
    );
}
