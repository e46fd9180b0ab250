// How a value goes out as the body of a request, by content type: JSON, NDJSON, a form.
// Pure; used by requests.ts and damage.ts.

export const sentType = (type: string): string => (type.startsWith('multipart/') ? `${type}; boundary=b0undary` : type);

/** Lone surrogates replaced: no UTF-8 can carry them. */
export const wellFormed = (text: string): string => Buffer.from(text).toString();

/** JSON, two lines of it for NDJSON, or a form whose `file` is a text file. */
export function encoded(given: unknown, type: string): Buffer {
  if (type.includes('ndjson')) return Buffer.from([given, given].map((line) => JSON.stringify(line)).join('\n'));
  if (!type.startsWith('multipart/')) return Buffer.from((JSON.stringify(given) as string | undefined) ?? '');
  const parts = Object.entries((given ?? {}) as Record<string, unknown>).map(
    ([name, value]) =>
      `--b0undary\r\nContent-Disposition: form-data; name="${name}"${name === 'file' ? '; filename="random.txt"' : ''}\r\n\r\n${typeof value === 'object' ? JSON.stringify(value) : String(value)}\r\n`,
  );
  return Buffer.from(`${parts.join('')}--b0undary--\r\n`);
}
