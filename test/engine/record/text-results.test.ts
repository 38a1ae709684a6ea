import { describe, expect, it } from 'vitest'
import type { Item } from '../../../src/core/item.ts'
import { textResultsIn } from '../../../src/engine/epoch/record/text-results.ts'
import { said, step, user } from './items.ts'

const CODE = Array.from({ length: 20 }, (_, i) => `const value_${i} = ${i}`).join('\n')

/** A loop of actions in text and what came back for each. */
const loop = (action: (i: number) => string, result: (i: number) => string): Item[] => [
  user('Fix the parser'),
  ...Array.from({ length: 5 }, (_, i) => [said(action(i)), user(result(i))]).flat(),
]

describe('results that arrive as user messages', () => {
  it.each<[string, Item[]]>([
    [
      'XML actions',
      loop(
        (i) => `Let me look.\n<read_file><path>src/f${i}.ts</path></read_file>`,
        (i) => `[read_file for 'src/f${i}.ts'] Result:\n${CODE}`,
      ),
    ],
    [
      'fenced commands with a prompt behind each answer',
      loop(
        (i) => `DISCUSSION\nNext.\n\`\`\`\nopen f${i}.py\n\`\`\``,
        (i) => `${i}\n(Current directory: /repo)\nbash-$`,
      ),
    ],
    [
      'thought and action lines',
      loop(
        (i) => `Thought: look\nAction: read f${i}`,
        () => `Observation:\n${CODE}`,
      ),
    ],
  ])('are known in a loop of %s', (_, items) => {
    expect(textResultsIn(items).size).toBe(5)
    expect(textResultsIn(items).has(items[0]!)).toBe(false)
  })

  it('short answers of a person inside such a loop stay what a person said', () => {
    const items = loop(
      (i) => `<read_file><path>src/f${i}.ts</path></read_file>`,
      (i) => (i === 2 ? 'no, read the other one' : `[read_file] Result:\n${CODE}`),
    )
    expect([...textResultsIn(items)].map(({ text }) => text)).not.toContain('no, read the other one')
    expect(textResultsIn(items).size).toBe(4)
  })

  it('long messages of people after code blocks are no results where the model does not act all the time', () => {
    const items = [
      user('Explain'),
      said('Like this:\n```\ncode\n```'),
      user(CODE),
      said('I see. It is wrong.'),
      user(CODE),
      said('Yes.'),
      user('thanks'),
    ]
    expect(textResultsIn(items).size).toBe(0)
  })

  it('conversations with native calls have none', () => {
    const items = [
      ...loop(
        () => '```\nls\n```',
        () => CODE,
      ),
      ...step('bash', { command: 'ls' }, 'src'),
    ]
    expect(textResultsIn(items).size).toBe(0)
  })
})
