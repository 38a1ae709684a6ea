import { type Fields, isRecord, listOf } from '../../core/values.ts'
import { MAX_CACHE_MARKS } from './rule-book.ts'
import type { RuleContext } from './rule-turns.ts'

interface PlacedMark {
  readonly mark: Fields
  readonly holder: Fields
  readonly path: string
}

/** Rules of cache marks over the whole request, in the order the vendor processes it: tools, system, messages. */
export function checkCacheMarks({ body, found }: RuleContext): void {
  const marks = marksOf(body)
  if (marks.length > MAX_CACHE_MARKS) {
    found.report(
      'cache-marks-max',
      marks[MAX_CACHE_MARKS]?.path ?? '',
      `A maximum of ${MAX_CACHE_MARKS} blocks with cache_control may be provided. Found ${marks.length}.`,
    )
  }
  let short = false
  for (const { mark, holder, path } of marks) {
    const ttl = mark.ttl ?? '5m'
    if (mark.type !== 'ephemeral' || (ttl !== '5m' && ttl !== '1h')) {
      found.report('cache-mark-shape', path, "Input tag should be 'ephemeral', with ttl '5m' or '1h'")
    }
    if (ttl === '1h' && short) {
      found.report(
        'cache-ttl-order',
        path,
        "a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block. " +
          'Note that blocks are processed in the following order: `tools`, `system`, `messages`.',
      )
    }
    short ||= ttl !== '1h'
    if (holder.type === 'thinking' || holder.type === 'redacted_thinking') {
      found.report('cache-mark-place', path, `cache_control cannot be set for ${holder.type} blocks`)
    } else if (holder.type === 'text' && holder.text === '') {
      found.report('cache-mark-place', path, 'cache_control cannot be set for empty text blocks')
    }
  }
}

function marksOf(body: Fields): PlacedMark[] {
  const marks: PlacedMark[] = []
  addMarks(marks, body.tools, 'tools')
  addMarks(marks, body.system, 'system')
  listOf(body.messages).forEach((message, index) => {
    if (!isRecord(message)) return
    listOf(message.content).forEach((block, at) => {
      if (!isRecord(block)) return
      const isInside = block.type === 'tool_result' && listOf(block.content).some(isMarked)
      if (!isInside && !isMarked(block)) return
      const path = `messages.${index}.content.${at}`
      if (isInside) addMarks(marks, block.content, `${path}.content`)
      addMark(marks, block, path)
    })
  })
  // At the top level it stands for a mark on the last block that can carry one.
  addMark(marks, body, '')
  return marks
}

const isMarked = (holder: unknown): boolean => isRecord(holder) && isRecord(holder.cache_control)

function addMarks(marks: PlacedMark[], list: unknown, path: string): void {
  listOf(list).forEach((holder, index) => {
    if (isRecord(holder)) addMark(marks, holder, `${path}.${index}`)
  })
}

function addMark(marks: PlacedMark[], holder: Fields, path: string): void {
  const mark = holder.cache_control
  if (isRecord(mark)) marks.push({ mark, holder, path: path === '' ? 'cache_control' : `${path}.cache_control` })
}
