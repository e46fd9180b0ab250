// The certificate and key of an HTTPS server, checked before anything starts: the HTTP library only says that it failed.
import { readFileSync } from 'node:fs';
import { createSecureContext } from 'node:tls';
import { ConfigError } from './kinds.js';

export interface TlsFiles {
  /** PEM: the certificate, then those that lead to its root. */
  readonly certFile: string;
  /** PEM: the private key of the first certificate. */
  readonly keyFile: string;
}

/**
 * Throws ConfigError where a file is not given, cannot be read or holds the wrong thing, or the two do not belong
 * together.
 */
export function checkTlsFiles({ certFile, keyFile }: TlsFiles): void {
  const cert = read('server.tls.cert', certFile);
  const key = read('server.tls.key', keyFile);
  attempt({ cert }, `server.tls.cert: ${certFile} holds no certificate in PEM`);
  attempt({ key }, `server.tls.key: ${keyFile} holds no private key in PEM, or one with a passphrase`);
  attempt({ cert, key }, `server.tls.key: ${keyFile} is not the key of ${certFile}`);
}

function read(name: string, file: string): Buffer {
  if (file === '') throw new ConfigError(`${name} is not given: HTTPS wants server.tls.cert and server.tls.key`);
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
