// What the commands of the command line share: exit codes, options and what they mean, filters as they are typed, Ctrl-C.
import { type Command, InvalidArgumentError } from 'commander';
import { asCollectionName, asTenant } from '../api/ids.js';
import { changedNumber } from '../base/json.js';
import { SheafClient } from '../client/client.js';
import { SheafNotFound } from '../client/errors.js';
import { UsageError } from './errors.js';
import { type Input, type Output, line } from './output.js';

export interface CommandLine {
  readonly program: Command;
  readonly env: Record<string, string | undefined>;
  readonly output: Output;
  readonly stdin: Input;
  /**
   * The serve command, with variables over those of the environment; resolves with its exit code once the server has
   * stopped.
   */
  readonly serve: (variables: Record<string, string>) => Promise<number>;
  /** Told the exit code of the command that ran. */
  readonly ended: (exitCode: number) => void;
}

/** Exit codes of every command; the help of the program tells them. */
export const EXIT = { done: 0, failed: 1, usage: 2, unreachable: 3, interrupted: 130 } as const;

/** Lines for `addHelpText('after', …)`. */
export const examples = (...lines: readonly string[]): string =>
  `\nExamples:\n${lines.map((line) => `  ${line}`).join('\n')}`;

export function integerBetween(min: number, max: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (text.trim() !== '' && Number.isInteger(value) && value >= min && value <= max) return value;
    throw new InvalidArgumentError(`Give a whole number from ${min} to ${max}.`);
  };
}

export function numberBetween(min: number, max: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (text.trim() !== '' && value >= min && value <= max) return value;
    throw new InvalidArgumentError(`Give a number from ${min} to ${max}.`);
  };
}

/** For an option that may be given several times. */
export const gathered = (text: string, before: readonly string[] = []): string[] => [...before, text];

export function jsonObject(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    const number = changedNumber(text);
    if (number !== undefined)
      throw new InvalidArgumentError(`${number} has more digits than a number keeps: quote it.`);
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  } catch (error) {
    if (error instanceof InvalidArgumentError) throw error;
    // Told below, like what is JSON and no object.
  }
  throw new InvalidArgumentError('Give a JSON object, such as \'{"lang":"en"}\'.');
}

interface ServerFlags {
  url?: string;
  key?: string;
}

export interface TenantFlags extends ServerFlags {
  tenant: string;
}

export interface TargetFlags extends TenantFlags {
  collection: string;
}

export interface TenantTarget {
  client: SheafClient;
  /** Of what the client is made. */
  access: { url: string; key: string | undefined };
  tenant: string;
}

export interface Target extends TenantTarget {
  collection: string;
}

type Env = Record<string, string | undefined>;

export const URL_DEFAULT = 'http://127.0.0.1:8080';

const withServer = (command: Command): Command =>
  command
    .option('--url <url>', `address of the server; default: SHEAF_URL, else ${URL_DEFAULT}`)
    .option('--key <key>', 'API key; default: SHEAF_API_KEY');

export const withTenant = (command: Command): Command =>
  withServer(command.option('-t, --tenant <name>', 'tenant', 'default'));

export const withTarget = (command: Command, collection = 'docs'): Command =>
  withTenant(command.option('-c, --collection <name>', 'collection', collection));

/** Throws UsageError for an address that is none, or a key. */
function serverOf({ url, key }: ServerFlags, env: Env): Pick<TenantTarget, 'client' | 'access'> {
  const access = { url: url ?? env['SHEAF_URL'] ?? URL_DEFAULT, key: key ?? env['SHEAF_API_KEY'] };
  try {
    return { client: new SheafClient(access), access };
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    throw new UsageError(`${error.message} Give --url as http://HOST:PORT, and --key as it was made.`);
  }
}

/** Throws UsageError for an address that is none, AppError for a bad tenant name. */
export const tenantOf = (flags: TenantFlags, env: Env): TenantTarget => ({
  ...serverOf(flags, env),
  tenant: asTenant(flags.tenant),
});

/** Throws UsageError for an address that is none, AppError for a bad tenant or collection name. */
export const targetOf = (flags: TargetFlags, env: Env): Target => ({
  ...tenantOf(flags, env),
  collection: asCollectionName(flags.collection),
});

const OPERATORS: Readonly<Record<string, string>> = { '>=': '$gte', '<=': '$lte', '>': '$gt', '<': '$lt', '!=': '$ne' };
const FORM = /^([^=<>!]+)(>=|<=|!=|=|>|<)(.*)$/su;
/** Longer ones stay texts, which keep their digits. */
const NUMBER = /^-?\d{1,15}(\.\d+)?$/;

export type Filters = Record<string, unknown>;

/**
 * A filter as it is typed, such as `lang=en`, `year>=2020` or `draft!=true`, beside those before it, as the filters of a
 * search body. The same field with `=` again means any of the values, with others all of the bounds.
 */
export function filterWord(word: string, before: Filters = {}): Filters {
  const [, field = '', operator = '', text = ''] = FORM.exec(word) ?? [];
  if (field.trim() === '')
    throw new InvalidArgumentError('Give it as FIELD=VALUE, or with >=, <=, >, < or != in place of =.');
  const name = field.trim();
  const known = before[name];
  if (operator !== '=')
    return {
      ...before,
      [name]: {
        ...(isBounds(known) ? known : {}),
        [OPERATORS[operator] as string]: NUMBER.test(text) ? Number(text) : text,
      },
    };
  if (known === undefined || isBounds(known)) return { ...before, [name]: text };
  return { ...before, [name]: [...(Array.isArray(known) ? known : [known]), text] };
}

const isBounds = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Ctrl-C during long work: the first one ends the work in good order, a second one ends the process as usual. */
export async function withInterrupt<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const controller = new AbortController();
  const interrupt = (): void => controller.abort();
  process.once('SIGINT', interrupt);
  try {
    return await work(controller.signal);
  } finally {
    process.off('SIGINT', interrupt);
  }
}

/**
 * A collection that is not there answers like an empty one. A command that found nothing says so, since it is mostly a
 * name that was left out or mistyped.
 */
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
