/** Whole seconds since 1970, the unit of idle times. */
export const nowSeconds = (): number => Math.floor(Date.now() / 1000);

/** Milliseconds of a monotonic clock that all threads share; performance.now() counts from the start of its thread. */
export const sharedNowMs = (): number => Number(process.hrtime.bigint()) / 1e6;
