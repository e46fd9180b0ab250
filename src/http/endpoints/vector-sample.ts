// A sample of a collection's vectors: query string in, use case, reply out.
// A handler on the front thread. The route table (routes.ts) names it.
import typia from 'typia';
import type { VectorSample, VectorSampleParameters } from '../../contract/api/vectors.js';
import { VECTOR_SAMPLE_DEFAULT } from '../../contract/limits.js';
import type { Context } from '../../service/context.js';
import { sampleVectors } from '../../service/sample-vectors.js';
import { numbersIn } from '../query-values.js';
import type { Handler } from '../route.js';
import { fitting } from '../validation.js';
import { collectionOf } from './path.js';

const validateQuery = typia.createValidate<VectorSampleParameters>();

export const getVectorSample =
  (context: Context): Handler =>
  async (request) => {
    const [tenant, name] = collectionOf(request);
    const { sample = VECTOR_SAMPLE_DEFAULT } = fitting(validateQuery(numbersIn(request.query, 'sample')), 'query');
    const collection = context.catalog.get(tenant, name);
    const vectors = await sampleVectors(context, collection, sample, request.signal);
    const json: VectorSample = { tenant, collection: name, dim: collection.dim, vectors, count: vectors.length };
    return { status: 200, json };
  };
