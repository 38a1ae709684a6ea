import { createHash } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { chainOf } from '../../src/core/chain.ts'
import { planOfEpoch } from '../../src/core/epochs.ts'
import { CLAUDE_CODE } from '../../src/core/identity.ts'
import type { Item } from '../../src/core/item.ts'
import { RECORD_VERSION, type Epoch, type EpochEdit } from '../../src/core/records.ts'
import { reanchor } from '../../src/engine/prepare/standing.ts'

const hash = (text: string): string => createHash('sha256').update(text).digest('hex')

function item(message: number, kind: Item['kind'], text: string): Item {
  const role = kind === 'user' ? 'user' : kind === 'result' ? 'tool' : 'assistant'
  return {
    id: `m${message}.${kind}`,
    kind,
    role,
    text,
    message,
    ...((kind === 'call' || kind === 'result') && { callId: `c${text}` }),
  }
}

/** task, then two steps of reasoning + call + result, then a last word. */
const items = [
  item(0, 'user', 'task'),
  item(1, 'reasoning', 'hm'),
  item(1, 'call', '1'),
  item(2, 'result', '1'),
  item(3, 'reasoning', 'so'),
  item(3, 'call', '2'),
  item(4, 'result', '2'),
  item(5, 'assistant', 'done'),
]
const links = chainOf(items, hash, CLAUDE_CODE)

function epochOf(edits: readonly EpochEdit[], count: number): Epoch {
  return {
    v: RECORD_VERSION,
    at: 0,
    type: 'epoch',
    id: 'ep',
    cover: links[count - 1]!.chain,
    count,
    cut: count,
    identities: links.slice(0, count).map((link) => link.identity),
    edits,
    forced: false,
    reason: '',
    policy: '',
    before: 0,
    after: 0,
  }
}

describe('planOfEpoch', () => {
  it('takes reasoning along with the call that it led to', () => {
    const epoch = epochOf([{ op: 'drop', from: 1, to: 3, reason: 'folded' }], 3)
    const plan = planOfEpoch(epoch, items, links)
    expect(plan.map((edit) => edit.id)).toEqual(['m1.reasoning', 'm1.call', 'm2.result'])
  })

  it('leaves the reasoning of the step that stays', () => {
    const epoch = epochOf(
      [
        { op: 'drop', from: 1, to: 3, reason: 'folded' },
        { op: 'insert', at: 3, role: 'user', text: 'sum', reason: '' },
      ],
      3,
    )
    const plan = planOfEpoch(epoch, items, links)
    expect(plan.at(-1)).toMatchObject({ op: 'insert', before: 'm3.reasoning' })
    expect(plan.map((edit) => edit.id)).not.toContain('m3.reasoning')
  })

  it('inserts in front of the covered place, reasoning included', () => {
    const epoch = epochOf([{ op: 'insert', at: 3, role: 'user', text: 'sum', reason: '' }], 5)
    expect(planOfEpoch(epoch, items, links)).toMatchObject([{ op: 'insert', before: 'm3.reasoning' }])
  })

  it('drops text between two dropped items that the chain does not count', () => {
    const reminder = { ...item(2, 'user', '<system-reminder>x</system-reminder>'), id: 'm2.reminder' }
    const withReminder = [...items.slice(0, 4), reminder, ...items.slice(4)]
    const again = chainOf(withReminder, hash, CLAUDE_CODE)
    expect(again.map((link) => link.chain)).toEqual(links.map((link) => link.chain))
    const epoch = epochOf([{ op: 'drop', from: 1, to: 5, reason: 'folded' }], 5)
    expect(planOfEpoch(epoch, withReminder, again).map((edit) => edit.id)).toContain('m2.reminder')
  })
})

describe('reanchor', () => {
  const long = Array.from({ length: 40 }, (_, i) => item(i, i % 2 === 0 ? 'user' : 'assistant', `text ${i}`))
  const longLinks = chainOf(long, hash, CLAUDE_CODE)
  const epoch: Epoch = {
    ...epochOf([{ op: 'drop', from: 1, to: 30, reason: 'folded' }], 5),
    count: 30,
    cut: 30,
    cover: longLinks[29]!.chain,
    identities: longLinks.slice(0, 30).map((link) => link.identity),
  }

  it('finds an epoch again when the client rewrote two of its thirty items', () => {
    const changed = long.map((one, i) => (i === 3 || i === 8 ? { ...one, text: 'rewritten' } : one))
    const moved = reanchor(epoch, chainOf(changed, hash, CLAUDE_CODE))
    expect(moved.matched).toBe(28)
    expect(planOfEpoch(epoch, changed, chainOf(changed, hash, CLAUDE_CODE), moved.anchors!)).toHaveLength(27)
  })

  it('gives up when the client compacted the history itself', () => {
    const compacted = [item(0, 'user', 'text 0'), item(1, 'assistant', 'a summary of my own'), ...long.slice(28)]
    expect(reanchor(epoch, chainOf(compacted, hash, CLAUDE_CODE)).anchors).toBeUndefined()
  })

  it('gives up when the cut itself is gone, as after a rewind', () => {
    expect(reanchor(epoch, chainOf(long.slice(0, 29), hash, CLAUDE_CODE)).anchors).toBeUndefined()
  })
})
