import type { StreamEvent } from '../../../core/codec.ts'
import { type Fields, isRecord, recordsIn, textOf } from '../../../core/values.ts'
import { wireOf } from '../../../formats/registry.ts'
import type { AnswerEnd, AnswerHead, AnswerPart } from '../../../formats/wire/answer.ts'
import { stopOf } from '../brain.ts'
import type { Dialect, RenderContext, Rendered, Route, Segment, Wire } from '../types.ts'

// Limits the number of events of a long answer; a short answer still has several.
const MAX_PIECES = 64
const MIN_PIECE = 12

/** Cuts a text between characters into the deltas of a stream. */
export function pieces(text: string): string[] {
  const size = Math.max(MIN_PIECE, Math.ceil(text.length / MAX_PIECES))
  const cut: string[] = []
  let at = 0
  while (at < text.length) {
    let end = Math.min(text.length, at + size)
    const code = text.charCodeAt(end - 1)
    if (code >= 0xd800 && code <= 0xdbff && end < text.length) end += 1
    cut.push(text.slice(at, end))
    at = end
  }
  return cut
}

export function toolSegment(tool: Fields, index: number): Segment {
  const text = JSON.stringify(tool)
  return { path: `tools[${index}]`, section: 'tools', key: text, text, extraTokens: 0 }
}

/** Finds routes by method and the end of the path. */
export const routeBy =
  (kinds: Readonly<Record<string, Route['kind']>>): Dialect['route'] =>
  (method, path) => {
    const [route = ''] = path.split('?')
    const found = Object.entries(kinds).find(([key]) => {
      const [verb, end = ''] = key.split(' ')
      return method === verb && route.endsWith(end)
    })
    return found && { kind: found[1] }
  }

export const functionNames = (tools: unknown): string[] =>
  recordsIn(tools)
    .map((tool) => (isRecord(tool['function']) ? textOf(tool['function']['name']) : ''))
    .filter((name) => name !== '')

/** Adds the fixed cost of a prompt to its first segment. */
export const withBase = (segments: readonly Segment[], base: number): Segment[] =>
  segments.map((segment, index) => (index === 0 ? { ...segment, extraTokens: segment.extraTokens + base } : segment))

/** An answer by the wire's own writer, whole and in small pieces. Refusals are written as text. */
export function written(wire: Wire, context: RenderContext, withUsage = true): Rendered {
  const { answer, facts, usage, nowSeconds, id } = context
  const parts = answer.parts.map((part, index): AnswerPart => {
    if (part.type === 'call')
      return { kind: 'call', text: JSON.stringify(part.input), id: part.id ?? id('call', index), name: part.name }
    return { kind: part.type === 'reasoning' ? 'reasoning' : 'text', text: part.text }
  })
  const head: AnswerHead = { id: id('answer'), model: facts.model, nowSeconds, withUsage }
  const end: AnswerEnd = { parts, stop: stopOf(answer), usage }
  const { answers } = wireOf(wire)
  const [whole, stream] = [answers.writer(), answers.writer()]
  const events: StreamEvent[] = [
    ...stream.begin(head),
    ...parts.flatMap((part, index) => [
      ...stream.open(head, { ...part, text: '' }, index),
      ...pieces(part.text).flatMap((piece) => stream.grow(head, part, index, piece)),
      ...stream.close(head, part, index),
    ]),
    ...stream.end(head, end),
  ]
  return { body: whole.whole(head, end), events }
}
