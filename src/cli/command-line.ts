// Shared parts of the commands: exit codes, common options, filters as they are typed, Ctrl-C.
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
   * The serve command, with variables that override the environment. Resolves to its exit code once the server has
   * stopped.
   */
  readonly serve: (variables: Record<string, string>) => Promise<number>;
  /** Receives the exit code of the command. */
  readonly ended: (exitCode: number) => void;
}

/** What a data directory gets from now on is for the user of this process alone: files 0600, folders 0700. */
export const makeFilesPrivate = (): void => void process.umask(0o077);

/** Exit codes of all commands; the program help lists them. */
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

/** Collects the values of an option that may be repeated. */
export const gathered = (text: string, before: readonly string[] = []): string[] => [...before, text];

export function jsonObject(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    const number = changedNumber(text);
    if (number !== undefined)
      throw new InvalidArgumentError(`${number} has more digits than a number can keep: quote it.`);
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  } catch (error) {
    if (error instanceof InvalidArgumentError) throw error;
    // Reported below, like JSON that is not an object.
  }
  throw new InvalidArgumentError('Give a JSON object, such as \'{"lang":"en"}\'.');
}

export interface ServerFlags {
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
  /** The options of the client. */
  access: { url: string; key: string | undefined };
  tenant: string;
}

export interface Target extends TenantTarget {
  collection: string;
}

type Env = Record<string, string | undefined>;

export const URL_DEFAULT = 'http://127.0.0.1:8080';

export const withServer = (command: Command): Command =>
  command
    .option('--url <url>', `address of the server; default: SHEAF_URL, else ${URL_DEFAULT}`)
    .option('--key <key>', 'API key; default: SHEAF_API_KEY');

export const withTenant = (command: Command): Command =>
  withServer(command.option('-t, --tenant <name>', 'tenant', 'default'));

export const withTarget = (command: Command, collection = 'docs'): Command =>
  withTenant(command.option('-c, --collection <name>', 'collection', collection));

/** Throws UsageError for an invalid address or key. */
export function serverOf({ url, key }: ServerFlags, env: Env): Pick<TenantTarget, 'client' | 'access'> {
  const access = { url: url ?? env['SHEAF_URL'] ?? URL_DEFAULT, key: key ?? env['SHEAF_API_KEY'] };
  try {
    return { client: new SheafClient(access), access };
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    throw new UsageError(`${error.message} Use --url http://HOST:PORT, and --key with an unchanged key.`);
  }
}

/** Throws UsageError for an invalid address, AppError for an invalid tenant name. */
export const tenantOf = (flags: TenantFlags, env: Env): TenantTarget => ({
  ...serverOf(flags, env),
  tenant: asTenant(flags.tenant),
});

/** Throws UsageError for an invalid address, AppError for an invalid tenant or collection name. */
export const targetOf = (flags: TargetFlags, env: Env): Target => ({
  ...tenantOf(flags, env),
  collection: asCollectionName(flags.collection),
});

const OPERATORS: Readonly<Record<string, string>> = { '>=': '$gte', '<=': '$lte', '>': '$gt', '<': '$lt', '!=': '$ne' };
const FORM = /^([^=<>!]+)(>=|<=|!=|=|>|<)(.*)$/su;
/** Longer numbers stay strings, which keep all digits. */
const NUMBER = /^-?\d{1,15}(\.\d+)?$/;

export type Filters = Record<string, unknown>;

/**
 * Adds a filter such as `lang=en`, `year>=2020` or `draft!=true` to those before it, as the filters of a search body. A
 * field repeated with `=` means any of the values; with other operators, all of them apply.
 */
export function filterWord(word: string, before: Filters = {}): Filters {
  const [, field = '', operator = '', text = ''] = FORM.exec(word) ?? [];
  if (field.trim() === '') throw new InvalidArgumentError('Use FIELD=VALUE, or >=, <=, >, < or != in place of =.');
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

/** Handles Ctrl-C during long work: the first one aborts `signal`, a second one ends the process as usual. */
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
 * Reports that a collection does not exist. A missing collection answers like an empty one, and a command that finds
 * nothing mostly has a missing or mistyped name.
 */
export async function tellMissing({ client, tenant, collection }: Target, { stderr }: Output): Promise<void> {
  const failure: unknown = await client.collectionDetail(tenant, collection).then(
    () => undefined,
    (error: unknown) => error,
  );
  if (failure instanceof SheafNotFound)
    line(
      stderr,
      `There is no collection ${tenant}/${collection}: name another with -c and -t. sheaf collections lists the existing ones.`,
    );
}
