import { recordOf, parsedJson } from '../../core/values.ts'
import type { Handle } from '../../core/handles.ts'
import { CLAUDE_CODE, stripVolatile } from '../../core/identity.ts'
import type { Branch } from '../session/branch.ts'
import type { EngineDeps } from '../deps.ts'
import { headTail } from '../intake/index.ts'
import { byteLength } from '../intake/text.ts'

/** A text that was made from artifacts: it may get shorter, and is never stored, since a handle of a handle leads in circles. */
export interface Derived {
  readonly handles: readonly Handle[]
  /** The text within so many tokens, still known for what it is. */
  shorten(maxTokens: number, countTokens: (text: string) => number): string
}

/** Longer texts are neither answers of readers, which are bounded, nor views, which fit into a window. */
const MOST_CHARACTERS = 4_000_000

/** Recognises a reader's answer by its seal and a view of this session by its hash; undefined for what a tool itself wrote. */
export function derivedFrom(
  { provenance, hash }: Pick<EngineDeps, 'provenance' | 'hash'>,
  { tenant, log }: Pick<Branch, 'tenant' | 'log'>,
  text: string,
): Derived | undefined {
  if (text.length > MOST_CHARACTERS || !text.includes('art_')) return undefined
  // Clients put reminders behind results; a wire may carry the text inside an object.
  const plain = stripVolatile(text, CLAUDE_CODE).trimEnd()
  for (const candidate of [plain, ...stringsIn(plain)]) {
    const read = provenance.handlesOf(tenant, candidate)
    const handles = read ?? log.views.get(viewKey(hash, candidate))
    if (handles === undefined) continue
    return {
      handles,
      shorten(maxTokens, countTokens) {
        const note = `\n[shortened to fit; ${handles.join(', ')} ${handles.length === 1 ? 'has' : 'have'} the whole]`
        const sealed = (body: string): string =>
          read === undefined ? `${body}${note}` : provenance.seal(tenant, `${body}${note}`, handles)
        const body = read === undefined ? candidate : provenance.open(candidate)
        const room = maxTokens - countTokens(sealed(''))
        return sealed(endsOf(body, room, countTokens))
      },
    }
  }
  return undefined
}

/** What `BranchLog.views` knows a view by. */
export const viewKey = (hash: EngineDeps['hash'], text: string): string => hash(`view:${text.trim()}`)

/** Mostly the beginning: a reader's answer begins where it was asked to. */
const HEAD_LINES = 3_000
const TAIL_LINES = 1_000

const endsOf = (text: string, maxTokens: number, countTokens: (text: string) => number): string =>
  maxTokens <= 0
    ? ''
    : headTail(text, {
        headLines: HEAD_LINES,
        tailLines: TAIL_LINES,
        maxBytes: byteLength(text),
        maxTokens,
        countTokens,
      }).text

function stringsIn(text: string): readonly string[] {
  const fields = text.startsWith('{') ? recordOf(parsedJson(text)) : undefined
  return Object.values(fields ?? {}).filter((value) => typeof value === 'string')
}
