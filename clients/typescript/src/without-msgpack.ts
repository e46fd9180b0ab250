// Takes the place of msgpackr in the package `sheaf-client`, of which it would be more than half: the encoding `msgpack`
// is that of the client in the server's own package.

/** Throws TypeError when a value is packed. */
export class Packr {
  pack(): never {
    throw new TypeError('sheaf-client sends JSON: the encoding `msgpack` is that of `sheaf/client`.');
  }

  unpack(): never {
    return this.pack();
  }
}
