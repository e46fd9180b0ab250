// What every HTTP endpoint of an embedder or a reranker is configured by: where it is, its key, its bounds. The key
// comes from the environment or a file, never from the configuration itself. Used by the config files of both, at
// start.
import { readFileSync } from 'node:fs';
import { checkedMapping, type Field } from './config-mapping.js';
import { ConfigError } from './config-tenant-keys.js';
import type { RemoteEndpoint } from './contract/embedder.js';

export const ENDPOINT_FIELDS = {
  url: { kind: 'text' },
  model: { kind: 'text' },
  api_key_env: { kind: 'text', fallback: '' },
  api_key_file: { kind: 'text', fallback: '' },
  timeout_seconds: { kind: 'integer', min: 1, max: 3600, fallback: 30 },
  retries: { kind: 'integer', min: 0, max: 20, fallback: 3 },
  requests_per_minute: { kind: 'integer', min: 0, max: 1e9, fallback: 0 },
  tokens_per_minute: { kind: 'integer', min: 0, max: 1e12, fallback: 0 },
  calls_max: { kind: 'integer', min: 1, max: 256, fallback: 8 },
} as const satisfies Record<string, Field>;

/**
 * `values`: the checked values of ENDPOINT_FIELDS. Throws ConfigError for a URL that is none, and a key that is not
 * there.
 */
function endpointOf(at: string, values: Record<string, unknown>, env: NodeJS.ProcessEnv): RemoteEndpoint {
  const number = (name: keyof typeof ENDPOINT_FIELDS): number => values[name] as number;
  return {
    url: checkedUrl(`${at}.url`, values.url as string),
    model: values.model as string,
    apiKey: apiKeyOf(at, values.api_key_env as string, values.api_key_file as string, env),
    timeoutMs: number('timeout_seconds') * 1000,
    retriesMax: number('retries'),
    requestsPerMinute: number('requests_per_minute'),
    tokensPerMinute: number('tokens_per_minute'),
    callsMax: number('calls_max'),
  };
}

/** The endpoint of a mapping that has no other fields than these and `others`. */
export function readEndpoint(
  at: string,
  mapping: Record<string, unknown>,
  others: Readonly<Record<string, Field>>,
  env: NodeJS.ProcessEnv,
): { endpoint: RemoteEndpoint; values: Record<string, unknown> } {
  const values = checkedMapping(at, mapping, { ...others, ...ENDPOINT_FIELDS });
  return { endpoint: endpointOf(at, values, env), values };
}

/** What is wrong is not shown: there may be a password in it. */
function checkedUrl(at: string, text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url || !['http:', 'https:'].includes(url.protocol))
    throw new ConfigError(`${at} should be an http or https URL`);
  if (url.username || url.password || /[?#]/.test(url.href))
    throw new ConfigError(`${at} should have no user, password, query or fragment`);
  return url.href.replace(/\/+$/, '');
}

function apiKeyOf(at: string, variable: string, file: string, env: NodeJS.ProcessEnv): string {
  if (variable && file) throw new ConfigError(`${at} has both api_key_env and api_key_file: give one`);
  if (file) return checkedApiKey(`${at}.api_key_file`, readKeyFile(`${at}.api_key_file`, file));
  // Whoever writes the key itself here should not find it in the log.
  const shown = /^[A-Z][A-Z_]*$/.test(variable) ? variable : 'of that name';
  if (variable && env[variable] === undefined)
    throw new ConfigError(`${at}.api_key_env: there is no environment variable ${shown}`);
  return variable ? checkedApiKey(`${at}.api_key_env`, env[variable] as string) : '';
}

function readKeyFile(at: string, file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new ConfigError(`${at} cannot be read: ${(error as NodeJS.ErrnoException).code}`);
  }
}

/** Of other characters than these a header cannot be made. */
function checkedApiKey(at: string, text: string): string {
  const key = text.trim();
  if (!/^[\x20-\x7e]+$/.test(key))
    throw new ConfigError(
      `${at} ${key === '' ? 'leads to an empty key' : 'leads to a key that is not one line of ASCII'}`,
    );
  return key;
}
