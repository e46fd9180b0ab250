// Unpacks the fixtures of older builds, which test/kit/data/make-fixture.mjs makes.
import { mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import JSZip from 'jszip';
import { tempDirectory } from './temp.js';

const FOLDER = 'test/kit/data';

export const FIXTURES = readdirSync(FOLDER).filter((name) => name.startsWith('sheaf-'));

/** Unpacks a fixture into a folder of its own, and returns the folder. */
export async function unpackFixture(name: string): Promise<string> {
  const folder = tempDirectory();
  const zip = await JSZip.loadAsync(readFileSync(join(FOLDER, name)));
  for (const file of Object.values(zip.files).filter(({ dir }) => !dir)) {
    mkdirSync(dirname(join(folder, file.name)), { recursive: true });
    writeFileSync(join(folder, file.name), await file.async('nodebuffer'));
  }
  return folder;
}
