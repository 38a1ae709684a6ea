import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { packageRoot } from '../util/package-root.ts'

export interface StaticFile {
  readonly type: string
  readonly bytes: Uint8Array
  /** Its name carries a hash of what it holds. */
  readonly isForever: boolean
}

/** Built by `npm run build` and shipped with the package. */
const FOLDER = 'dist/dashboard'

const TYPES: Readonly<Record<string, string>> = {
  html: 'text/html; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  svg: 'image/svg+xml',
}

/** Names are our own build's; anything else is no file of ours, whatever is on the disk. */
const NAME = /^\/(?:assets\/[A-Za-z0-9_-]+\.(?:js|css|svg)|index\.html)$/

const read = new Map<string, Promise<StaticFile | undefined>>()

/** A file of the page; undefined for a path that is none. Each is read once. */
export function staticFile(path: string): Promise<StaticFile | undefined> {
  const name = path === '/' ? '/index.html' : path
  if (!NAME.test(name)) return Promise.resolve(undefined)
  let file = read.get(name)
  if (file === undefined) read.set(name, (file = load(name)))
  return file
}

async function load(name: string): Promise<StaticFile | undefined> {
  const bytes = await readFile(fileURLToPath(new URL(FOLDER + name, packageRoot()))).catch(() => undefined)
  if (bytes === undefined) {
    read.delete(name)
    return undefined
  }
  const type = TYPES[name.split('.').at(-1)!]!
  return { type, bytes, isForever: name.startsWith('/assets/') }
}
