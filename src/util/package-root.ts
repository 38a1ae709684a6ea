import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { pathToFileURL } from 'node:url'

/** Where this package lies, whether its sources run or what was built of them: the build moves code into other files. */
export const packageRoot = (): URL =>
  new URL('.', pathToFileURL(createRequire(import.meta.url).resolve('plimsoll/package.json')))

export function packageVersion(): string {
  const manifest = JSON.parse(readFileSync(new URL('package.json', packageRoot()), 'utf8')) as { version: string }
  return manifest.version
}
