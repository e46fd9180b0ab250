// Uploads of the client where there is fetch alone: browsers, edge runtimes, and Node in the package `sheaf-client`.
import type { Upload } from './upload.js';

/** Uploads a file as a form and returns the answer. */
export function upload({ url, method, headers, file, signal }: Upload): Promise<Response> {
  const body = new FormData();
  body.set('file', file, 'archive.zip');
  return fetch(url, { method, headers, body, ...(signal && { signal }) });
}
