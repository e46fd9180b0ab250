/** Whole seconds since 1970: what idle times are counted in. */
export const nowSeconds = (): number => Math.floor(Date.now() / 1000);
