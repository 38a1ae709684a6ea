import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { applyEdits, type Edit } from '../../src/core/edits.ts'
import type { Item } from '../../src/core/item.ts'
import { turnsOf } from '../../src/core/turns.ts'
import { WIRES, type WireName } from '../support/generators/index.ts'
import { CODECS, isRewrittenInPlace } from '../support/wires.ts'

const FOLDER = join(import.meta.dirname, '../fixtures/wire')
const read = (wire: WireName, name: string): string => readFileSync(join(FOLDER, wire, name), 'utf8')

describe.each(WIRES)('%s fixtures', (wire) => {
  const { decode, encode, spanOf } = CODECS[wire]
  const names = readdirSync(join(FOLDER, wire)).filter((name) => name.endsWith('.request.json'))

  it.each(names)('gives %s back byte for byte', (name) => {
    const text = read(wire, name)
    expect(encode(decode(text))).toMatchObject({ text, losses: [] })
  })

  it.each(names)('edits and drops each item of %s without touching the others', (name) => {
    const text = read(wire, name)
    const before = decode(text)
    for (const item of before.items) {
      const dropped = decode(encode(applyEdits(before, [{ op: 'drop', id: item.id, reason: 'test' }])).text)
      const left = before.items.filter((one) => one !== item && !isTakenIn(one, item, before.items))
      expect(dropped.items.map(summary)).toEqual(left.map(summary))
      if (item.sealed === true || !isRewrittenInPlace(wire, item)) continue
      const replacement = item.kind === 'call' ? '{"short":true}' : 'short'
      const edit: Edit = { op: 'replace', id: item.id, text: replacement, reason: 'test' }
      const after = encode(applyEdits(before, [edit])).text
      const { start, end } = spanOf(before, item)
      expect(after.startsWith(text.slice(0, start))).toBe(true)
      expect(after.endsWith(text.slice(end))).toBe(true)
      expect(decode(after).items.map((one) => one.text)).toEqual(
        before.items.map((one) => (one === item ? replacement : one.text)),
      )
    }
  })

  it('refuses to rewrite what is sealed', () => {
    const before = decode(read(wire, 'everything.request.json'))
    const sealed = before.items.filter((item) => item.sealed === true && item.kind !== 'opaque')
    // Nothing on Ollama's wire is signed.
    expect(sealed.length > 0).toBe(wire !== 'ollama-chat')
    for (const item of sealed) {
      const edit: Edit = { op: 'replace', id: item.id, text: 'x', reason: 'test' }
      expect(() => encode(applyEdits(before, [edit]))).toThrowError(expect.objectContaining({ code: 'bad-input' }))
    }
  })

  it('reads everything as it is meant', () => {
    const { head, items, tools, settings } = decode(read(wire, 'everything.request.json'))
    const turns = turnsOf(items)
    expect({ pending: turns.pending, orphans: turns.orphans }).toEqual({ pending: [], orphans: [] })
    expect({
      settings: JSON.parse(JSON.stringify(settings)) as unknown,
      tools: tools.map((tool) => tool.name),
      head: head.map((item) => item.text),
      items: items.map(line),
    }).toMatchSnapshot()
  })
})

const summary = ({ kind, role, text, callId }: Item): unknown => ({ kind, role, text, callId })

/**
 * Where roles alternate and a whole message goes, its neighbours become one message; of one without content nothing is left in it.
 */
function isTakenIn(one: Item, dropped: Item, items: readonly Item[]): boolean {
  const roles = items.filter((item, i) => item.message !== items[i - 1]?.message).map(({ role }) => role)
  const alternate = roles.every((role, i) => role !== roles[i - 1])
  const isWhole = items.every((other) => other === dropped || other.message !== dropped.message)
  return alternate && isWhole && one.text === '' && one.kind === 'user' && one.message === dropped.message + 1
}

/** One line per item, so that a change in the snapshot can be read. */
function line(item: Item): string {
  const flags = [
    item.callId !== undefined && `id=${item.callId}`,
    item.toolName !== undefined && `tool=${item.toolName}`,
    item.isError === true && 'error',
    item.serverSide === true && 'server',
    item.sealed === true && 'sealed',
    ...(item.media ?? []).map((part) => `${part.type}:${part.mime ?? ''}:${part.data ?? part.reference ?? ''}`),
  ]
  return `${item.message} ${item.role}/${item.kind} [${flags.filter(Boolean).join(' ')}] ${item.text.slice(0, 60)}`
}
