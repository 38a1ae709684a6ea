/**
 * How much there is to hold: `npm run size`. Lines, tokens, files, crumbs, long files and functions, public names, import cycles.
 * TypeScript 7 ships no scanner, so tokens are counted here as its scanner would: texts, numbers and patterns are where `oxc-parser` says,
 * what is between them are words and marks. Comments and white space are none.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, normalize, resolve } from 'node:path'
import { parseSync, Visitor } from 'oxc-parser'
import { exportsOf } from './docs/sources.ts'
import { cycles, importGraph } from '../test/support/imports.ts'

const root = resolve(import.meta.dirname, '..')

/** Written by a script, or downloaded: no one reads or changes it by hand. */
const GENERATED = /-data\.(?:ts|json)$|\.d\.ts$/
const CODE = /\.(?:tsx?|jsx?|mjs)$/
const CRUMB_LINES = 40
const LONG_FILE = 600
const LONG_FUNCTION = 80

interface File {
  readonly path: string
  readonly text: string
  readonly lines: number
}

const linesOf = (text: string): number => text.split('\n').length - 1

const filesIn = (folder: string): File[] =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .map((file) => join(folder, file))
    .filter((path) => CODE.test(path) && !/node_modules|\/dist\//.test(path))
    .sort()
    .map((path) => {
      const text = readFileSync(join(root, path), 'utf8')
      return { path, text, lines: linesOf(text) }
    })

const isGenerated = ({ path }: File): boolean => GENERATED.test(path)
const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0)

interface Span {
  readonly start: number
  readonly end: number
}

const WORD_OR_MARK =
  /[\p{ID_Start}$_#@][\p{ID_Continue}$]*|\d[\w.]*|\.\.\.|=>|[=!]==?|\*\*=?|\?\?=?|&&=?|\|\|=?|\?\.|\+\+|--|<<=?|<=|[-+*/%&|^]=|[^\s\p{ID_Start}]/gu

function tokensOf({ path, text }: File): number {
  const atoms: Span[] = []
  const { program, comments } = parseSync(path, text)
  const keep = ({ start, end }: Span): void => void atoms.push({ start, end })
  new Visitor({
    Literal: keep,
    JSXText: keep,
    // With the marks on both sides of it, as the scanner has it.
    TemplateElement: keep,
  }).visit(program)
  const skipped = [...atoms, ...comments].sort((one, other) => one.start - other.start)
  let count = atoms.filter(({ start, end }) => text.slice(start, end).trim() !== '').length
  let at = 0
  for (const { start, end } of [...skipped, { start: text.length, end: text.length }]) {
    if (start > at) count += text.slice(at, start).match(WORD_OR_MARK)?.length ?? 0
    at = Math.max(at, end)
  }
  return count
}

/** Files of at most 40 lines that one other file imports. */
function crumbsIn(files: readonly File[]): string[] {
  const importers = new Map<string, number>()
  for (const { path, text } of files) {
    const imported = [...text.matchAll(/from\s+'(\.[^']+)'|import\('(\.[^']+)'\)/g)]
    for (const one of new Set(imported.map((match) => normalize(join(dirname(path), match[1] ?? match[2]!)))))
      importers.set(one, (importers.get(one) ?? 0) + 1)
  }
  return files.filter(({ path, lines }) => lines <= CRUMB_LINES && importers.get(path) === 1).map(({ path }) => path)
}

/** Functions by their place, with the lines from their first to their last. */
function longFunctionsIn({ path, text }: File): string[] {
  const found: string[] = []
  const starts = [0]
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) starts.push(at + 1)
  const lineAt = (offset: number): number => {
    let [low, high] = [0, starts.length - 1]
    while (low < high) {
      const middle = Math.ceil((low + high) / 2)
      if (starts[middle]! <= offset) low = middle
      else high = middle - 1
    }
    return low + 1
  }
  const look = ({ start, end }: { readonly start: number; readonly end: number }): void => {
    const [from, to] = [lineAt(start), lineAt(end - 1)]
    if (to - from + 1 > LONG_FUNCTION) found.push(`${path}:${from} (${to - from + 1})`)
  }
  const visitor = new Visitor({
    FunctionDeclaration: look,
    FunctionExpression: look,
    ArrowFunctionExpression: look,
  })
  visitor.visit(parseSync(path, text).program)
  return found
}

const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
  exports: Record<string, string | { default: string }>
}
const faces = Object.entries(manifest.exports).flatMap(([subpath, entry]) =>
  typeof entry === 'string'
    ? []
    : [{ subpath, file: join(root, entry.default.replace('./dist/', 'src/').replace(/\.js$/, '.ts')) }],
)
const namesOf = faces.map(({ file }) => exportsOf(file).map(({ name }) => name))

const shipped = [...filesIn('src'), ...filesIn('dashboard')]
const written = shipped.filter((file) => !isGenerated(file))
const src = written.filter(({ path }) => path.startsWith('src/'))
const test = filesIn('test')
const crumbs = crumbsIn(src)
const longFiles = written.filter(({ lines }) => lines > LONG_FILE).map(({ path, lines }) => `${path} (${lines})`)
const longFunctions = written.flatMap(longFunctionsIn)
const graph = importGraph()
const runtime = cycles(graph, ({ typeOnly }) => !typeOnly)
const withTypes = cycles(graph, () => true)

const rows: readonly (readonly [what: string, value: number])[] = [
  ['hand-written lines that ship', sum(written.map(({ lines }) => lines))],
  ['  of them in src', sum(src.map(({ lines }) => lines))],
  ['tokens in them, comments left out', sum(written.map(tokensOf))],
  ['files in src (hand-written)', src.length],
  [`  of at most ${CRUMB_LINES} lines with one importer`, crumbs.length],
  [`files above ${LONG_FILE} lines`, longFiles.length],
  [`functions above ${LONG_FUNCTION} lines`, longFunctions.length],
  ['public names, by module', sum(namesOf.map((names) => names.length))],
  ['public names, each once', new Set(namesOf.flat()).size],
  ['subpaths', faces.length],
  ['  beside adapters', faces.filter(({ subpath }) => !subpath.startsWith('./adapters/')).length],
  ['import cycles at run time', runtime.length],
  ['import cycles with types', withTypes.length],
  ['lines in test', sum(test.map(({ lines }) => lines))],
]

const isJson = process.argv.includes('--json')
const isVerbose = process.argv.includes('--list')
if (isJson) console.log(JSON.stringify(Object.fromEntries(rows.map(([what, value]) => [what.trim(), value]))))
else for (const [what, value] of rows) console.log(`${what.padEnd(46)} ${value.toLocaleString('en').padStart(9)}`)
if (!isJson)
  console.log(
    `\ngenerated, not counted: ${shipped
      .filter(isGenerated)
      .map(({ path }) => path)
      .join(', ')}`,
  )
if (isVerbose) console.log(JSON.stringify({ longFiles, longFunctions, withTypes, crumbs }, undefined, 1))
