// Storing judgement sets: their queries are parsed one by one, as the searches of a batch are. Runs on the main thread.
import { type JUDGEMENT_ROUTES, type JudgedQuery, checkJudgedQuery } from '../../api/judgements.js';
import { asCollectionName } from '../../api/ids.js';
import { JSON_BODY_SHAPE, JUDGED_QUERIES_MAX } from '../../api/limits.js';
import { batchItems } from '../../extract/batch-body.js';
import { type JudgementsContext, putJudgementSet } from '../../service/collections/judgements.js';
import { fitting, parseJson, parsedInTurns } from '../json-body.js';
import { type OwnHandlers, collectionOf, param } from '../route.js';

export const judgementHandlers = (context: JudgementsContext): OwnHandlers<typeof JUDGEMENT_ROUTES> => ({
  putJudgementSet: async (request) => {
    const [tenant, name] = collectionOf(request);
    const set = asCollectionName(param(request, 'set'));
    const queries = await readQueries(await request.body.bytes());
    return { status: 200, json: await putJudgementSet(context, tenant, name, set, queries) };
  },
});

function readQueries(bytes: Buffer): Promise<JudgedQuery[]> {
  const items = batchItems(bytes, { field: 'queries', itemsMax: JUDGED_QUERIES_MAX, isMsgpack: false });
  return parsedInTurns(items as Buffer[], (item) =>
    fitting(checkJudgedQuery(parseJson(item, false, JSON_BODY_SHAPE)), 'body'),
  );
}
