// Uploads of the package `sheaf-client`, in place of src/client/upload.ts: where there is fetch alone.
import type { Upload } from '../../../src/client/upload.js';

/** Uploads a file as a form and returns the answer. */
export function upload({ url, method, headers, file, signal }: Upload): Promise<Response> {
  const body = new FormData();
  body.set('file', file, 'archive.zip');
  return fetch(url, { method, headers, body, ...(signal && { signal }) });
}
