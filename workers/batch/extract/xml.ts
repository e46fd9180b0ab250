// XML by htmlparser2, as events. Document types are passed over, so there are neither entities of the file's own (no
// entity bomb) nor external ones (nothing is fetched or read). Used by the readers of OOXML, ODF and EPUB.
import { posix } from 'node:path';
import { Parser } from 'htmlparser2';

export type Attributes = Readonly<Record<string, string>>;

/** Names of elements come without their namespace prefix, those of attributes with it. */
export interface XmlEvents {
  open?(name: string, attributes: Attributes): void;
  text?(text: string): void;
  close?(name: string): void;
}

export function walkXml(xml: string, events: XmlEvents): void {
  const parser = new Parser(
    {
      onopentag: (name, attributes) => events.open?.(localName(name), attributes),
      ontext: (text) => events.text?.(text),
      onclosetag: (name) => events.close?.(localName(name)),
    },
    { xmlMode: true, decodeEntities: true },
  );
  parser.end(xml);
}

const localName = (name: string): string => name.slice(name.indexOf(':') + 1);

/** Relationship ids of an OOXML part and the entries they name. `folder`: of the part, with a slash at its end. */
export function relationshipTargets(xml: string, folder: string): Map<string, string> {
  const targets = new Map<string, string>();
  walkXml(xml, {
    open: (name, { Id, Target, TargetMode }) => {
      if (name === 'Relationship' && Id && Target && TargetMode !== 'External')
        targets.set(Id, resolveEntry(folder, Target));
    },
  });
  return targets;
}

/** An entry named relative to a folder of the package: `../media/a.png` from `ppt/slides/` is `ppt/media/a.png`. */
export const resolveEntry = (folder: string, target: string): string =>
  posix.normalize(target.startsWith('/') ? target.slice(1) : folder + target);

/** The folder of an entry, with a slash at its end; '' at the top. */
export const folderOf = (entry: string): string => entry.slice(0, entry.lastIndexOf('/') + 1);
