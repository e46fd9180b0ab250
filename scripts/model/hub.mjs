// The model hub: the files of a model at one commit, and the bytes of a file from an offset on. The listing comes from
// @huggingface/hub; the bytes are downloaded here, since the library neither resumes nor checks a download.
import { HubApiError, listFiles, modelInfo } from '@huggingface/hub';
import { busyFault, networkFault, Refusal, retrying } from './faults.mjs';

const HUB = 'https://huggingface.co';
const FILES_MAX = 10_000;

/** Opens the hub of HF_ENDPOINT with the token of HF_TOKEN. `note` receives a line for each retry. */
export function openHub({ HF_ENDPOINT, HF_TOKEN }, note) {
  const url = (HF_ENDPOINT || HUB).replace(/\/+$/, '');
  const token = HF_TOKEN?.trim() || undefined;
  if (!/^https?:\/\/[^/]/.test(url) || !URL.canParse(url))
    throw new Refusal(`HF_ENDPOINT should be an http or https address, not ${url}`);
  if (token && !token.startsWith('hf_')) throw new Refusal('HF_TOKEN should begin with hf_');
  const access = {
    hubUrl: url,
    accessToken: token,
    fetch: (page, init) => retrying(note, () => request(page, withoutStrayToken(url, page, init))),
  };
  return {
    url,
    list: (name, revision) => list(access, name, revision),
    open: (file, options) => open(access, file, options),
    note,
  };
}

/**
 * Removes the token from a request to another origin than the hub: a listing may name any address for its next page.
 * For redirects, `fetch` removes it by itself.
 */
function withoutStrayToken(hubUrl, page, init) {
  const { Authorization, ...headers } = init.headers;
  return new URL(page).origin === new URL(hubUrl).origin ? init : { ...init, headers };
}

async function request(url, init) {
  const response = await fetch(url, init).catch((error) => {
    throw networkFault(url, error);
  });
  const busy = busyFault(url, response);
  if (busy === undefined) return response;
  await response.body?.cancel();
  throw busy;
}

/** The files with size and digest, pinned to the commit that the revision names now. */
async function list(access, name, revision) {
  try {
    const { name: repo, sha: commit } = await modelInfo({ ...access, name, revision, additionalFields: ['sha'] });
    if (!/^[0-9a-f]{40}$/.test(commit) || typeof repo !== 'string')
      throw new Refusal(`${access.hubUrl} does not answer as a hub does`);
    const files = [];
    for await (const entry of listFiles({
      ...access,
      repo: { type: 'model', name },
      revision: commit,
      recursive: true,
    })) {
      if (entry.type === 'file') files.push(checkedFile(repo, entry));
      if (files.length > FILES_MAX) throw new Refusal(`${repo} has more than ${FILES_MAX} files`);
    }
    return { repo, commit, files };
  } catch (error) {
    throw listingFault(access.hubUrl, name, revision, error);
  }
}

function listingFault(hubUrl, name, revision, error) {
  if (error instanceof SyntaxError) return new Refusal(`${hubUrl} does not answer as a hub does: ${error.message}`);
  if (!(error instanceof HubApiError)) return error;
  if (error.statusCode === 403)
    return new Refusal(
      `${name} is given to those only who accept its terms: do so at ${hubUrl}/${name}, and set HF_TOKEN`,
    );
  if (![401, 404].includes(error.statusCode)) return new Refusal(error.message);
  return new Refusal(
    `${hubUrl} has no model ${name} with revision ${revision}, or it is private: check the name, and HF_TOKEN for a private one`,
  );
}

/**
 * A file of the listing, checked. Large files have a SHA-256, small ones Git's own digest. A path that leads out of the
 * folder is taken for an attack.
 */
function checkedFile(repo, { path, size, oid, lfs }) {
  const digest = lfs ? `sha256:${lfs.oid.replace('sha256:', '')}` : `git-sha1:${oid}`;
  if (!isInside(path))
    throw new Refusal(
      `${repo} lists the path ${JSON.stringify(path)}, which leads out of its folder: nothing of it is fetched`,
    );
  if (!Number.isSafeInteger(size) || size < 0 || !/^(sha256:[0-9a-f]{64}|git-sha1:[0-9a-f]{40})$/.test(digest))
    throw new Refusal(`${repo} lists ${path} without size or checksum`);
  return { path, size, digest };
}

const isInside = (path) =>
  typeof path === 'string' && !/[\\\0]/.test(path) && path.split('/').every((part) => !['', '.', '..'].includes(part));

/** Requests the bytes of a file from `start` on; the hub may send all of them instead. */
async function open({ hubUrl, accessToken }, { repo, commit, path }, { start, signal }) {
  const url = `${hubUrl}/${repo}/resolve/${commit}/${path.split('/').map(encodeURIComponent).join('/')}`;
  // Without compression, since the range and the length count the bytes of the file.
  const headers = {
    'accept-encoding': 'identity',
    ...(start > 0 && { range: `bytes=${start}-` }),
    ...(accessToken && { authorization: `Bearer ${accessToken}` }),
  };
  const response = await request(url, { headers, signal });
  if (response.ok || response.status === 416) return response;
  throw new Refusal(
    `${new URL(response.url).host} answers ${response.status} for ${path}${[401, 403].includes(response.status) ? `: see ${hubUrl}/${repo}, and set HF_TOKEN` : ''}`,
  );
}
