// In how many bits the vectors of a collection stand in memory; the store always has the numbers as they came.
// Read by the create endpoint, the catalog's record and the shard workers. Constants.

/** `int16`: about 1 KB for a vector of 384 numbers. `int8`: about 0.6 KB, its cosines within about .005. */
export const PRECISIONS = ['int16', 'int8'] as const;

export type Precision = (typeof PRECISIONS)[number];

/** Of a collection that names none, and of records from the time before there was a choice. */
export const PRECISION_DEFAULT: Precision = 'int16';
