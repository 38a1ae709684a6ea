import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { brotliCompressSync, brotliDecompressSync, constants } from 'node:zlib'
import type { WireName } from '../support/generators/index.ts'
import type { Play } from './play.ts'

const FOLDER = resolve(import.meta.dirname, '../fixtures/goldens')

/** The plays of a wire by name. Their lines can be read in a diff; what left lies beside them, packed, to say where it differs. */
export type Goldens = Readonly<Record<string, readonly string[]>>

const linesFile = (wire: WireName): string => resolve(FOLDER, `${wire}.json`)
const textsFile = (wire: WireName): string => resolve(FOLDER, `${wire}.bodies.br`)

export const readGoldens = (wire: WireName): Goldens =>
  existsSync(linesFile(wire)) ? (JSON.parse(readFileSync(linesFile(wire), 'utf8')) as Goldens) : {}

export function writeGoldens(wire: WireName, plays: ReadonlyMap<string, Play>): void {
  const entries = [...plays]
  const texts = Object.fromEntries(entries.map(([name, { sent }]) => [name, [...sent]]))
  // One request repeats nearly all of the one before: a window that holds both packs the second into nothing.
  const params = {
    [constants.BROTLI_PARAM_QUALITY]: 9,
    [constants.BROTLI_PARAM_LGWIN]: constants.BROTLI_MAX_WINDOW_BITS,
  }
  mkdirSync(FOLDER, { recursive: true })
  writeFileSync(
    linesFile(wire),
    `${JSON.stringify(Object.fromEntries(entries.map(([name, { lines }]) => [name, lines])), undefined, 1)}\n`,
  )
  writeFileSync(textsFile(wire), brotliCompressSync(JSON.stringify(texts), { params }))
}

function goldenText(wire: WireName, play: string, line: number): string | undefined {
  const texts = JSON.parse(brotliDecompressSync(readFileSync(textsFile(wire))).toString()) as Record<
    string,
    readonly (readonly [line: number, text: string])[]
  >
  return texts[play]?.find(([at]) => at === line)?.[1]
}

/** Where a play first leaves its golden, in words; undefined where they are equal. */
export function differenceTo(wire: WireName, name: string, { lines, sent }: Play): string | undefined {
  const golden = readGoldens(wire)[name]
  if (golden === undefined) return `There is no golden of ${name} on ${wire}: npm run goldens:write.`
  const at = Array.from({ length: Math.max(golden.length, lines.length) }, (_, i) => i).find(
    (i) => golden[i] !== lines[i],
  )
  if (at === undefined) return undefined
  const [before, now] = [goldenText(wire, name, at), sent.get(at)]
  return [
    `${name} on ${wire} leaves its golden at line ${at + 1} of ${golden.length}:`,
    `golden: ${golden[at] ?? '(it ends here)'}`,
    `now:    ${lines[at] ?? '(it ends here)'}`,
    ...(before === undefined || now === undefined ? [] : firstDifference(before, now)),
  ].join('\n')
}

/** Characters shown on each side of the first difference. */
const SIDE = 160

function firstDifference(before: string, now: string): string[] {
  let at = 0
  while (at < before.length && before[at] === now[at]) at++
  const around = (text: string): string =>
    JSON.stringify(text.slice(Math.max(0, at - SIDE), at)) + ' ⟨here⟩ ' + JSON.stringify(text.slice(at, at + SIDE))
  return [`first at character ${at}:`, `golden: ${around(before)}`, `now:    ${around(now)}`]
}
