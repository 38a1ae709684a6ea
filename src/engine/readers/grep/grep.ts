import { PlimsollError } from '../../../core/errors.ts'
import type { ArtifactStat } from '../../../ports/artifact-store.ts'
import { grepOutput } from './grep-output.ts'
import { scanStretch, type GrepScan } from './grep-scan.ts'
import { yieldNow } from '../../../util/yield-now.ts'
import { lineMatcher } from './line-matcher.ts'
import { linesOf } from '../lines/line-stream.ts'
import { grouped, type Reader, type ReaderAnswer } from '../reader.ts'

export interface GrepRequest {
  readonly handle: string
  /** RE2 syntax: what most engines share, without lookaround and back-references. */
  readonly pattern: string
  readonly ignoreCase?: boolean
  /** The pattern is plain text. */
  readonly fixed?: boolean
  /** Lines that do not match. */
  readonly invert?: boolean
  /** Lines shown around each match, 20 at most. @default 0 */
  readonly context?: number
  /** Matches shown. @default 50 */
  readonly limit?: number
  /** Matches passed over first. @default 0 */
  readonly offset?: number
}

const MAX_CONTEXT = 20
const DEFAULT_LIMIT = 50
const HEADER_BYTES = 420

/** Finds lines. Linear in the artifact whatever the pattern, with totals even where not all can be shown. */
export async function artifactGrep(reader: Reader, request: GrepRequest): Promise<ReaderAnswer> {
  const { limit = DEFAULT_LIMIT, offset = 0, invert = false } = request
  const context = Math.min(request.context ?? 0, MAX_CONTEXT)
  for (const [name, value] of Object.entries({ limit, offset, context })) {
    if (!Number.isSafeInteger(value) || value < 0)
      throw new PlimsollError('bad-input', `${name} must be a whole number from 0; it is ${value}.`)
  }
  const matcher = lineMatcher(request.pattern, request)
  const stat = await reader.find(request.handle)
  const output = grepOutput(reader.room(1) - HEADER_BYTES, context, offset, limit)
  const scanned = await scanAll(reader, stat, { matcher, invert, everyLine: context > 0, output })
  const stopped =
    scanned < stat.bytes
      ? `; stopped after ${grouped(reader.timeoutMs)} ms at byte ${grouped(scanned)} of ${grouped(stat.bytes)}`
      : ''
  const { text, shown, matches, full, least } = output.end()
  const pattern = JSON.stringify(request.pattern).slice(0, 200)
  const header = `${stat.handle} ${least ? 'at least ' : ''}${grouped(matches)} ${invert ? 'lines do not match' : 'matches of'} ${pattern}${stopped}`
  const last = offset + shown
  const more =
    last < matches
      ? `\n[shown ${shown === 0 ? 'none' : `${offset + 1}-${last}`} of ${grouped(matches)}; more: offset=${last}]`
      : ''
  return reader.answer(`${header}${text === '' ? '' : `\n${text}`}${more}`, [stat.handle], stopped !== '' || full)
}

/** Looks at all of an artifact, or as much as the time allows; how far it came. Others work in between. */
async function scanAll(reader: Reader, stat: ArtifactStat, scan: GrepScan): Promise<number> {
  const deadline = reader.clock.now() + reader.timeoutMs
  const pause = yieldNow()
  for await (const stretches of linesOf(reader, stat)) {
    for (const stretch of stretches) {
      const place = (done: number): number =>
        Math.min(stat.bytes, stretch.start + Buffer.byteLength(stretch.text.slice(0, done)))
      for (const done of scanStretch(stretch, scan)) {
        await pause()
        if (reader.clock.now() >= deadline) return place(done)
      }
      await pause()
      if (reader.clock.now() >= deadline) return Math.min(stat.bytes, place(stretch.text.length) + 1)
    }
  }
  return stat.bytes
}
