// Validates the certificate and key of an HTTPS server before the start, because the HTTP library only reports that it
// failed.
import { readFileSync } from 'node:fs';
import { createSecureContext } from 'node:tls';
import { ConfigError } from './kinds.js';

export interface TlsFiles {
  /** PEM: the certificate, followed by the chain to its root. */
  readonly certFile: string;
  /** PEM: the private key of the first certificate. */
  readonly keyFile: string;
}

/**
 * Throws ConfigError if a file is not set, cannot be read or has the wrong content, or if the key does not belong to
 * the certificate.
 */
export function checkTlsFiles({ certFile, keyFile }: TlsFiles): void {
  const cert = read('server.tls.cert', certFile);
  const key = read('server.tls.key', keyFile);
  attempt({ cert }, `server.tls.cert: ${certFile} contains no certificate in PEM`);
  attempt({ key }, `server.tls.key: ${keyFile} contains no private key in PEM, or one with a passphrase`);
  attempt({ cert, key }, `server.tls.key: ${keyFile} is not the key of ${certFile}`);
}

function read(name: string, file: string): Buffer {
  if (file === '') throw new ConfigError(`${name} is not set: HTTPS needs server.tls.cert and server.tls.key`);
  try {
    return readFileSync(file);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new ConfigError(`${name}: ${code === 'ENOENT' ? 'there is no file' : 'cannot read'} ${file}`, {
      cause: error,
    });
  }
}

function attempt(options: { cert?: Buffer; key?: Buffer }, message: string): void {
  try {
    createSecureContext(options);
  } catch (error) {
    throw new ConfigError(message, { cause: error });
  }
}
