// Which collection of which server a command works on: the options that ingest, search and demo share, and what they mean.
// Called by program.ts.
import type { Command } from 'commander';
import { SheafClient } from '../client/client.js';
import { asCollectionName, asTenant } from '../contract/ids.js';
import { UsageError } from './explain-error.js';

export interface Target {
  client: SheafClient;
  tenant: string;
  collection: string;
}

export interface TargetFlags {
  url: string;
  key?: string;
  tenant: string;
  collection: string;
}

export function withTarget(command: Command, collection: string): Command {
  return command
    .option('-c, --collection <name>', 'collection', collection)
    .option('-t, --tenant <name>', 'tenant', 'default')
    .option('--url <url>', 'address of the server', 'http://127.0.0.1:8080')
    .option('--key <key>', 'API key; default: SHEAF_API_KEY');
}

/** Throws UsageError for an address that is none, AppError for a bad tenant or collection name. */
export function targetOf({ url, key, tenant, collection }: TargetFlags, env: Record<string, string | undefined>): Target {
  try {
    const client = new SheafClient({ url, key: key ?? env['SHEAF_API_KEY'] });
    return { client, tenant: asTenant(tenant), collection: asCollectionName(collection) };
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    throw new UsageError(`${error.message} Give --url as http://HOST:PORT.`);
  }
}
