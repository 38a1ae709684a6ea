import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { pathToFileURL } from 'node:url'

/** The folder of this package, both from its sources and from the build, which moves code into other files. */
export const packageRoot = (): URL =>
  new URL('.', pathToFileURL(createRequire(import.meta.url).resolve('plimsoll/package.json')))

export function packageVersion(): string {
  const manifest = JSON.parse(readFileSync(new URL('package.json', packageRoot()), 'utf8')) as { version: string }
  return manifest.version
}
