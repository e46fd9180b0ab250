// The files of what was dropped: of folders all that are below them.
// Called by drop-zone.tsx, at once in the event: afterwards the browser has forgotten what was dropped.

/** Beyond that a folder is for the command line. */
export const FILES_MAX = 5000;

export async function droppedFiles(transfer: DataTransfer): Promise<File[]> {
  const entries = [...transfer.items].flatMap((item) => item.webkitGetAsEntry() ?? []);
  if (entries.length === 0) return [...transfer.files];
  const files: File[] = [];
  for (const entry of entries) await gather(entry, files);
  return files;
}

async function gather(entry: FileSystemEntry, files: File[]): Promise<void> {
  if (files.length >= FILES_MAX || entry.name.startsWith('.')) return;
  if (entry.isFile) files.push(await new Promise<File>((resolve, reject) => (entry as FileSystemFileEntry).file(resolve, reject)));
  else for (const below of await entriesOf(entry as FileSystemDirectoryEntry)) await gather(below, files);
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
