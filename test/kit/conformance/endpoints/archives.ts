// The archive rows of the specification: the archive of everything for the admin, and the archive of a collection for
// the admin and for its tenant.
import { fileForm } from '../../server.js';
import { ANSWERS } from '../shapes.js';
import { BAD_SEGMENT, type Compose, type Endpoint, NO_SLUG, type Scene } from '../endpoint.js';

const DATASET = '/v1/admin/archive';
const ADMIN = '/v1/admin/collections';
const OWN = '/v1/collections';

const formOf = (bytes: Uint8Array): FormData => fileForm('archive.zip', bytes);
const NO_ZIP = new TextEncoder().encode('no zip');

const at = (base: string, { tenant }: Scene, name: string): string => `${base}/${tenant}/${name}/archive`;
const archiveOf = (scene: Scene): Promise<Uint8Array> => scene.download(at(OWN, scene, 'docs'));

function rows(base: string, access: 'admin' | 'tenant', [get, post, put]: readonly (readonly number[])[]): Endpoint[] {
  const path = `${base}/{tenant}/{name}/archive`;
  const bad: Readonly<Record<number, Compose>> = {
    400: (scene) => ({ path: at(base, scene, `${scene.collection}-bad`), body: formOf(NO_ZIP) }),
    404: (scene) => ({ path: at(base, scene, 'no-such-collection'), body: formOf(NO_ZIP) }),
    409: (scene) => ({ path: at(base, scene, scene.collection), body: formOf(NO_ZIP) }),
    413: (scene) => ({ path: at(base, scene, scene.collection), body: formOf(new Uint8Array(2 ** 21)) }),
    422: (scene) => ({ path: at(base, scene, BAD_SEGMENT), body: formOf(NO_ZIP) }),
  };
  return [
    {
      method: 'GET',
      path,
      access,
      success: 200,
      others: get ?? [],
      answer: 'application/zip',
      valid: (scene) => ({ path: at(base, scene, scene.collection) }),
      provoke: {
        400: (scene) => ({ path: at(base, scene, NO_SLUG) }),
        404: (scene) => ({ path: at(base, scene, 'no-such-collection') }),
        422: (scene) => ({ path: at(base, scene, BAD_SEGMENT) }),
      },
    },
    {
      method: 'POST',
      path,
      access,
      success: 200,
      others: post ?? [],
      answer: ANSWERS.restored,
      valid: async (scene) => ({
        path: at(base, scene, `${await scene.fresh()}-restored`),
        body: formOf(await archiveOf(scene)),
      }),
      provoke: {
        ...bad,
        413: (scene) => ({ path: at(base, scene, 'too-large'), body: formOf(new Uint8Array(2 ** 21)) }),
      },
    },
    {
      method: 'PUT',
      path,
      access,
      success: 200,
      others: put ?? [],
      answer: ANSWERS.restored,
      valid: async (scene) => ({ path: at(base, scene, await scene.fresh()), body: formOf(await archiveOf(scene)) }),
      provoke: { ...bad, 400: async (scene) => ({ path: at(base, scene, await scene.fresh()), body: formOf(NO_ZIP) }) },
    },
  ];
}

export const ARCHIVE_ENDPOINTS: readonly Endpoint[] = [
  {
    method: 'GET',
    path: DATASET,
    access: 'admin',
    success: 200,
    others: [401, 403, 404, 500],
    answer: 'application/zip',
    valid: () => ({ path: DATASET }),
    never: { 404: 'an empty dataset has an archive too' },
  },
  {
    method: 'PUT',
    path: DATASET,
    access: 'admin',
    success: 200,
    others: [400, 401, 403, 422, 500],
    answer: ANSWERS.restoredDataset,
    valid: async (scene) => ({ path: DATASET, body: formOf(await scene.download(DATASET)) }),
    provoke: {
      400: () => ({ path: DATASET, body: formOf(NO_ZIP) }),
      422: () => ({ path: `${DATASET}?dry_run=maybe`, body: formOf(NO_ZIP) }),
    },
  },
  ...rows(ADMIN, 'admin', [
    [400, 401, 403, 404, 422, 500],
    [400, 401, 403, 409, 422, 429, 500],
    [400, 401, 403, 404, 422, 500],
  ]),
  ...rows(OWN, 'tenant', [
    [400, 401, 403, 404, 422, 429, 500, 503],
    [400, 401, 403, 409, 413, 422, 429, 500, 503],
    [400, 401, 403, 404, 413, 422, 429, 500, 503],
  ]),
];
