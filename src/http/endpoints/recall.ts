// How good the searches of a collection are: body in, use case, reply out.
// A handler on the front thread. The route table (routes.ts) names it.
import typia from 'typia';
import type { RecallAnswer, RecallBody } from '../../contract/api/recall.js';
import { RECALL_K_DEFAULT, RECALL_SAMPLE_DEFAULT } from '../../contract/limits.js';
import type { Context } from '../../service/context.js';
import { withFaultCode } from '../../service/fault-code.js';
import { measureRecall } from '../../service/recall.js';
import type { Handler } from '../route.js';
import { fitting, parseJson } from '../validation.js';
import { collectionOf } from './path.js';

const validateBody = typia.createValidateEquals<RecallBody>();

export const postRecall =
  (context: Context): Handler =>
  async (request) => {
    const [tenant, name] = collectionOf(request);
    const { sample, k, ef, source } = fitting(validateBody(parseJson(await request.body.bytes(), true) ?? {}), 'body');
    const wish = {
      sample: sample ?? RECALL_SAMPLE_DEFAULT,
      k: k ?? RECALL_K_DEFAULT,
      ...(ef == null ? {} : { ef }),
      ...(source == null ? {} : { source }),
      signal: request.signal,
    };
    const collection = context.catalog.get(tenant, name);
    const measured = await withFaultCode('search_failed', () => measureRecall(context, collection, wish));
    const json: RecallAnswer = { tenant, collection: name, ...measured };
    return { status: 200, json };
  };
