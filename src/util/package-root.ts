import { readFileSync } from 'node:fs'
import nodeModule from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

/** Where packages are looked for: beside this module, or where the program runs when a bundler has left no place of its own. */
export const here = (): string => import.meta.url || pathToFileURL(join(process.cwd(), 'index.js')).href

/** `require` in a way that bundlers do not follow: what it loads need not be there when an application is built. */
export const packageRequire = (base = here()): NodeJS.Require => nodeModule.createRequire(base)

/** The folder of this package, both from its sources and from the build, which moves code into other files. */
export const packageRoot = (): URL => new URL('.', pathToFileURL(packageRequire().resolve('plimsoll/package.json')))

export function packageVersion(): string {
  const manifest = JSON.parse(readFileSync(new URL('package.json', packageRoot()), 'utf8')) as { version: string }
  return manifest.version
}
