import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { gzipSync } from 'node:zlib'
import { fileURLToPath } from 'node:url'
import { PlimsollError } from '../core/errors.ts'
import { packageRoot } from '../util/package-root.ts'
import type { Report } from './page-types.ts'

export interface StaticFile {
  readonly type: string
  readonly bytes: Uint8Array
  /** The same, compressed. */
  readonly packed: Uint8Array
  /** Its name contains a hash of its content. */
  readonly isForever: boolean
}

/** Built by `npm run build` and shipped with the package. */
const FOLDER = 'dist/page'

const TYPES: Readonly<Record<string, string>> = {
  html: 'text/html; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  svg: 'image/svg+xml',
}

/** Only names that our build makes are served, whatever is on the disk. */
const NAME = /^\/(?:assets\/[A-Za-z0-9_-]+\.(?:js|css|svg)|index\.html)$/

const read = new Map<string, Promise<StaticFile | undefined>>()

/** A file of the page, read once; undefined for other paths. */
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
  return { type, bytes, packed: gzipSync(bytes), isForever: name.startsWith('/assets/') }
}

/** Only the page's own script may run, and nothing is fetched. */
const policyOf = (script: string, style: string): string =>
  `default-src 'none'; script-src '${hashOf(script)}'; style-src '${hashOf(style)}'; base-uri 'none'; form-action 'none'`

const hashOf = (text: string): string => `sha256-${createHash('sha256').update(text).digest('base64')}`

/** The page as a single file with a report, which needs no server and no network. */
export async function singlePage(report: Report): Promise<string> {
  const html = await textOf('/index.html')
  const partOf = async (pattern: RegExp): Promise<string> => textOf(pattern.exec(html)?.[1] ?? '/index.html')
  const script = withoutTags(await partOf(/src="\.(\/assets\/[^"]+\.js)"/))
  const style = await partOf(/href="\.(\/assets\/[^"]+\.css)"/)
  const head = `<meta http-equiv="Content-Security-Policy" content="${policyOf(script, style)}">`
  return html
    .replace(/ *<link rel="icon"[^>]*>\n/, '')
    .replace(/<script type="module"[^>]*><\/script>/, () => `${head}\n    <style>${style}</style>`)
    .replace(/ *<link rel="stylesheet"[^>]*>\n/, '')
    .replace('</body>', () => {
      // Text of a transcript must not become markup; in JSON the escape means the same.
      const data = JSON.stringify(report).replaceAll('<', '\\u003c')
      return `<script type="application/json" id="report">${data}</script>\n<script type="module">${script}</script>\n</body>`
    })
}

async function textOf(path: string): Promise<string> {
  const file = await staticFile(path)
  if (file === undefined)
    throw new PlimsollError('not-found', 'The dashboard has not been built.', { advice: 'Run npm run build.' })
  return new TextDecoder().decode(file.bytes)
}

/** These would end the script or start a comment. They only occur in JavaScript strings, where the escape means the same. */
const withoutTags = (text: string): string => text.replace(/<(?=\/script|!--)/gi, '\\u003c')
