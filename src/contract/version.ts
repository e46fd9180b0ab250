// The version of the interface this server speaks, told by /health and recorded in each collection.
// Both change together with the specification and the records in src/store.

export const SERVICE_VERSION = '0.9.7';
/** Layout of the records in LMDB; raised by every change that an older server could not read. */
export const SCHEMA_VERSION = 1;
