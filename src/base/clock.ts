/** Whole seconds since 1970, the unit of idle times. */
export const nowSeconds = (): number => Math.floor(Date.now() / 1000);
