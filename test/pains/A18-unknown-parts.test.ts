import { describe, expect, it } from 'vitest'
import { applyEdits, type Edit } from '../../src/core/edits.ts'
import { withPairedDrops } from '../../src/core/turns.ts'
import { codecOf } from '../../src/formats/registry.ts'
import { WIRES } from '../support/generators/index.ts'
import { plainBody } from './support/plain-bodies.ts'

const turns = [
  {
    user: 'Deploy.',
    steps: [
      { text: 'First an approval.', calls: [{ name: 'approve', result: 'approved: yes' }] },
      {
        text: 'Both.',
        calls: [
          { name: 'keep', result: 'kept' },
          { name: 'approve', result: 'approved: no' },
        ],
      },
      { text: 'Then this.', calls: [{ name: 'keep', result: 'kept again' }] },
    ],
  },
]

/**
 * Byte for byte, but for the form of a text: messages of one role that meet where a tool step was are joined, and texts that were whole
 * messages become parts of one.
 */
function asWritten(fragment: string): string {
  const value: unknown = JSON.parse(fragment)
  return typeof value === 'string' ? JSON.stringify({ type: 'text', text: value }) : fragment
}

describe('A18: taking a tool out of a transcript', () => {
  it.each(WIRES.flatMap((wire) => (['call', 'result'] as const).map((half) => [wire, half] as const)))(
    'leaves nothing on %s that refers to it when its %ss are dropped, and every other fragment as it was',
    (wire, half) => {
      const codec = codecOf(wire)
      const text = JSON.stringify(plainBody(wire, turns))
      const conversation = codec.decode(text)
      const isIt = (id: string | undefined) => calls.has(id)
      const calls = new Set(
        conversation.items
          .filter((item) => item.kind === 'call' && item.toolName === 'approve')
          .map((item) => item.callId),
      )
      const drops: Edit[] = conversation.items
        .filter((item) => item.kind === half && isIt(item.callId))
        .map((item) => ({ op: 'drop', id: item.id, reason: 'tool removed' }))
      expect(drops).toHaveLength(2)
      const without = applyEdits(conversation, withPairedDrops(drops, conversation.items))
      const sent = codec.encode(without).text
      expect(codec.check(JSON.parse(sent))).toEqual([])
      expect(sent).not.toContain('approved:')
      const left = codec.decode(sent)
      expect(left.items.filter((item) => isIt(item.callId))).toEqual([])
      const fragments = conversation.items
        .filter((item) => !isIt(item.callId))
        .map((item) => asWritten(codec.fragment(conversation, item)))
      expect(left.items.map((item) => asWritten(codec.fragment(left, item)))).toEqual(fragments)
    },
  )
})
