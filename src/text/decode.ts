// Decodes the bytes of a text file to a string without losing characters. Pure functions.
import { isUtf8 } from 'node:buffer';

/**
 * The characters of the bytes 0x80 to 0x9f in Windows-1252, in which it differs from Latin-1 (WHATWG Encoding Standard,
 * which leaves none unassigned).
 */
const WINDOWS_1252_HIGH = '€\x81‚ƒ„…†‡ˆ‰Š‹Œ\x8dŽ\x8f\x90‘’“”•–—˜™š›œ\x9džŸ';

/**
 * The number of bytes of a page that are searched for its charset. The HTML standard asks for 1024 bytes, which some
 * pages exceed.
 */
const CHARSET_WITHIN_BYTES = 65_536;
/**
 * Charset names that are ignored: those that are read as windows-1252 anyway, and those that a page with ASCII markup
 * cannot have.
 */
const NO_CHOICE = /^(windows-1252|cp1252|iso-?8859-1|latin-?1|(us-)?ascii|utf-?16.*)$/i;

/**
 * The text of `bytes`. A byte order mark decides between UTF-16 LE, UTF-16 BE and UTF-8, and is dropped. Without one,
 * the text is UTF-8 if the bytes are valid UTF-8, else windows-1252, in which every byte is a character. NUL and other
 * control characters are kept. Invalid UTF-16 (a lone surrogate, an odd last byte) becomes U+FFFD, so the result is
 * always well-formed. Throws RangeError or ERR_STRING_TOO_LONG for a text longer than a string can be (half a GiB).
 */
export function decodeText(bytes: Uint8Array): string {
  if (startsWith(bytes, 0xff, 0xfe)) return new TextDecoder('utf-16le').decode(bytes);
  if (startsWith(bytes, 0xfe, 0xff)) return new TextDecoder('utf-16be').decode(bytes);
  if (isUtf8(bytes)) return new TextDecoder('utf-8').decode(bytes);
  return decodeWindows1252(startsWith(bytes, 0xef, 0xbb, 0xbf) ? bytes.subarray(3) : bytes);
}

/**
 * The text of an HTML or XHTML page. It is decoded as by `decodeText`, except that if the bytes are not UTF-8 and the
 * page names a charset in which they are valid, that charset is used.
 */
export function decodeMarkup(bytes: Uint8Array): string {
  const hasMark = startsWith(bytes, 0xff, 0xfe) || startsWith(bytes, 0xfe, 0xff);
  if (hasMark || isUtf8(bytes)) return decodeText(bytes);
  const head = Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.length, CHARSET_WITHIN_BYTES)).toString(
    'latin1',
  );
  const charset = /<(?:meta|\?xml)[^>]*?(?:charset|encoding)\s*=\s*["']?\s*([\w:.-]+)/i.exec(head)?.[1];
  if (charset === undefined || NO_CHOICE.test(charset)) return decodeText(bytes);
  try {
    return new TextDecoder(charset, { fatal: true }).decode(bytes);
  } catch {
    return decodeText(bytes);
  }
}

/**
 * Implemented here because TextDecoder('windows-1252') decodes as Latin-1 in Node 20.18.3 and later and in most
 * versions of 22 (nodejs/node#56542).
 */
function decodeWindows1252(bytes: Uint8Array): string {
  const units = new Uint16Array(bytes.length);
  for (let i = 0; i < bytes.length; i++) {
    const byte = bytes[i]!;
    units[i] = byte >= 0x80 && byte < 0xa0 ? WINDOWS_1252_HIGH.charCodeAt(byte - 0x80) : byte;
  }
  return Buffer.from(units.buffer).toString('utf16le');
}

function startsWith(bytes: Uint8Array, ...head: number[]): boolean {
  return head.every((byte, i) => bytes[i] === byte);
}
