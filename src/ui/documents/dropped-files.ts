// The files of what was dropped: of folders all that are below them.
// Called by drop-zone.tsx, at once in the event: afterwards the browser has forgotten what was dropped.

/** Beyond that a folder is for the command line. */
export const FILES_MAX = 5000;

export interface Dropped {
  readonly file: File;
  /** Below the place from which it was dropped: `notes/2026/may.md`; of a file that was dropped by itself its name. */
  readonly path: string;
}

export interface Drop {
  readonly files: Dropped[];
  /** Paths that the browser may not read. */
  readonly unread: string[];
}

/** `isCut` where there were more than are taken. */
export async function droppedFiles(transfer: DataTransfer): Promise<Drop & { isCut: boolean }> {
  const entries = [...transfer.items].flatMap((item) => item.webkitGetAsEntry() ?? []);
  if (entries.length === 0)
    return { files: [...transfer.files].map((file) => ({ file, path: file.name })), unread: [], isCut: false };
  const drop: Drop = { files: [], unread: [] };
  for (const entry of entries) await gather(entry, drop);
  return { files: drop.files.slice(0, FILES_MAX), unread: drop.unread, isCut: drop.files.length > FILES_MAX };
}

/** A file or folder that cannot be read does not keep the others from being taken. */
async function gather(entry: FileSystemEntry, drop: Drop): Promise<void> {
  if (drop.files.length > FILES_MAX || entry.name.startsWith('.')) return;
  const path = entry.fullPath.replace(/^\//, '');
  try {
    if (entry.isFile)
      drop.files.push({
        file: await new Promise<File>((resolve, reject) => (entry as FileSystemFileEntry).file(resolve, reject)),
        path,
      });
    else for (const below of await entriesOf(entry as FileSystemDirectoryEntry)) await gather(below, drop);
  } catch {
    drop.unread.push(path);
  }
}

/** The reader gives them a hundred at a time, and none at the end. */
async function entriesOf(folder: FileSystemDirectoryEntry): Promise<FileSystemEntry[]> {
  const reader = folder.createReader();
  const found: FileSystemEntry[] = [];
  for (;;) {
    const some = await new Promise<FileSystemEntry[]>((resolve, reject) => reader.readEntries(resolve, reject));
    if (some.length === 0) return found;
    found.push(...some);
  }
}
